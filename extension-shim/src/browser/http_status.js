// @ts-check
// The HTTP status of the page that a tab shows.

import { within } from '../lib/within.js';
import { STATUS_MS } from './limits.js';
import { documentNow } from './site_guard.js';

/**
 * From the browser's own timing of the document. Read in the isolated world, where the page cannot change it.
 * @param {number} tabId @returns {Promise<{url: string, status: number} | null>} `url`: of the page that it is of; null: no server has answered
 */
export async function httpStatus(tabId) {
  try {
    return await within(STATUS_MS, readStatus(tabId));
  } catch (error) {
    console.debug('tabwire: the HTTP status is not known', error);
    return null;
  }
}

/** @param {number} tabId */
async function readStatus(tabId) {
  const { url, target: { documentIds } } = await documentNow(tabId);
  const target = /** @type {chrome.scripting.InjectionTarget} */ ({ tabId, documentIds });
  const [{ result }] = await chrome.scripting.executeScript({ target, func: statusOfDocument, injectImmediately: true });
  // A page without a server has 0.
  return Number.isInteger(result) && result ? { url, status: result } : null;
}

/** Runs in the page. @returns {number | undefined} */
function statusOfDocument() {
  const [timing] = /** @type {(PerformanceNavigationTiming & {responseStatus?: number})[]} */ (performance.getEntriesByType('navigation'));
  return timing?.responseStatus;
}
