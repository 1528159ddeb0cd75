// @ts-check
// Checks the rules for sites again right before a page is used: the events about a tab
// may be late, and only the document that is there now counts.

import { messageOf, navigationInterrupted } from '../lib/errors.js';
import { within } from '../lib/within.js';
import { fileIn, hidesOwner } from '../policy/sites.js';
import { cdp } from './debugger.js';
import { originOfFrame, ownOrigin } from './frame_origin.js';
import { OWNER_MS } from './limits.js';
import { policy } from './state.js';

/**
 * The page that the debugger is attached to, refused if its site is.
 * @param {number} tabId @param {{ran?: boolean}} [so] @returns {Promise<string>} its URL
 */
export async function assertPage(tabId, so) {
  const { id, url } = await mainFrame(tabId);
  await policy.admitIn(tabId, url, so);
  // An empty page belongs to its opener, and holds the content that its opener wrote into it.
  if (hidesOwner(url)) await admitOwner(tabId, await originOfFrame(tabId, id), so);
  if (fileIn(url) !== null) await admitParts(tabId, so);
  return url;
}

/**
 * The same after a look at the page, which may be busy. What a document sends the browser comes after the news that the
 * document is there: so of a page of the web the browser's own word is as good, and the page need not answer.
 * @param {number} tabId @returns {Promise<string>} its URL
 */
export async function assertSeen(tabId) {
  const frame = await chrome.webNavigation.getFrame({ tabId, frameId: 0 }).catch(() => null);
  if (!frame || frame.errorOccurred || !/^https?:/.test(frame.url)) return assertPage(tabId, { ran: true });
  await policy.admitIn(tabId, frame.url, { ran: true });
  return frame.url;
}

/** @param {number} tabId @param {string | null} owner of its empty page @param {{ran?: boolean}} [so] rejects if the owner's pages may not be used */
async function admitOwner(tabId, owner, so) {
  await policy.admitOwner(owner, so);
  policy.far.assert(tabId, owner, so);
}

/** The page, as the browser has it. @param {number} tabId to which the debugger is attached @returns {Promise<{id: string, url: string}>} */
export async function mainFrame(tabId) {
  return (await cdp(tabId, 'Page.getFrameTree')).frameTree.frame;
}

/**
 * A page from an opened folder can show files from elsewhere, in frames and as pictures. Frames that are gone again
 * count, too: a page may show one for a moment only. @param {number} tabId @param {{ran?: boolean}} [so]
 */
async function admitParts(tabId, so) {
  const { frameTree } = await cdp(tabId, 'Page.getResourceTree');
  const shown = [...urlsIn(frameTree), ...policy.files.framedIn(tabId)];
  await policy.admitAll(shown.filter((url) => fileIn(url) !== null), so);
}

/** @param {any} tree of frames, as the protocol has it @returns {string[]} */
function urlsIn({ frame, childFrames = [], resources = [] }) {
  return [frame.url, ...resources.map((/** @type {{url: string}} */ { url }) => url), ...childFrames.flatMap(urlsIn)];
}

/**
 * The target for injecting a script: the very document that was checked.
 * @param {number} tabId @returns {Promise<{tabId: number, documentIds?: string[]}>}
 */
export async function documentTarget(tabId) {
  return (await documentNow(tabId)).target;
}

/**
 * The document that is there now, refused if its site is.
 * @param {number} tabId @param {{ran?: boolean}} [so] @returns {Promise<{url: string, target: {tabId: number, documentIds: string[]}}>}
 */
export async function documentNow(tabId, so) {
  return admitDocument(tabId, await chrome.webNavigation.getFrame({ tabId, frameId: 0 }), so);
}

/**
 * A document that the browser has named as a tab's page, refused if its site is.
 * @param {number} tabId @param {{url: string, documentId?: string} | null | undefined} frame @param {{ran?: boolean}} [so]
 * @returns {Promise<{url: string, target: {tabId: number, documentIds: string[]}}>}
 */
export async function admitDocument(tabId, frame, so) {
  if (!frame?.documentId) throw navigationInterrupted();
  await policy.admitIn(tabId, frame.url, so);
  const target = { tabId, documentIds: [frame.documentId] };
  if (hidesOwner(frame.url)) await admitOwner(tabId, await ownerIn(target), so);
  return { url: frame.url, target };
}

/**
 * The tab, and whose page it shows if that is an empty one.
 * @template {{id?: number, url?: string}} T @param {T} tab @returns {Promise<T & {owner?: string | null}>}
 */
export async function withOwner(tab) {
  if (tab.id === undefined || !hidesOwner(tab.url ?? '')) return tab;
  return { ...tab, owner: await ownerIn({ tabId: tab.id }) };
}

/** The browser's error for an empty page that no site has opened, and for which no host permission exists. */
const OF_NO_SITE = /^Cannot access contents of url "about:/;

/** @param {{tabId: number, documentIds?: string[]}} injection @returns {Promise<string | null>} "null": of no site; null: not known */
async function ownerIn(injection) {
  const target = /** @type {chrome.scripting.InjectionTarget} */ (injection);
  try {
    const [{ result }] = await within(OWNER_MS, chrome.scripting.executeScript({ target, func: ownOrigin, injectImmediately: true }));
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
  const { protocol, host, pathname } = new URL(url);
  // Each local file is a site of its own.
  const [here, there] = protocol === 'file:' ? ['location.protocol+location.pathname', protocol + pathname] : ['location.protocol+location.host', protocol + host];
  return { head: `if(${here}!==${JSON.stringify(there)})throw${JSON.stringify(mark)};`, mark };
}
