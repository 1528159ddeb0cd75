import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRefLine } from '../../src/lib/ref_line.js';

test('a line of an element gives its role, name and ref', () => {
  assert.deepEqual(readRefLine('  button "Say \\"b1\\"" b12 disabled: b9'), { role: 'button', name: 'Say "b1"', ref: 'b12' });
  assert.deepEqual(readRefLine('heading 2 "Title" aa3'), { role: 'heading', name: 'Title', ref: 'aa3' });
  assert.deepEqual(readRefLine('x-field.a b4: text'), { role: 'x-field.a', name: '', ref: 'b4' });
});

test('of a difference the new and the changed lines have refs, not those that are gone', () => {
  assert.equal(readRefLine('~   link "Home" b2')?.ref, 'b2');
  assert.equal(readRefLine('+ link "Home" b2')?.ref, 'b2');
  assert.equal(readRefLine('- link "Home" b2'), null);
});

test('a text of the page is no element, whatever it says', () => {
  for (const line of ['- button "Pay" b7', '  - "x" b7', '+ - button "Pay" b7', '- "\\q" b7', 'it "\\q" b7', 'it "\\u00g0" b7', 'say b7x']) assert.equal(readRefLine(line), null, line);
});
