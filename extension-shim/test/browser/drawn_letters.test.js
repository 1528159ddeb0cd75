// The letters of tabs for those who may not see how many there are.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { ElementRefs } from '../../src/browser/element_refs.js';
import { installChrome } from '../support/fakes.js';

let refs;

const prefix = (tabId) => {
  refs.names(tabId, `d${tabId}`, 1);
  return refs.prefixOf(tabId);
};

beforeEach(() => {
  installChrome();
  refs = new ElementRefs();
});

test('the letters of a tab of a program that sees less than every tab do not count the tabs before it', () => {
  for (let tabId = 100; tabId < 200; tabId += 1) prefix(tabId);
  const drawn = [];
  for (let tabId = 1; tabId <= 50; tabId += 1) {
    refs.drawLetters(tabId);
    drawn.push(prefix(tabId));
  }
  assert.ok(drawn.every((letters) => /^[a-z]{3}$/.test(letters)), drawn.join(' '));
  assert.equal(new Set(drawn).size, 50);
  assert.ok(drawn.some((letters, at) => at > 0 && letters < drawn[at - 1]), `in turn: ${drawn.join(' ')}`);
  assert.equal(prefix(200), 'cx', 'the letters of others go on in turn: one for each of them, without h');
  assert.equal(refs.find(`${drawn[0]}1`).tabId, 1);
});

test('a tab keeps the letters that it has', () => {
  const given = prefix(7);
  refs.drawLetters(7);
  assert.equal(prefix(7), given);
});

test('letters that were drawn are given to no other tab', (t) => {
  t.mock.method(crypto, 'getRandomValues', (array) => array.fill(5));
  refs.drawLetters(1);
  const first = prefix(1);
  t.mock.method(crypto, 'getRandomValues', (() => { let next = 4; return (array) => array.fill(next += 1); })());
  refs.drawLetters(2);
  assert.notEqual(prefix(2), first);
});
