// @ts-check
// Downloads: their description, and which tab began them.

/** @import {Policy} from '../policy/policy.js' */

import { clip, headOf } from '../lib/clip.js';
import { originOf } from '../policy/pages.js';
import { DOWNLOAD_URL_KEPT, DOWNLOADS_MAX, FILE_NAME_MAX } from './limits.js';

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

/** The downloads that the pages of a tab have begun. The browser's own list does not name the tab. */
export class TabDownloads {
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
   * @param {{finalUrl: string, referrer?: string}} item @param {number} tabId @param {string} pageUrl
   */
  belongs({ finalUrl, referrer }, tabId, pageUrl) {
    const url = headOf(finalUrl, DOWNLOAD_URL_KEPT);
    if (this.#begun.some((begun) => begun.tabId === tabId && begun.url === url)) return true;
    return Boolean(referrer) && originOf(referrer) !== 'null' && originOf(referrer) === originOf(pageUrl);
  }

  /**
   * The newest download that the tab has begun and no wait has told of. A download from a denied site is none.
   * @param {number} tabId @param {string} pageUrl @param {number} since unix time in ms @returns {Promise<chrome.downloads.DownloadItem | undefined>}
   */
  async newest(tabId, pageUrl, since) {
    const items = await chrome.downloads.search({ startedAfter: new Date(since).toISOString(), orderBy: ['-startTime'], limit: DOWNLOADS_MAX });
    return items.find((item) => !this.#told.has(item.id) && this.belongs(item, tabId, pageUrl) && !this.#policy.blocks(item.url) && !this.#policy.blocks(item.finalUrl));
  }

  /** @param {number} id of a download that is told of */
  tell(id) {
    this.#told.add(id);
  }
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
