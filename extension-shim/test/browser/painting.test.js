import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { whilePainting } = await import('../../src/browser/painting.js');

let sent;
beforeEach(() => {
  sent = [];
  chrome.debugger = { sendCommand: async ({ tabId }, method) => { sent.push(`${tabId} ${method}`); } };
});

test('a tab paints until the last work that needs it is done, within other work too', async () => {
  await whilePainting(7, async () => {
    await whilePainting(7, async () => {});
    await whilePainting(8, async () => {});
    assert.deepEqual(sent, ['7 Page.startScreencast', '8 Page.startScreencast', '8 Page.stopScreencast']);
  });
  assert.equal(sent.at(-1), '7 Page.stopScreencast');
});

test('a work that fails lets the tab rest, and the next one has it paint again', async () => {
  await assert.rejects(whilePainting(7, async () => { throw new Error('gone'); }), /gone/);
  await whilePainting(7, async () => {});
  assert.deepEqual(sent, ['7 Page.startScreencast', '7 Page.stopScreencast', '7 Page.startScreencast', '7 Page.stopScreencast']);
});
