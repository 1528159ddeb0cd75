// @ts-check
// The picture of a page that a person draws on, and the elements under their marks.

/** @import {MarkTarget} from '../injected/mark_elements.js' */
/** @import {PagePicture} from './drafts.js' */

import { readIsolated, withLook } from '../analysis/isolated.js';
import { captureTab } from '../browser/capture_tab.js';
import { attach, cdp, withDialogs } from '../browser/debugger.js';
import { SCREENSHOT_SIDES } from '../browser/limits.js';
import { markElementsSource } from '../injected/mark_elements.js';
import { ActionError, messageOf } from '../lib/errors.js';
import { imageSize } from '../lib/image_size.js';
import { within } from '../lib/within.js';
import { DRAW_DRAFT_MAX, DRAW_DRAFT_SIDE, DRAW_LOOK_MS, DRAW_OPEN_MS } from './limits.js';

/** The visible part of a page. @param {number} tabId @returns {Promise<PagePicture>} */
export async function pictureOf(tabId) {
  await attach(tabId);
  try {
    return await within(DRAW_OPEN_MS, withDialogs(tabId, { dialogs: [] }, () => capture(tabId)));
  } catch (error) {
    if (error instanceof ActionError) throw error;
    throw new ActionError('internal', `no picture of the page could be taken (${messageOf(error)}); try again`);
  }
}

/** As PNG, as JPEG if that is too large, and smaller until it fits. @param {number} tabId @returns {Promise<PagePicture>} */
async function capture(tabId) {
  const png = await captureAs(tabId, 'png', DRAW_DRAFT_SIDE);
  if (png.picture.length <= DRAW_DRAFT_MAX) return png;
  for (let maxSide = DRAW_DRAFT_SIDE; ; maxSide /= 2) {
    const jpeg = await captureAs(tabId, 'jpeg', maxSide);
    if (jpeg.picture.length <= DRAW_DRAFT_MAX || maxSide < SCREENSHOT_SIDES.least) return jpeg;
  }
}

/** @param {number} tabId @param {'png' | 'jpeg'} format @param {number} maxSide @returns {Promise<PagePicture>} */
async function captureAs(tabId, format, maxSide) {
  const { data } = await captureTab(tabId, format, { fullPage: false, maxSide }, AbortSignal.timeout(DRAW_OPEN_MS));
  if (data === '') throw new Error('the page paints nothing');
  return { picture: `data:image/${format};base64,${data}`, ...await shownSize(tabId, imageSize(data)) };
}

/** The pictured area, in CSS pixels. @param {number} tabId @param {{width: number, height: number}} image in pixels of its own */
async function shownSize(tabId, image) {
  const { cssVisualViewport: css, visualViewport: device } = await cdp(tabId, 'Page.getLayoutMetrics');
  // Only one that was scaled down is narrower than the viewport; it is cut off at the scroll bar.
  const isScaled = image.width < Math.floor(device.clientWidth);
  const width = isScaled ? css.clientWidth : image.width * css.clientWidth / device.clientWidth;
  return { width: Math.round(width), height: Math.round(image.height * width / image.width) };
}

/** @param {number} tabId @param {MarkTarget[]} marks @param {boolean} styles whether with computed styles */
export async function elementsUnder(tabId, marks, styles) {
  const look = withLook(`${markElementsSource(styles)}(look).find(${JSON.stringify(marks)})`);
  return within(DRAW_LOOK_MS, attach(tabId).then(() => readIsolated(tabId, look)));
}
