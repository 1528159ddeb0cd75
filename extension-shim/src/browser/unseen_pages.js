// @ts-check
// A page that nobody sees gets no frames, slow timers and none of its lazy images: a command would wait in vain for the
// work that such a page does at its next frame. While a command waits for long, the page takes itself for seen. One that
// is only loaded or read is left as it is: the person's mail would be marked as read, and a debugger that is attached as a
// page loads would be dropped where another extension then puts a frame into it.

import { pause } from '../lib/pause.js';
import { attach, withFocus } from './debugger.js';
import { FOCUS_LINGER_MS, UNSEEN_AFTER_MS } from './limits.js';
import { whilePainting } from './painting.js';
import { policy } from './state.js';

/**
 * Runs the work of a command that may wait for its page. Nearly all of it is over before the page is looked at.
 * @template T @param {number} tabId @param {() => Promise<T>} run @returns {Promise<T>}
 */
export async function seenIfLong(tabId, run) {
  const over = new AbortController();
  beSeen(tabId, over.signal).catch(console.debug);
  try {
    return await run();
  } finally {
    over.abort();
  }
}

/** @param {number} tabId @param {AbortSignal} over */
async function beSeen(tabId, over) {
  // The person may go to another tab meanwhile.
  do await pause(UNSEEN_AFTER_MS, over); while (!await isUnseen(tabId));
  // Where the debugger is refused the page stays as it is: no frame of another extension goes aside for this.
  await attach(tabId, { setsAside: false });
  if (!over.aborted) await withFocus(tabId, () => whilePainting(tabId, () => ended(over)), FOCUS_LINGER_MS);
}

/** @param {number} tabId @returns {Promise<boolean>} whether it may be that the person does not see it: a window without the focus may be covered */
async function isUnseen(tabId) {
  const { active, windowId, url = '' } = await chrome.tabs.get(tabId);
  if (!/^(https?|file):/.test(url) || policy.blocks(url)) return false;
  return !active || !(await chrome.windows.get(windowId)).focused;
}

/** @param {AbortSignal} over @returns {Promise<void>} */
function ended(over) {
  return new Promise((resolve) => { over.addEventListener('abort', () => resolve(), { once: true }); });
}
