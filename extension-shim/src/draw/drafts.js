// @ts-check
// A drawing that is not sent yet: its picture, which the worker takes, and the work, which the drawing's page
// writes. In the memory of the browser: it survives the extension's process, and no page reads it.

/** @import {DrawSize} from './page/geometry.js' */
/** @import {DrawWork} from './page/drawing_editor.js' */

import { sessionItems } from '../lib/session_items.js';

/** @typedef {DrawSize & {picture: string}} PagePicture a data URL, and the size of the pictured area in CSS pixels */

/** @param {number} tabId */
const pictureKey = (tabId) => `draw:picture:${tabId}`;
/** @param {number} tabId */
const workKey = (tabId) => `draw:work:${tabId}`;

/** @param {number} tabId @param {PagePicture} picture @throws {Error} there is no room for it */
export async function keepPicture(tabId, picture) {
  await chrome.storage.session.set({ [pictureKey(tabId)]: picture });
}

/** @param {number} tabId @returns {Promise<PagePicture | undefined>} */
export function keptPicture(tabId) {
  return read(pictureKey(tabId));
}

/** @param {number} tabId @param {DrawWork} work */
export async function keepWork(tabId, work) {
  await chrome.storage.session.set({ [workKey(tabId)]: work });
}

/** @param {number} tabId @returns {Promise<DrawWork | undefined>} */
export function keptWork(tabId) {
  return read(workKey(tabId));
}

/** @param {number} tabId */
export async function dropDraft(tabId) {
  await chrome.storage.session.remove(pictureKey(tabId));
  await chrome.storage.session.remove(workKey(tabId));
}

/** @param {string} key @returns {Promise<any>} */
async function read(key) {
  return (await sessionItems(key))[key];
}
