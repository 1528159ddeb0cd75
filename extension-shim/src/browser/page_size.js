// @ts-check
// Whether a page has been told the size that its tab has now. A page in the background is told none: the browser tells it
// when it is next seen, and not while an earlier size waits for the page to paint.

import { pause } from '../lib/pause.js';
import { SIZE_MS, SIZE_STEP_MS } from './limits.js';

/** @typedef {{width: number, height: number}} PageSize in CSS px of a page that is not zoomed */

/** How much of a page its scrollbars may take, in px a side. */
const SCROLLBAR = 20;

/**
 * Waits until a page that takes itself for seen has its size, for {@link SIZE_MS} at most: its script may keep it busy.
 * @param {() => Promise<any>} measure the protocol's `Page.getLayoutMetrics`
 * @param {() => Promise<PageSize>} wanted asked each time: the person may resize the window; 0: not known
 * @returns {Promise<boolean>} whether it has
 */
export async function hasSize(measure, wanted) {
  const start = performance.now();
  for (;;) {
    const [metrics, size] = await Promise.all([measure(), wanted()]);
    if (isNear(sizeOf(metrics), size)) return true;
    if (performance.now() - start > SIZE_MS) return false;
    await pause(SIZE_STEP_MS);
  }
}

/** @param {any} metrics @returns {PageSize} */
function sizeOf({ cssVisualViewport: { clientWidth, clientHeight, scale = 1, zoom = 1 } }) {
  return { width: clientWidth * scale * zoom, height: clientHeight * scale * zoom };
}

/** @param {PageSize} seen @param {PageSize} wanted */
function isNear(seen, wanted) {
  const isSide = (/** @type {number} */ is, /** @type {number} */ whole) => whole === 0 || (is <= whole + 1 && is >= whole - SCROLLBAR);
  return isSide(seen.width, wanted.width) && isSide(seen.height, wanted.height);
}

/** @param {number} tabId @returns {Promise<PageSize>} of the view that the tab has in its window */
export async function sizeOfTab(tabId) {
  const { width = 0, height = 0 } = await chrome.tabs.get(tabId);
  return { width, height };
}
