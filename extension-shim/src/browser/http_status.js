// @ts-check
// The HTTP status of the page that a tab shows.

import { within } from '../lib/within.js';
import { STATUS_MS } from './limits.js';
import { documentNow } from './site_guard.js';

/**
 * From the browser's own timing of the document. Read in the isolated world, where the page cannot change it.
 * @param {number} tabId @param {string} url of the page that is meant
 * @returns {Promise<number | undefined>} undefined: no server has answered, or another page is there
 */
export async function httpStatus(tabId, url) {
  try {
    return await within(STATUS_MS, readStatus(tabId, url));
  } catch (error) {
    console.debug('tabwire: the HTTP status is not known', error);
    return undefined;
  }
}

/** @param {number} tabId @param {string} url @returns {Promise<number | undefined>} */
async function readStatus(tabId, url) {
  const { url: shown, target: { documentIds } } = await documentNow(tabId);
  if (shown !== url) return undefined;
  const target = /** @type {chrome.scripting.InjectionTarget} */ ({ tabId, documentIds });
  const [{ result }] = await chrome.scripting.executeScript({ target, func: statusOfDocument, injectImmediately: true });
  // A page without a server has 0.
  return Number.isInteger(result) && result ? result : undefined;
}

/** Runs in the page. @returns {number | undefined} */
function statusOfDocument() {
  const [timing] = /** @type {(PerformanceNavigationTiming & {responseStatus?: number})[]} */ (performance.getEntriesByType('navigation'));
  return timing?.responseStatus;
}
