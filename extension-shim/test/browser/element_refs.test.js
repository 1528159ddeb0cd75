// The names of elements.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { ElementRefs } from '../../src/browser/element_refs.js';
import { installChrome, settled } from '../support/fakes.js';

let refs;
beforeEach(async () => {
  installChrome();
  refs = new ElementRefs();
  await refs.restore();
});

test('the numbers of a tab go on over its documents, and no number is given twice', () => {
  const first = refs.names(7, 'A', 2);
  const second = refs.names(7, 'B', 3);
  const again = refs.names(7, 'A', 4);
  assert.deepEqual([first(1), first(2), second(1), second(3), again(1), again(3), again(4)], ['a1', 'a2', 'a3', 'a5', 'a1', 'a6', 'a7']);
  assert.equal(refs.names(8, 'C', 1)(1), 'b1');
  assert.equal(refs.prefixOf(8), 'b');
  assert.equal(refs.prefixOf(9), undefined);
});

test('a ref leads back to its element, and others lead nowhere', () => {
  refs.names(7, 'A', 2);
  refs.names(7, 'B', 3);
  refs.names(7, 'A', 4);
  assert.deepEqual(refs.find('a4'), { tabId: 7, documentId: 'B', id: 2 });
  assert.deepEqual(refs.find('a7'), { tabId: 7, documentId: 'A', id: 4 });
  for (const ref of ['a8', 'b1', 'a0', 'a', '7', 'A1', 'a1x', '']) assert.equal(refs.find(ref), null, ref);
});

test('a worker that starts again knows the names', async () => {
  refs.names(7, 'A', 2);
  await settled();
  const later = new ElementRefs();
  await later.restore();
  assert.deepEqual(later.find('a2'), { tabId: 7, documentId: 'A', id: 2 });
  assert.equal(later.names(8, 'B', 1)(1), 'b1');
});

test('no tab has the letter of headings', () => {
  const prefixes = Array.from({ length: 60 }, (_, tab) => refs.names(tab, 'D', 1)(1).replace(/\d+/, ''));
  assert.ok(!prefixes.includes('h'));
  assert.equal(new Set(prefixes).size, 60);
  assert.deepEqual(prefixes.slice(23, 27), ['y', 'z', 'aa', 'ab']);
});

test('the documents that were used last are remembered', () => {
  refs.names(7, 'page', 1);
  for (let i = 0; i < 150; i += 1) {
    refs.names(7, `frame ${i}`, 1);
    refs.names(7, 'page', 1);
  }
  assert.deepEqual(refs.find('a1'), { tabId: 7, documentId: 'page', id: 1 });
  assert.equal(refs.find('a2'), null);
});

test('frames without elements push out no document', () => {
  refs.names(7, 'page', 1);
  for (let i = 0; i < 150; i += 1) refs.names(7, `frame ${i}`, 0);
  assert.deepEqual(refs.find('a1'), { tabId: 7, documentId: 'page', id: 1 });
});

test('a tab that was discarded keeps its names under its new id; one that is closed loses them', async () => {
  refs.names(7, 'A', 1);
  await refs.handleReplaced(9, 7);
  assert.equal(refs.find('a1').tabId, 9);
  await refs.handleRemoved(9);
  assert.equal(refs.find('a1'), null);
});
