// @ts-check
// Has a tab in the background paint as often as one in front: else its page gets a frame a second, and the work that it
// does at its next frame (lists that fill while they are scrolled, things that follow the pointer) comes too late. And of
// pictures in a row half are never answered.

import { cdp } from './debugger.js';
import { PAINT_AFTER_MS } from './limits.js';

/** The smallest pictures, and hardly any of them: only the request for them counts. */
const SCREENCAST = { format: 'jpeg', quality: 1, maxWidth: 16, maxHeight: 16, everyNthFrame: 1_000 };

/** Work that needs each tab to paint: a screencast is for all of it. @type {Map<number, number>} */
const users = new Map();

/** @template T @param {number} tabId to which the debugger is attached @param {() => Promise<T>} run @returns {Promise<T>} */
export async function whilePainting(tabId, run) {
  const before = users.get(tabId) ?? 0;
  users.set(tabId, before + 1);
  if (before === 0) cdp(tabId, 'Page.startScreencast', SCREENCAST).catch(console.debug);
  try {
    return await run();
  } finally {
    const left = (users.get(tabId) ?? 1) - 1;
    if (left > 0) users.set(tabId, left);
    else {
      users.delete(tabId);
      cdp(tabId, 'Page.stopScreencast').catch(console.debug);
    }
  }
}

/** The same for work that may be over in a moment: then nothing is painted for it. @template T @param {number} tabId to which the debugger is attached @param {() => Promise<T>} run @returns {Promise<T>} */
export async function paintingIfLong(tabId, run) {
  let end = () => {};
  const begin = () => whilePainting(tabId, () => new Promise((resolve) => { end = () => resolve(undefined); })).catch(console.debug);
  const timer = setTimeout(begin, PAINT_AFTER_MS);
  try {
    return await run();
  } finally {
    clearTimeout(timer);
    end();
  }
}
