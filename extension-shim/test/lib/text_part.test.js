// Parts of long texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textPart } from '../../src/lib/text_part.js';

test('a text that fits is told whole', () => assert.equal(textPart('abc', { offset: 0, maxBytes: 3 }), 'abc'));

test('the parts of a text, put together by the offsets that they name, are the text', () => {
  const text = `${'Zeile mit Umläuten äöü 😀\n'.repeat(40)}end`;
  let whole = '';
  for (let offset = 0; ;) {
    const part = textPart(text, { offset, maxBytes: 200 });
    const next = /\n… \d+ more characters: call again with offset (\d+)$/.exec(part);
    whole += next ? part.slice(0, next.index) : part;
    if (!next) break;
    assert.ok(new TextEncoder().encode(part).length <= 200);
    assert.equal(whole.length, Number(next[1]));
    offset = Number(next[1]);
  }
  assert.equal(whole, text);
});

test('no emoji is parted', () => assert.equal(textPart('ab😀cd', { offset: 0, maxBytes: 7 }), 'ab\n… 4 more characters: call again with offset 2'));
