// How much of a list fits into an answer.

import assert from 'node:assert/strict';
import test from 'node:test';

import { fitted } from '../../src/lib/fitted.js';

test('as many values as fit are taken, measured in the bytes of their JSON', () => {
  const values = Array.from({ length: 100 }, () => 'x'.repeat(97));
  assert.equal(fitted(values, 100_000), 100);
  assert.equal(fitted(values, 1_200), 10);
  // An emoji has four bytes.
  assert.equal(fitted(values.map(() => '😀'.repeat(24)), 1_200), 10);
});

test('one value is always taken, and none of an empty list', () => {
  assert.equal(fitted(['x'.repeat(10_000), 'y'], 500), 1);
  assert.equal(fitted([], 500), 0);
});
