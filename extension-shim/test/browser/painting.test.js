import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { PAINT_AFTER_MS } = await import('../../src/browser/limits.js');
const { paintingIfLong, whilePainting } = await import('../../src/browser/painting.js');

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

test('a work that may be over in a moment has the tab paint only once it lasts, and to its end', async () => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  let done = () => {};
  const works = () => new Promise((resolve) => { done = () => resolve('done'); });
  const short = paintingIfLong(7, works);
  mock.timers.tick(PAINT_AFTER_MS - 1);
  done();
  assert.equal(await short, 'done');
  mock.timers.tick(PAINT_AFTER_MS);
  assert.deepEqual(sent, []);
  const long = paintingIfLong(7, works);
  mock.timers.tick(PAINT_AFTER_MS);
  assert.deepEqual(sent, ['7 Page.startScreencast']);
  done();
  await long;
  await settled();
  assert.deepEqual(sent, ['7 Page.startScreencast', '7 Page.stopScreencast']);
  mock.timers.reset();
});
