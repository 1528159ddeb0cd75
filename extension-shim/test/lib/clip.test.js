// Cuts: never half a character, wherever they are, and nothing is sent that a strict parser refuses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteLength, clipBytes } from '../../src/capture/text.js';
import { clip, headOf } from '../../src/lib/clip.js';
import { wellFormed } from '../../src/lib/well_formed.js';

/** Characters of one and two units, of several characters joined, and halves of one. */
const PIECES = ['a', ' ', '"', '\\', '\n', 'é', 'e\u0301', '漢', '😀', '👩‍👩‍👧', '🇩🇪', '\ud83d', '\ude00', '\\ud83d', 'ud8'];
const WHOLE = PIECES.filter((piece) => !/[\ud800-\udfff]/u.test(piece));

/** The same numbers each time: a failure can be repeated. @param {number} seed */
function dice(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

function* texts(pieces, count = 3_000) {
  const roll = dice(7);
  for (let n = 0; n < count; n += 1) {
    const text = Array.from({ length: roll(12) }, () => pieces[roll(pieces.length)]).join('');
    yield { text, most: 1 + roll(14) };
  }
}

/** As V8 has it from version 11 on. */
const isWellFormed = (text) => !/[\ud800-\udfff]/u.test(text);

test('the pieces are what they are meant to be', () => {
  assert.deepEqual([PIECES.length - WHOLE.length, WHOLE.every(isWellFormed), isWellFormed('\ud83d')], [2, true, false]);
});

test('the beginning of a well-formed text is one, as long as it may be', () => {
  for (const { text, most } of texts(WHOLE)) {
    const head = headOf(text, most);
    assert.ok(text.startsWith(head) && isWellFormed(head), JSON.stringify([text, most, head]));
    assert.ok(head.length <= most && (head === text || head.length >= most - 1));
    assert.equal(clip(text, most), head === text ? text : `${head}…`);
  }
});

test('no cut makes a half of what was whole in a text that has halves', () => {
  const halves = (text) => text.match(/[\ud800-\udfff]/gu)?.length ?? 0;
  for (const { text, most } of texts(PIECES)) assert.ok(halves(headOf(text, most)) <= halves(text.slice(0, most + 1)));
});

test('a text cut to bytes is whole characters of its beginning', () => {
  for (const { text, most } of texts(WHOLE)) {
    const { text: head, truncated } = clipBytes(text, most);
    assert.ok(text.startsWith(head) && byteLength(head) <= most && truncated === (head !== text), JSON.stringify([text, most, head]));
  }
});

test('what is sent has no surrogate alone, and is otherwise as it was', () => {
  for (const { text } of texts(PIECES)) {
    const json = JSON.stringify({ [text]: [text, { text }] });
    const sent = wellFormed(json);
    assert.deepEqual(JSON.parse(sent), { [text.toWellFormed()]: [text.toWellFormed(), { text: text.toWellFormed() }] });
    assert.equal(sent.length, json.length);
    if (isWellFormed(text)) assert.equal(sent, json);
  }
});
