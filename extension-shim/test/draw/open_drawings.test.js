// What is being drawn on: each is ended by one caller alone.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { FakeStorage, installChrome } from '../support/fakes.js';

installChrome();
const { OpenDrawings } = await import('../../src/draw/open_drawings.js');
const DRAWING = { asks: [{ correlation_id: 'ann_1' }], is_persons: false, document_id: 'D', page_url: 'http://a.test/', page_title: 'A' };
let drawings;

beforeEach(async () => {
  chrome.storage.session = new FakeStorage();
  drawings = new OpenDrawings();
  await drawings.put(7, DRAWING);
});

test('of two that end one at the same time, only one has it', async () => {
  const taken = await Promise.all([drawings.take(7), drawings.take(7)]);
  assert.deepEqual(taken, [DRAWING, undefined]);
});

test('a change at the same time brings none back that is over', async () => {
  await Promise.all([drawings.take(7), drawings.change(7, { document_id: null }), drawings.dropAsks(7, ['ann_1'])]);
  assert.equal(await drawings.get(7), undefined);
  assert.deepEqual(await chrome.storage.session.get('draw:open'), { 'draw:open': {} });
});
