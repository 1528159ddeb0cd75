// @ts-check
// The rules for sites, asked again where a page is about to be touched: whatever the browser said of a tab
// before, what counts is the document that is there now.

import { cdp } from './debugger.js';
import { messageOf, navigationInterrupted } from './errors.js';
import { originOfFrame } from './frame_origin.js';
import { OWNER_MS } from './limits.js';
import { isEmptyPage } from './sites.js';
import { policy } from './state.js';
import { within } from './within.js';

/**
 * The page that the debugger is attached to, refused if its site is.
 * @param {number} tabId @param {{ran?: boolean}} [so] @returns {Promise<string>} its URL
 */
export async function assertPage(tabId, so) {
  if (policy.allowsEverySite) return '';
  const { frameTree: { frame: { id, url } } } = await cdp(tabId, 'Page.getFrameTree');
  policy.assertUrl(url, so);
  // An empty page belongs to whoever has opened it, and holds what they wrote into it.
  if (isEmptyPage(url)) policy.assertOwner(await originOfFrame(tabId, id), so);
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
  if (isEmptyPage(frame.url)) policy.assertOwner(await ownerIn(target));
  return target;
}

/**
 * The tab, and whose page it shows if that is an empty one.
 * @template {{id?: number, url?: string}} T @param {T} tab @returns {Promise<T & {owner?: string | null}>}
 */
export async function withOwner(tab) {
  if (policy.allowsEverySite || tab.id === undefined || !isEmptyPage(tab.url ?? '')) return tab;
  return { ...tab, owner: await ownerIn({ tabId: tab.id }) };
}

/** What the browser says of an empty page that no site has opened: there is none whose permission would be ours. */
const OF_NO_SITE = /^Cannot access contents of url "about:/;

/** @param {{tabId: number, documentIds?: string[]}} injection @returns {Promise<string | null>} "null": of no site; null: not known */
async function ownerIn(injection) {
  const target = /** @type {chrome.scripting.InjectionTarget} */ (injection);
  try {
    const [{ result }] = await within(OWNER_MS, chrome.scripting.executeScript({ target, func: () => self.origin, injectImmediately: true }));
    return result ?? null;
  } catch (error) {
    if (OF_NO_SITE.test(messageOf(error))) return 'null';
    console.debug('tabwire: whose page it is, is not known', error);
    return null;
  }
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
