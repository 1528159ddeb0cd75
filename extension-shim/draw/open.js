// @ts-check
// Puts the overlay into a page. In a world of its own, which no policy of the page governs.

/** @import {Ask} from './overlays.js' */

import { ActionError, closedMeanwhile, messageOf } from '../errors.js';
import { restrictedPage } from '../pages.js';
import { documentTarget } from '../site_guard.js';
import { tabs } from '../state.js';

/** The parts of the overlay, each after those that it uses. */
export const OVERLAY_FILES = ['geometry', 'board', 'waits', 'keys', 'sender', 'sheet', 'view', 'toolbar', 'overlay', 'entry']
  .map((name) => `draw/page/${name}.js`);

/** @typedef {{was_open: boolean, url: string, title: string}} Opened */

/** @param {number} tabId @param {Ask} [ask] @returns {Promise<Opened & {documentId: string}>} */
export async function openIn(tabId, ask) {
  try {
    const target = await documentTarget(tabId);
    const opened = await callOverlay(target, ask);
    if (opened) return opened;
    await chrome.scripting.executeScript({ target: /** @type {chrome.scripting.InjectionTarget} */ (target), files: OVERLAY_FILES, injectImmediately: true });
    return /** @type {Opened & {documentId: string}} */ (await callOverlay(target, ask));
  } catch (error) {
    if (error instanceof ActionError) throw error;
    if (!await tabs.isOpen(tabId)) throw closedMeanwhile(tabId);
    throw restrictedPage(`this page (${messageOf(error)})`);
  }
}

/** Nobody waits for these any more. A page that cannot be told now is told on the next connection. @param {number} tabId @param {string[]} over */
export async function withdrawIn(tabId, over) {
  const func = (/** @type {string[]} */ waits) => {
    if (Object.hasOwn(globalThis, 'tabwireDraw')) /** @type {any} */ (globalThis).tabwireDraw.withdraw(waits);
  };
  await chrome.scripting.executeScript({ target: { tabId }, func, args: [over], injectImmediately: true });
}

/** @param {{tabId: number, documentIds?: string[]}} injection @param {Ask} [ask] @returns {Promise<(Opened & {documentId: string}) | null>} null: it is not there yet */
async function callOverlay(injection, ask) {
  // Of its own: an element or a frame of that name in the page shows as a property here, too.
  const func = (/** @type {Ask | {}} */ request) =>
    (Object.hasOwn(globalThis, 'tabwireDraw') ? /** @type {any} */ (globalThis).tabwireDraw.open(request) : null);
  const [{ result, documentId }] = await chrome.scripting.executeScript({
    target: /** @type {chrome.scripting.InjectionTarget} */ (injection), func, args: [ask ?? {}], injectImmediately: true,
  });
  return result && { .../** @type {Opened} */ (result), documentId };
}
