// @ts-check
// A picture of a tab, also of a hidden one.

/** @import {ShownView} from './pictures.js' */

import { ActionError } from '../lib/errors.js';
import { imageSize } from '../lib/image_size.js';
import { cdp, commandError, hasFocus, withFocus } from './debugger.js';
import { FIRST_CAPTURES_MAX, FOCUS_LINGER_MS, QUICK_PICTURE_MAX, SCREENSHOT_MAX_SIDE, SCREENSHOT_PATIENCE_MS } from './limits.js';
import { whilePainting } from './painting.js';
import { viewNow } from './pictures.js';
import { assertPage, assertSeen } from './site_guard.js';
import { tabs } from './state.js';

/**
 * @typedef {{x: number, y: number, width: number, height: number}} PageArea in CSS px of the view
 *
 * @typedef {object} CaptureArea which area of the page, and how large
 * @property {boolean} fullPage
 * @property {number} maxSide
 * @property {PageArea} [clip] of the view only this
 *
 * @typedef {object} TabCapture
 * @property {string} data base64; empty if nobody waits any more
 * @property {string} url of the page
 * @property {PageArea} area
 * @property {number} scale pixels of the picture for a CSS px
 * @property {ShownView} view in which it was taken
 */

/**
 * A picture of a tab that the debugger is attached to.
 * @param {number} id the tab's @param {string} format @param {CaptureArea} frame @param {AbortSignal} signal
 * @returns {Promise<TabCapture>}
 */
export async function captureTab(id, format, frame, signal) {
  const isShown = tabs.known(id)?.active === true;
  const isPainted = hasFocus(id) && !frame.fullPage;
  try {
    // Without the focus a hidden tab paints nothing, and the capture never ends.
    return await withFocus(id, async () => {
      const [{ params, area, view, pixels }] = await Promise.all([measured(id, frame), assertPage(id)]);
      const take = (/** @type {object} */ how) => insist(id, { format, ...params, ...how }, signal);
      const capture = async () => {
        // It takes half the time, and a file that is kept takes more room.
        const isQuick = format === 'png' && pixels <= SCREENSHOT_MAX_SIDE ** 2;
        const quick = isQuick ? await take({ optimizeForSpeed: true }) : null;
        return quick !== null && quick.length <= QUICK_PICTURE_MAX ? quick : take({});
      };
      const data = await (isShown ? capture() : whilePainting(id, isPainted ? capture : () => untilSame(capture, signal)));
      // It may show another page, which has come meanwhile.
      const url = await assertSeen(id);
      // Its own size counts: pixels of the screen and of the page differ by zoom and by screen.
      return { data, url, area, scale: imageSize(data).width / area.width, view };
    }, FOCUS_LINGER_MS);
  } catch (error) {
    if (error instanceof ActionError) throw error;
    throw await commandError(error, id, await tabs.isOpen(id));
  }
}

/** A tab that was loaded anew in the background paints nothing before it is shown: the capture would never end. @param {{width?: number}} tab */
export function assertPaints({ width }) {
  if (width !== 0) return;
  throw new ActionError('unsupported', 'the browser had unloaded this page, and paints no picture of it before the tab is shown', undefined,
    { mayHaveRun: false, hint: 'Read it with a snapshot, open its address in a tab of your own, or show the tab with tab_activate if the person wants that.' });
}

/**
 * The first frames of a page that was hidden can lack parts of it, or be laid out for another width, on a busy machine.
 * @param {() => Promise<string>} capture @param {AbortSignal} signal @returns {Promise<string>}
 */
async function untilSame(capture, signal) {
  let picture = await capture();
  for (let taken = 1; taken < FIRST_CAPTURES_MAX && !signal.aborted; taken += 1) {
    const before = picture;
    picture = await capture();
    if (picture === before) break;
  }
  return picture;
}

/**
 * Also while it paints, a capture of a hidden tab may wait for a frame that nothing asks for; the next request does.
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

/** The area to capture, scaled down if need be, and how many pixels that makes. @param {number} tabId @param {CaptureArea} frame */
async function measured(tabId, { fullPage, maxSide, clip }) {
  const { tab, view: shown, metrics: { cssVisualViewport: seen, cssContentSize: all, visualViewport: device } } = await viewNow(tabId);
  assertPaints(tab);
  const { zoom } = shown;
  const view = { x: seen.pageX, y: seen.pageY, width: seen.clientWidth, height: seen.clientHeight };
  const { x, y, width, height } = fullPage ? all : clip ? { ...clip, x: clip.x + view.x, y: clip.y + view.y } : view;
  const area = { x: x - view.x, y: y - view.y, width, height };
  const pixelRatio = device.clientWidth / seen.clientWidth;
  const longest = Math.max(width, height);
  // Uncut where possible: the debugger bar may change the viewport's height just now.
  if (!fullPage && !clip && longest * pixelRatio <= maxSide) return { params: {}, area, view: shown, pixels: width * height * pixelRatio ** 2 };
  const scale = Math.min(1, maxSide / (longest * pixelRatio));
  // Beyond the view a hidden tab paints only if it must.
  const isBeyond = fullPage || area.x < 0 || area.y < 0 || area.x + width > view.width || area.y + height > view.height;
  // The browser cuts by px that the zoom of the tab does not change.
  const cut = { x: x * zoom, y: y * zoom, width: width * zoom, height: height * zoom, scale };
  return { params: { clip: cut, captureBeyondViewport: isBeyond }, area, view: shown, pixels: width * height * (pixelRatio * scale) ** 2 };
}
