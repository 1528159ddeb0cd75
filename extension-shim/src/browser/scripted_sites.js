// @ts-check
// Where scripts of agents have run: a document that one may have touched can hold code in the addresses of its links. A
// script reaches all documents of its host, so hosts are noted, with the time of the last script.

/** @import {SeenDocument} from './page_world.js' */

import { once } from '../lib/once.js';
import { within } from '../lib/within.js';
import { FRAME_ANSWER_MS, SCRIPTED_HOSTS_MAX } from './limits.js';

const KEY = 'scripted';

export class ScriptedSites {
  /** Unix time in ms of the last script, the host of the oldest first. @type {Map<string, number>} */
  #hosts = new Map();

  restore = once(async () => {
    const stored = (await chrome.storage.session.get(KEY))[KEY];
    for (const [host, at] of Array.isArray(stored) ? stored : []) if (!this.#hosts.has(host)) this.#hosts.set(host, at);
  });

  /** A script is about to run on a page. @param {string} url */
  note(url) {
    const host = hostOf(url);
    this.#hosts.delete(host);
    this.#hosts.set(host, Date.now());
    for (const oldest of [...this.#hosts.keys()].slice(0, -SCRIPTED_HOSTS_MAX)) this.#hosts.delete(oldest);
    chrome.storage.session.set({ [KEY]: [...this.#hosts] }).catch(console.warn);
  }

  /** Whether a script may have touched a document: one ran on its host after the document came. @param {number} tabId @param {SeenDocument} document */
  async mayHaveTouched(tabId, { documentId, url }) {
    await this.restore();
    const last = this.#hosts.get(hostOf(url));
    if (last === undefined) return false;
    const asked = chrome.scripting.executeScript({ target: { tabId, documentIds: [documentId] }, func: () => performance.timeOrigin, injectImmediately: true });
    // One that does not answer is taken for touched.
    const origin = await within(FRAME_ANSWER_MS, asked).then(([{ result }]) => Number(result ?? 0), () => 0);
    return last >= origin;
  }
}

/** @param {string} url @returns {string} */
function hostOf(url) {
  return URL.canParse(url) ? new URL(url).host : '';
}

export const scriptedSites = new ScriptedSites();
