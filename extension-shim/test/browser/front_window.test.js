// The window that the person types into keeps the focus.

import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { FrontWindow } from '../../src/browser/front_window.js';

const [MINE, OTHER, POPUP, NONE] = [1, 2, 9, -1];
/** @type {number[]} */
let focused;
/** @type {{id: number, focused: boolean}} */
let last;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  focused = [];
  last = { id: MINE, focused: true };
  globalThis.chrome = /** @type {any} */ ({ windows: {
    update: async (/** @type {number} */ id) => { focused.push(id); },
    getLastFocused: async () => last,
  } });
});

function inFront() {
  const front = new FrontWindow();
  front.handleFocusChanged(MINE);
  return front;
}

test('a window that an act opens gives the focus back, in either order of the browser\'s reports, and once', () => {
  const early = inFront();
  early.keepBehind(POPUP, { home: MINE, isSeen: false });
  early.handleFocusChanged(POPUP);
  assert.deepEqual(focused, [MINE, MINE]);
  early.handleFocusChanged(POPUP);
  assert.deepEqual(focused, [MINE, MINE], 'the person chooses it');

  focused = [];
  const late = inFront();
  late.handleFocusChanged(POPUP);
  late.keepBehind(POPUP, { home: OTHER, isSeen: true });
  assert.deepEqual(focused, [MINE]);
});

test('the focus stays where the person sees the act itself, and where they are in another program', async () => {
  inFront().keepBehind(POPUP, { home: MINE, isSeen: true });
  const away = inFront();
  const now = mock.method(performance, 'now', () => 0);
  away.handleFocusChanged(NONE);
  now.mock.mockImplementation(() => 1_000);
  away.keepBehind(POPUP, { home: MINE, isSeen: false });
  now.mock.restore();
  assert.deepEqual(focused, []);
});

test('a window that loses the focus between two windows only is still the person\'s', async () => {
  const front = inFront();
  front.handleFocusChanged(NONE);
  mock.timers.tick(300);
  await Promise.resolve();
  await Promise.resolve();
  front.keepBehind(POPUP, { home: MINE, isSeen: false });
  assert.deepEqual(focused, [MINE]);
});

test('after a moment the person may have the new window', () => {
  const front = inFront();
  front.keepBehind(POPUP, { home: MINE, isSeen: false });
  mock.timers.tick(1_000);
  front.handleFocusChanged(POPUP);
  assert.deepEqual(focused, [MINE]);
});
