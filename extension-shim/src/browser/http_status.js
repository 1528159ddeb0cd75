// @ts-check
// The HTTP status of the page that a tab shows.

import { within } from '../lib/within.js';
import { STATUS_MS } from './limits.js';
import { admitDocument } from './site_guard.js';

/** @typedef {{url: string, documentId?: string}} NamedDocument as the browser names it */

/**
 * From the browser's own timing of the document. Read in the isolated world, where the page cannot change it.
 * @param {number} tabId @param {NamedDocument} [document] of which it is asked; else the tab's own @returns {Promise<{url: string, status: number} | null>} `url`: of the page that it is of; null: no server has answered
 */
export async function httpStatus(tabId, document) {
  try {
    return await within(STATUS_MS, readStatus(tabId, document));
  } catch (error) {
    console.debug('tabwire: the HTTP status is not known', error);
    return null;
  }
}

/** @param {number} tabId @param {NamedDocument} [document] */
async function readStatus(tabId, document) {
  const named = document ?? await chrome.webNavigation.getFrame({ tabId, frameId: 0 });
  const { url, target: { documentIds } } = await admitDocument(tabId, named);
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
