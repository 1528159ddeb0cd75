// @ts-check
// The tab that a person draws in: a page of the extension's own, which no web page can frame, open, read or
// speak to.

/** @import {DrawingWait} from './open_drawings.js' */

import { drawPageUrl, drawnTab } from '../policy/pages.js';

/**
 * A notice from the worker to the page of a drawing.
 * @typedef {{drawing: 'asked', ask: DrawingWait | {}} | {drawing: 'over', correlation_ids: string[]} | {drawing: 'ping'}} DrawNotice
 */

/** Opens it beside the tab that it is of, in front if that one is. @param {chrome.tabs.Tab & {id: number}} tab @returns {Promise<number>} its id */
export async function openDrawTab({ id, index, windowId, active }) {
  const url = drawPageUrl(id);
  const beside = { url, active, windowId, index: index + 1, openerTabId: id };
  // A window of an installed app takes no further tab.
  const opened = await chrome.tabs.create(beside).catch(() => openDrawWindow(url, active));
  const drawTab = /** @type {number} */ (opened?.id);
  // The browser would discard a tab that is unseen for long, and then it would miss the end of its waits.
  chrome.tabs.update(drawTab, { autoDiscardable: false }).catch(console.debug);
  return drawTab;
}

/** @param {string} url @param {boolean} focused */
async function openDrawWindow(url, focused) {
  const window = await chrome.windows.create({ url, focused, type: 'popup' });
  return window?.tabs?.[0];
}

/** @param {number} drawTab @param {DrawNotice} notice @returns {Promise<boolean>} false: its page does not answer */
export async function tellDrawTab(drawTab, notice) {
  return chrome.tabs.sendMessage(drawTab, notice).then((heard) => heard === true, () => false);
}

/** Closes it, and shows the person the page again. @param {number} drawTab */
export async function closeDrawTab(drawTab) {
  const tab = await chrome.tabs.get(drawTab).catch(() => null);
  if (!tab) return;
  const page = drawnTab(tab);
  if (tab.active && page !== undefined) await chrome.tabs.update(page, { active: true }).catch(console.debug);
  await chrome.tabs.remove(drawTab).catch(console.debug);
}
