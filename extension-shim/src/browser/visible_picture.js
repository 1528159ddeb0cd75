// @ts-check
// A picture of a tab without the debugger, as its window shows it. The browser pictures the tab that is in front at that
// moment, whichever it is: the picture counts only if the same tab and the same document were there all the time.

/** @import {CaptureArea, PageArea, TabCapture} from './capture_tab.js' */
/** @import {SeenDocument} from './page_world.js' */
/** @import {ShownView} from './pictures.js' */
/** @import {ScriptedWay} from './scripted_way.js' */

import { base64Of, bytesOf } from '../lib/base64.js';
import { ActionError, messageOf, navigationInterrupted } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import { within } from '../lib/within.js';
import { VISIBLE_PAINT_MS, VISIBLE_PAUSE_MS } from './limits.js';
import { askDocument, documentsOf } from './page_world.js';
import { changeOf } from './pictures.js';
import { needsDebugger } from './scripted_way.js';
import { documentNow } from './site_guard.js';

/** @typedef {{view: ShownView, whole: PageArea}} SeenView `whole`: with scroll bars, as the picture has it */

/** Those that wait for their turn: the browser refuses a third picture within a second. @type {Promise<unknown>} */
let turn = Promise.resolve();
let takenAt = -Infinity;

/**
 * @param {number} tabId @param {string} format @param {CaptureArea} frame @param {ScriptedWay} way why there is no debugger
 * @param {AbortSignal} signal @returns {Promise<TabCapture>}
 */
export async function captureVisible(tabId, format, { fullPage, maxSide, clip }, way, signal) {
  if (fullPage) throw needsDebugger(way, 'only the debugger pictures more than the view', false);
  const mine = turn.then(async () => {
    await pause(Math.max(0, takenAt + VISIBLE_PAUSE_MS - performance.now()), signal);
    return taken(tabId, way, signal);
  });
  turn = mine.catch(() => {});
  const { data, url, before, after } = await mine;
  const { view, whole } = before;
  if (clip && changeOf(view, after.view)) throw new ActionError('not_stable', 'the page was scrolled while it was pictured', undefined, { mayHaveRun: false });
  const { x, y, width, height } = clip ?? whole;
  if (x < 0 || y < 0 || x + width > whole.width || y + height > whole.height) throw needsDebugger(way, 'the element is not all in view, and only the debugger pictures the rest', false);
  const area = { x, y, width, height };
  return { ...await cutOut(data, whole, area, maxSide, format), url, area, view };
}

/** @param {number} tabId @param {ScriptedWay} way @param {AbortSignal} signal @returns {Promise<{data: string, url: string, before: SeenView, after: SeenView}>} `data`: base64 of a PNG */
async function taken(tabId, way, signal) {
  const watch = await watchFront(tabId, way);
  try {
    const { seen: [page] } = await documentsOf(tabId);
    // Until it has painted, the tab may still show the page before it.
    const isPainted = await within(VISIBLE_PAINT_MS, askDocument(tabId, page, 'twoFrames').then(() => true)).catch(passed);
    if (!isPainted) throw needsDebugger(way, 'the page paints nothing now', false);
    const before = await viewOf(tabId, page);
    signal.throwIfAborted();
    takenAt = performance.now();
    const picture = await chrome.tabs.captureVisibleTab(watch.windowId, { format: 'png' })
      .catch((error) => { throw needsDebugger(way, `the browser gave no picture of the window (${messageOf(error)})`, false); });
    const [{ url, target }, after] = await Promise.all([documentNow(tabId, { ran: true }), viewOf(tabId, page)]);
    await watch.assertStayed();
    if (target.documentIds[0] !== page.documentId) throw navigationInterrupted();
    return { data: picture.slice(picture.indexOf(',') + 1), url, before, after };
  } finally {
    watch.end();
  }
}

/** @param {unknown} error @returns {false} of a page that is slow; refusals go on */
function passed(error) {
  if (error instanceof ActionError) throw error;
  return false;
}

/**
 * Notices whether a tab and its page stay in front. @param {number} tabId @param {ScriptedWay} way
 * @returns {Promise<{windowId: number, assertStayed: () => Promise<void>, end: () => void}>}
 */
async function watchFront(tabId, way) {
  const { windowId } = await chrome.tabs.get(tabId);
  let [isOther, isNavigated] = [false, false];
  const onActivated = (/** @type {{windowId: number}} */ shown) => { if (shown.windowId === windowId) isOther = true; };
  const onCommitted = (/** @type {{tabId: number, frameId: number}} */ came) => { if (came.tabId === tabId && came.frameId === 0) isNavigated = true; };
  const assertInFront = async () => {
    const [tab, { state }] = await Promise.all([chrome.tabs.get(tabId), chrome.windows.get(windowId)]);
    const isInFront = tab.active && tab.windowId === windowId && state !== 'minimized';
    if (!isInFront) throw needsDebugger(way, 'without it a picture is taken only while a window shows the tab: show it with tab_activate if the person wants that', false);
  };
  await assertInFront();
  chrome.tabs.onActivated.addListener(onActivated);
  chrome.webNavigation.onCommitted.addListener(onCommitted);
  return {
    windowId,
    async assertStayed() {
      // The answer comes after all events before it: a tab that was in front for a moment only has been told of.
      await assertInFront();
      if (isOther) throw needsDebugger(way, 'another tab came to the front while the picture was taken', false);
      if (isNavigated) throw navigationInterrupted();
    },
    end() {
      chrome.tabs.onActivated.removeListener(onActivated);
      chrome.webNavigation.onCommitted.removeListener(onCommitted);
    },
  };
}

/** @param {number} tabId @param {SeenDocument} page @returns {Promise<SeenView>} */
async function viewOf(tabId, page) {
  const [shown, zoom, tab] = await Promise.all([askDocument(tabId, page, 'shown'), chrome.tabs.getZoom(tabId), chrome.tabs.get(tabId)]);
  const { whole, ...view } = shown;
  return { view: { ...view, document: page.documentId, size: `${tab.width} ${tab.height}`, zoom }, whole: { x: 0, y: 0, ...whole } };
}

/**
 * @param {string} png base64 @param {PageArea} whole that it shows @param {PageArea} area of it @param {number} maxSide @param {string} format
 * @returns {Promise<{data: string, scale: number}>}
 */
async function cutOut(png, whole, area, maxSide, format) {
  const picture = await createImageBitmap(new Blob([bytesOf(png)]));
  // Its own size counts: pixels of the screen and of the page differ by zoom and by screen.
  const ratio = picture.width / whole.width;
  const shrink = Math.min(1, maxSide / (Math.max(area.width, area.height) * ratio));
  const isWhole = area.width === whole.width && area.height === whole.height;
  if (isWhole && shrink === 1 && format === 'png') return { data: png, scale: ratio };
  const [width, height] = [area.width, area.height].map((side) => Math.max(1, Math.round(side * ratio * shrink)));
  const canvas = new OffscreenCanvas(width, height);
  const paint = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d'));
  paint.imageSmoothingQuality = 'high';
  paint.drawImage(picture, area.x * ratio, area.y * ratio, area.width * ratio, area.height * ratio, 0, 0, width, height);
  const blob = await canvas.convertToBlob({ type: `image/${format}`, quality: 0.8 });
  return { data: base64Of(new Uint8Array(await blob.arrayBuffer())), scale: width / area.width };
}
