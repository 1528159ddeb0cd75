// The difference of two snapshots.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineDiff } from '../../src/lib/line_diff.js';

const refOf = (line) => / ([a-z]\d+)/.exec(line)?.[1];
const diff = (before, after) => lineDiff(before, after, refOf);

test('a line that is there again is not told', () => {
  assert.deepEqual(diff(['list a1', '  link "A" a2'], ['list a1', '  link "A" a2']), []);
});

test('gone, changed and new lines are told, new ones below the line that they stand under', () => {
  const before = ['list a1', '  link "A" a2', 'checkbox "C" a3', 'button "Gone" a4'];
  const after = ['list a1', '  link "A" a2', '  link "B" a5', '  link "D" a6', 'checkbox "C" a3 checked'];
  assert.deepEqual(diff(before, after), ['- button "Gone" a4', '  list a1', '+   link "B" a5', '+   link "D" a6', '~ checkbox "C" a3 checked']);
});

test('of equal texts as many are told as have come', () => {
  assert.deepEqual(diff(['- x'], ['- x', '- x']), ['+ - x']);
  assert.deepEqual(diff(['- x', '- x'], ['- x']), ['- - x']);
});

test('what is below a new line stands below it', () => {
  assert.deepEqual(diff([], ['dialog "D" a1', '  button "OK" a2']), ['+ dialog "D" a1', '+   button "OK" a2']);
});
