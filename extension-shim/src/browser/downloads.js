// @ts-check
// Downloads: their description, and which tab began them.

/** @import {Policy} from '../policy/policy.js' */

import { clip, headOf } from '../lib/clip.js';
import { originOf } from '../policy/pages.js';
import { ACT_RECENT_MS, DOWNLOAD_RECENT_MS, DOWNLOAD_URL_KEPT, DOWNLOADS_MAX, FILE_NAME_MAX } from './limits.js';
import { ActionError } from '../lib/errors.js';
import { sessionItems } from '../lib/session_items.js';

/**
 * @typedef {object} DownloadItem as the browser has it
 * @property {number} id
 * @property {string} url before redirects
 * @property {string} finalUrl
 * @property {string} filename the whole path; empty until the browser has chosen one
 * @property {string} mime
 * @property {number} totalBytes -1: not known
 *
 * @typedef {{file_name: string, url: string, mime_type?: string, bytes?: number}} Download
 */

const KEY = 'downloads';

/**
 * The downloads that the pages of a tab have begun, and the clients whose acts have set them off. The browser's own list
 * names neither. The person's downloads, and those of other clients, are told to nobody.
 */
export class TabDownloads {
  /** The client that acts, or has acted last, in each tab. @type {Map<number, {clientId: string, running: number, endedAt: number}>} */
  #acts = new Map();
  /** Which client has begun each download. @type {Map<number, string>} */
  #owners = new Map();
  /** From the debugger, newest last. @type {{tabId: number, url: string}[]} */
  #begun = [];
  /** Those that a wait has told of. @type {Set<number>} */
  #told = new Set();
  #policy;

  /** @param {Policy} policy */
  constructor(policy) {
    this.#policy = policy;
  }

  /** @param {number} tabId @param {string} method of a protocol event @param {any} params @returns {boolean} whether it is of a download */
  handleEvent(tabId, method, params) {
    if (method !== 'Page.downloadWillBegin') return method === 'Page.downloadProgress';
    this.#begun.push({ tabId, url: headOf(params.url, DOWNLOAD_URL_KEPT) });
    this.#begun.splice(0, this.#begun.length - DOWNLOADS_MAX);
    return true;
  }

  /**
   * Whether a tab has begun a download. The debugger tells of it before the browser does, but not of those in frames of
   * other processes, nor in tabs that it is not attached to: they may name a page of the tab's site as their referrer.
   * Other tabs of the site may have begun such a one: whoever may not see those is told of none by its referrer.
   * @param {{finalUrl: string, referrer?: string}} item @param {number} tabId @param {string} pageUrl @param {boolean} seesAll tabs
   */
  belongs({ finalUrl, referrer }, tabId, pageUrl, seesAll) {
    const url = headOf(finalUrl, DOWNLOAD_URL_KEPT);
    if (this.#begun.some((begun) => begun.tabId === tabId && begun.url === url)) return true;
    return seesAll && Boolean(referrer) && originOf(referrer) !== 'null' && originOf(referrer) === originOf(pageUrl);
  }

  /**
   * The newest download that the tab has begun and no wait has told of. A download from a denied site is none.
   * @param {number} tabId @param {string} pageUrl @param {number} since unix time in ms @param {boolean} seesAll tabs @returns {Promise<chrome.downloads.DownloadItem | undefined>}
   */
  async newest(tabId, pageUrl, since, seesAll) {
    const items = await chrome.downloads.search({ startedAfter: new Date(since).toISOString(), orderBy: ['-startTime'], limit: DOWNLOADS_MAX });
    return items.find((item) => !item.incognito && !this.#told.has(item.id) && this.belongs(item, tabId, pageUrl, seesAll) && [item.url, item.finalUrl].every((one) => !this.#policy.blocksIn(tabId, one)));
  }

  /** @param {number} id of a download that is told of @param {string} clientId to this client @param {boolean} seesAll tabs */
  tell(id, clientId, seesAll) {
    this.#told.add(id);
    this.#own(id, beginner(clientId, seesAll));
  }

  /** Reads what an earlier worker knew. */
  async restore() {
    const stored = (await sessionItems(KEY))[KEY];
    for (const [id, clientId] of Array.isArray(stored) ? stored : []) this.#owners.set(id, clientId);
  }

  /** An act of a client begins in a tab. @param {number} tabId @param {string} client @param {boolean} seesAll tabs @returns {() => void} ends it */
  followAct(tabId, client, seesAll) {
    const clientId = beginner(client, seesAll);
    const known = this.#acts.get(tabId);
    const act = known?.clientId === clientId ? known : { clientId, running: 0, endedAt: 0 };
    act.running += 1;
    this.#acts.set(tabId, act);
    return () => {
      act.running -= 1;
      act.endedAt = Date.now();
    };
  }

  /** @param {number} tabId @returns {boolean} whether an act of a client runs in a tab, or has just ended */
  isActing(tabId) {
    const act = this.#acts.get(tabId);
    return act !== undefined && (act.running > 0 || Date.now() - act.endedAt < ACT_RECENT_MS);
  }

  /** @param {string} clientId @returns {Promise<boolean>} whether a download of this client runs */
  async isDownloading(clientId) {
    const running = await chrome.downloads.search({ state: 'in_progress' });
    return running.some(({ id }) => [true, false].some((seesAll) => this.#owners.get(id) === beginner(clientId, seesAll)));
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    if (!this.#acts.get(tabId)?.running) this.#acts.delete(tabId);
  }

  /** @param {DownloadItem} item that has begun @param {number[]} tabIds the tabs that it is of, as far as acts know */
  async handleCreated({ id, finalUrl }, tabIds) {
    const url = headOf(finalUrl, DOWNLOAD_URL_KEPT);
    const ofPages = this.#begun.filter((begun) => begun.url === url).map(({ tabId }) => tabId);
    const act = [...tabIds, ...ofPages].map((tabId) => this.#acts.get(tabId)).find((one) => one && (one.running > 0 || Date.now() - one.endedAt < DOWNLOAD_RECENT_MS));
    if (act) this.#own(id, act.clientId);
  }

  /** @param {number} id @param {string} clientId */
  #own(id, clientId) {
    this.#owners.set(id, clientId);
    for (const oldest of [...this.#owners.keys()].slice(0, -DOWNLOADS_MAX)) this.#owners.delete(oldest);
    chrome.storage.session.set({ [KEY]: [...this.#owners] }).catch(console.warn);
  }

  /**
   * Of a client that does not see every tab: those that it has begun since it does not.
   * @param {string} clientId @param {boolean} seesAll tabs @returns {Promise<chrome.downloads.DownloadItem[]>} the newest first; none of a closed site
   */
  async ofClient(clientId, seesAll) {
    const names = [beginner(clientId, false), ...(seesAll ? [beginner(clientId, true)] : [])];
    const ids = [...this.#owners].filter(([, owner]) => names.includes(owner)).map(([id]) => id);
    const found = await Promise.all(ids.map((id) => chrome.downloads.search({ id })));
    return found.flat().filter((item) => !this.#policy.blocks(item.url) && !this.#policy.blocks(item.finalUrl)).toReversed();
  }
}

/** No header can carry the sign. @param {string} clientId @param {boolean} seesAll tabs @returns {string} who has begun a download */
function beginner(clientId, seesAll) {
  return seesAll ? clientId : `${clientId}\n`;
}

/** @param {DownloadItem} item @returns {Download} without the folder, which is the person's */
export function downloadOf({ finalUrl, filename, mime, totalBytes }) {
  return {
    file_name: clip(lastPart(filename) || lastPartOf(finalUrl) || 'download', FILE_NAME_MAX),
    url: finalUrl,
    ...(mime && { mime_type: clip(mime, FILE_NAME_MAX) }),
    ...(totalBytes >= 0 && { bytes: totalBytes }),
  };
}

/** @param {chrome.downloads.DownloadItem} item @returns {ActionError} */
export function brokenDownload(item) {
  const { file_name } = downloadOf(item);
  const had = `${item.bytesReceived}${item.totalBytes >= 0 ? ` of ${item.totalBytes}` : ''} bytes`;
  if (item.error === 'USER_CANCELED') return new ActionError('download_failed', `the download of ${file_name} was cancelled in the browser, after ${had}`);
  return new ActionError('download_failed', `the download of ${file_name} failed after ${had} (${item.error ?? 'for no known reason'})`);
}

/** @param {string} url @returns {string} */
function lastPartOf(url) {
  return URL.canParse(url) ? lastPart(decoded(new URL(url).pathname)) : '';
}

/** @param {string} path @returns {string} */
function lastPart(path) {
  return path.split(/[/\\]/).at(-1) ?? '';
}

/** @param {string} text @returns {string} */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
