// @ts-check
// The picture of a drawn page, and the elements under its marks.

/** @import {Target} from '../page/under.js' */

import { captureTab } from '../actions/screenshot.js';
import { attach, commandError } from '../debugger.js';
import { readIsolated, withLook } from '../isolated.js';
import { DRAW_PICTURE_MAX, SCREENSHOT_MAX_SIDE, SCREENSHOT_SIDES } from '../limits.js';
import { underSource } from '../page/under.js';
import { tabs } from '../state.js';

/**
 * As PNG, as JPEG if that is too large, and smaller until it fits.
 * @param {number} tabId @returns {Promise<string>} a data URL
 */
export async function picture(tabId) {
  await attach(tabId);
  const png = await pictureAs(tabId, 'png', SCREENSHOT_MAX_SIDE);
  if (png.length <= DRAW_PICTURE_MAX) return png;
  for (let maxSide = SCREENSHOT_MAX_SIDE; ; maxSide /= 2) {
    const jpeg = await pictureAs(tabId, 'jpeg', maxSide);
    if (jpeg.length <= DRAW_PICTURE_MAX || maxSide < SCREENSHOT_SIDES.least) return jpeg;
  }
}

/** @param {number} tabId @param {'png' | 'jpeg'} format @param {number} maxSide */
async function pictureAs(tabId, format, maxSide) {
  const data = await captureTab(tabId, format, { fullPage: false, maxSide }, new AbortController().signal);
  return `data:image/${format};base64,${data}`;
}

/** @param {number} tabId @param {Target[]} marks @param {boolean} styles whether computed styles are told, too */
export async function elementsUnder(tabId, marks, styles) {
  await attach(tabId);
  try {
    return await readIsolated(tabId, withLook(`${underSource(styles)}(look).find(${JSON.stringify(marks)})`));
  } catch (error) {
    throw commandError(error, tabId, await tabs.isOpen(tabId));
  }
}
