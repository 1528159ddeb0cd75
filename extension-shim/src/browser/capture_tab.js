// @ts-check
// A picture of a tab, also of a hidden one.

import { ActionError } from '../lib/errors.js';
import { cdp, commandError, withFocus } from './debugger.js';
import { SCREENSHOT_PATIENCE_MS } from './limits.js';
import { assertPage } from './site_guard.js';
import { tabs } from './state.js';

/**
 * A picture of a tab that the debugger is attached to.
 * @typedef {{fullPage: boolean, maxSide: number}} CaptureArea which area of the page, and how large
 * @param {number} id the tab's @param {string} format @param {CaptureArea} frame @param {AbortSignal} signal
 * @returns {Promise<string>} in base64
 */
export async function captureTab(id, format, frame, signal) {
  try {
    // Without the focus a hidden tab paints nothing, and the capture never ends.
    return await withFocus(id, async () => {
      await assertPage(id);
      const data = await insist(id, { format, ...await area(id, frame) }, signal);
      // It may show another page, which has come meanwhile.
      await assertPage(id, { ran: true });
      return data;
    });
  } catch (error) {
    if (error instanceof ActionError) throw error;
    throw commandError(error, id, await tabs.isOpen(id));
  }
}

/**
 * Even so a capture of a hidden tab may wait for a frame that nothing asks for; the next request does.
 * @param {number} id @param {object} params @param {AbortSignal} signal @returns {Promise<string>}
 */
async function insist(id, params, signal) {
  const tries = [];
  for (let patienceMs = SCREENSHOT_PATIENCE_MS; !signal.aborted; patienceMs *= 2) {
    tries.push(cdp(id, 'Page.captureScreenshot', params));
    const pause = new Promise((resolve) => { setTimeout(resolve, patienceMs, null); });
    const picture = await Promise.race([...tries, pause]);
    if (picture) return picture.data;
  }
  return '';
}

/** The area to capture, scaled down if need be. @param {number} tabId @param {CaptureArea} frame */
async function area(tabId, { fullPage, maxSide }) {
  const { cssVisualViewport: seen, cssContentSize: all, visualViewport: device } = await cdp(tabId, 'Page.getLayoutMetrics');
  const seenArea = { x: seen.pageX, y: seen.pageY, width: seen.clientWidth, height: seen.clientHeight };
  const { x, y, width, height } = fullPage ? all : seenArea;
  const pixelRatio = device.clientWidth / seen.clientWidth;
  const scale = Math.min(1, maxSide / (Math.max(width, height) * pixelRatio));
  // Uncut where possible: the debugger bar may change the viewport's height just now.
  if (scale === 1 && !fullPage) return {};
  return { clip: { x, y, width, height, scale }, captureBeyondViewport: fullPage };
}
