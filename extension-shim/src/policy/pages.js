// @ts-check
// Which pages an extension may not touch, and where a page's content comes from.

import { ActionError } from '../lib/errors.js';

const ORDINARY = new Set(['http:', 'https:', 'file:', 'about:', 'data:', 'blob:', 'filesystem:', '']);
const STORES = [/^https:\/\/chromewebstore\.google\.com\//, /^https:\/\/chrome\.google\.com\/webstore(\/|$)/,
  /^https:\/\/microsoftedge\.microsoft\.com\/addons(\/|$)/];

/** @param {string} url @returns {string | null} the kind of page that is closed to extensions, if it is one */
function restriction(url) {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0].toLowerCase() ?? '';
  if (!ORDINARY.has(scheme)) return `${scheme} pages`;
  return STORES.some((store) => store.test(url)) ? 'extension stores' : null;
}

/** @param {string} url @returns {boolean} whether it is the browser's own, or another extension's, and of no site */
export function isBrowserPage(url) {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0].toLowerCase() ?? '';
  return !ORDINARY.has(scheme) && scheme !== 'view-source:' && scheme !== 'javascript:';
}

/** @param {string} what such as "chrome: pages" */
export function restrictedPage(what) {
  return new ActionError('restricted_page', `the browser keeps extensions out of ${what}`);
}

/** @param {chrome.tabs.Tab} tab */
export function isReachable(tab) {
  return restriction(tab.url || tab.pendingUrl || '') === null;
}

/** Refuses early, with better words than the debugger has. @param {chrome.tabs.Tab} tab */
export function assertReachable(tab) {
  const wrong = restriction(tab.url || tab.pendingUrl || '');
  if (wrong) throw restrictedPage(wrong);
}

/** @param {string | undefined} url @returns {string | undefined} "null" for opaque origins, as `self.origin` has it */
export function originOf(url) {
  return url && URL.canParse(url) ? new URL(url).origin : undefined;
}

const DRAW_PAGE = 'src/draw/page/draw.html?tab=';

/** @param {number} tabId @returns {string} the page of ours that shows the person a picture of this tab to draw on */
export function drawPageUrl(tabId) {
  return chrome.runtime.getURL(`${DRAW_PAGE}${tabId}`);
}

/** @param {{url?: string, pendingUrl?: string}} tab @returns {number | undefined} the tab that it shows a picture of, if it is for drawing */
export function drawnTab({ url, pendingUrl }) {
  const start = chrome.runtime.getURL(DRAW_PAGE);
  const shown = url || pendingUrl || '';
  return shown.startsWith(start) ? Number.parseInt(shown.slice(start.length), 10) : undefined;
}
