import assert from 'node:assert/strict';
import test from 'node:test';
import { fromBase64Url, helloMac, makeNonce, sameMac, toBase64Url, welcomeMac } from '../../src/connection/proof.js';
import { proofVectors } from '../support/fakes.js';

const said = (vector) => ({
  port: vector.port,
  challengeNonce: vector.challenge_nonce,
  helloNonce: vector.hello_nonce,
  instanceId: vector.instance_id,
  epoch: vector.epoch,
});

for (const [index, vector] of proofVectors().entries()) {
  test(`proves itself as vector ${index} says`, async () => {
    assert.equal(await helloMac(vector.ext_key, said(vector)), vector.hello_mac);
  });

  test(`expects of the daemon what vector ${index} says`, async () => {
    assert.equal(await welcomeMac(vector.ext_key, said(vector)), vector.welcome_mac);
  });
}

test('a proof for one port, or of one side, does not hold for another', async () => {
  const [vector] = proofVectors();
  const other = { ...said(vector), port: vector.port + 1 };
  assert.notEqual(await helloMac(vector.ext_key, other), vector.hello_mac);
  assert.notEqual(await welcomeMac(vector.ext_key, other), vector.welcome_mac);
  assert.notEqual(await welcomeMac(vector.ext_key, { ...said(vector), epoch: '' }), vector.hello_mac);
});

test('a proof for one epoch does not hold for another', async () => {
  const [vector] = proofVectors();
  const other = await welcomeMac(vector.ext_key, { ...said(vector), epoch: 'another' });
  assert.notEqual(other, vector.welcome_mac);
});

test('base64url survives every byte, without padding', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  const text = toBase64Url(bytes);
  assert.match(text, /^[A-Za-z0-9_-]+$/);
  assert.deepEqual(fromBase64Url(text), bytes);
});

test('a nonce has 32 bytes and is never used twice', () => {
  const [one, other] = [makeNonce(), makeNonce()];
  assert.equal(fromBase64Url(one).length, 32);
  assert.notEqual(one, other);
});

test('only the very same mac is the same', () => {
  assert.equal(sameMac('abc', 'abc'), true);
  for (const wrong of ['abd', 'Abc', 'ab', 'abcd', '', null, undefined, 3, ['abc']]) {
    assert.equal(sameMac('abc', wrong), false, String(wrong));
  }
});
