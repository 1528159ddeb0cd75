// What is taken for a pairing line, and what is said of all else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proofVectors } from '../support/fakes.js';

const { readPairingLine } = await import('../../src/connection/pairing_line.js');
const [{ ext_key }] = proofVectors();
const line = (value) => `tabwire-pair:${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
// As long as it must be, with characters of the other alphabet.
const STANDARD = `tabwire-pair:${Buffer.from(JSON.stringify({ port: 7890, ext_key, more: '~~~???' })).toString('base64')}`;
assert.match(STANDARD, /[+/]/);
const NOT_UTF8 = Buffer.from(`{"port":7890,"ext_key":"${ext_key}","more":"\xff"}`, 'latin1').toString('base64url');
const GOOD = line({ port: 7890, ext_key });

test('a whole line gives port and key, with white space around it and further fields in it', () => {
  const config = { port: 7890, ext_key };
  for (const text of [GOOD, `\n  ${GOOD}\t\r\n`, line({ port: 7890, ext_key, more: 1 })]) {
    assert.deepEqual(readPairingLine(text), { config });
  }
  for (const port of [1, 65535]) assert.equal(readPairingLine(line({ port, ext_key })).config.port, port);
});

for (const [what, text, says] of [
  ['nothing', ' \n', /tabwire pair/],
  ['another text', 'sudo tabwire pair', /not a pairing line/],
  ['the bare key', ext_key, /not a pairing line/],
  ['another prefix', GOOD.replace('pair', 'Pair'), /not a pairing line/],
  ['a line that a terminal has broken', `${GOOD.slice(0, 40)}\n${GOOD.slice(40)}`, /one line/],
  ['two lines', `${GOOD}\n${GOOD}`, /one line/],
  ['a cut line', GOOD.slice(0, -1), /damaged or cut off/],
  ['no more than the prefix', 'tabwire-pair:', /damaged/],
  ['another alphabet', GOOD.replace('-pair:', '-pair:+/'), /damaged/],
  ['standard base64', STANDARD, /damaged/],
  ['padding', `${GOOD}=`, /damaged/],
  ['bytes that are no text', `tabwire-pair:${NOT_UTF8}`, /damaged/],
  ['no JSON', `tabwire-pair:${Buffer.from('7890').toString('base64url').slice(0, 3)}`, /damaged/],
  ['a list', line([7890, ext_key]), /damaged/],
  ['null', line(null), /damaged/],
  ['no port', line({ ext_key }), /damaged/],
  ['port 0', line({ port: 0, ext_key }), /damaged/],
  ['a port beyond the last', line({ port: 65536, ext_key }), /damaged/],
  ['half a port', line({ port: 1.5, ext_key }), /damaged/],
  ['a port in words', line({ port: '7890', ext_key }), /damaged/],
  ['no key', line({ port: 7890 }), /damaged/],
  ['a short key', line({ port: 7890, ext_key: ext_key.slice(1) }), /damaged/],
  ['a long key', line({ port: 7890, ext_key: `${ext_key}A` }), /damaged/],
  ['a key with padding', line({ port: 7890, ext_key: `${ext_key}=` }), /damaged/],
  ['a key with bits beyond its last byte', line({ port: 7890, ext_key: `${'A'.repeat(42)}B` }), /damaged/],
  ['a key of another alphabet', line({ port: 7890, ext_key: `+${ext_key.slice(1)}` }), /damaged/],
]) {
  test(`${what} is no pairing line, and it says why`, () => {
    const { config, trouble } = readPairingLine(text);
    assert.equal(config, undefined);
    assert.match(trouble, says);
  });
}
