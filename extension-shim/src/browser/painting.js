// @ts-check
// Has a tab in the background paint as often as one in front: else its page gets a frame a second, and what it does at
// its next frame (lists that fill while they are scrolled, things that follow the pointer) comes too late.

import { cdp, onEventOf } from '../browser/debugger.js';

/** The smallest pictures, and hardly any of them: only their being asked for counts. */
const SCREENCAST = { format: 'jpeg', quality: 1, maxWidth: 16, maxHeight: 16, everyNthFrame: 1_000 };

/** @template T @param {number} tabId @param {() => Promise<T>} run @returns {Promise<T>} */
export async function whilePainting(tabId, run) {
  const end = onEventOf(tabId, 'Page.screencastFrame', ({ sessionId }) => {
    cdp(tabId, 'Page.screencastFrameAck', { sessionId }).catch(console.debug);
  });
  try {
    await cdp(tabId, 'Page.startScreencast', SCREENCAST);
    return await run();
  } finally {
    end();
    cdp(tabId, 'Page.stopScreencast').catch(console.debug);
  }
}
