// @ts-check
// The rules for sites, asked again where a page is about to be touched: whatever the browser said of a tab
// before, what counts is the document that is there now.

import { cdp } from './debugger.js';
import { ActionError, navigationInterrupted } from './errors.js';
import { policy } from './state.js';

const EMPTY = /^about:(?:blank|srcdoc)(?:[?#]|$)/i;
const WORLD = 'tabwire';

/**
 * The page that the debugger is attached to, refused if its site is.
 * @param {number} tabId @param {{ran?: boolean}} [so] @returns {Promise<string>} its URL
 */
export async function assertPage(tabId, so) {
  if (policy.allowsEverySite) return '';
  const { frameTree: { frame: { id, url } } } = await cdp(tabId, 'Page.getFrameTree');
  policy.assertUrl(url, so);
  // An empty page belongs to whoever has opened it, and holds what they wrote into it.
  if (EMPTY.test(url)) assertOrigin(await originOfFrame(tabId, id), so);
  return url;
}

/**
 * What a script is injected into through the browser: the very document that was looked at.
 * @param {number} tabId @returns {Promise<{tabId: number, documentIds?: string[]}>}
 */
export async function documentTarget(tabId) {
  if (policy.allowsEverySite) return { tabId };
  const frame = await chrome.webNavigation.getFrame({ tabId, frameId: 0 });
  if (!frame?.documentId) throw navigationInterrupted();
  policy.assertUrl(frame.url);
  const target = { tabId, documentIds: [frame.documentId] };
  if (EMPTY.test(frame.url)) {
    const [{ result }] = await chrome.scripting.executeScript({ target, func: () => self.origin, injectImmediately: true });
    assertOrigin(result ?? 'null');
  }
  return target;
}

/**
 * Runs a script only in a page of the site that was looked at: between the look and the script another one may
 * have come. `location` is the one thing that no page can replace.
 * @typedef {{head: string, mark: string}} Fence `mark` is thrown elsewhere, before anything of the script has run
 * @param {string} url @returns {Fence}
 */
export function fenceFor(url) {
  const mark = `tabwire:${crypto.randomUUID()}`;
  const { protocol, host } = new URL(url);
  return { head: `if(location.protocol+location.host!==${JSON.stringify(protocol + host)})throw${JSON.stringify(mark)};`, mark };
}

/** A frame within a page. @param {string} url @param {string} origin @returns {boolean} whether its site may not be used */
export function blocksFrame(url, origin) {
  return policy.blocks(url) || (EMPTY.test(url) && origin !== 'null' && policy.blocks(origin));
}

/** @param {string} origin "null": of no site @param {{ran?: boolean}} [so] */
function assertOrigin(origin, so) {
  if (origin !== 'null') policy.assertUrl(origin, so);
}

/** @param {number} tabId @param {string} frameId @returns {Promise<string>} */
async function originOfFrame(tabId, frameId) {
  const { executionContextId: contextId } = await cdp(tabId, 'Page.createIsolatedWorld', { frameId, worldName: WORLD });
  const { result } = await cdp(tabId, 'Runtime.evaluate', { expression: 'self.origin', contextId });
  if (typeof result.value !== 'string') throw new ActionError('internal', 'the page does not say of which site it is');
  return result.value;
}
