// @ts-check
// Where scripts of agents have run: a document that one may have touched can hold code in the addresses of its links. A
// script reaches all documents of its host, so hosts are noted, with the time of the last script. One on a page without a
// host, such as an empty one, may reach those of any.

/** @import {SeenDocument} from './page_world.js' */

import { once } from '../lib/once.js';
import { sessionItems } from '../lib/session_items.js';
import { within } from '../lib/within.js';
import { hidesOwner, shownPlace } from '../policy/sites.js';
import { FRAME_ANSWER_MS, SCRIPTED_AHEAD_MS, SCRIPTED_HOSTS_MAX } from './limits.js';
import { judgedAddress } from './page_world.js';

const KEY = 'scripted';
const UNTOLD = { came: 0, origin: '' };

/**
 * @typedef {object} ScriptTime
 * @property {number} at Unix time in ms of the last script
 * @property {number} kept the time that is stored for the next worker: this one or a later one
 */

export class ScriptedSites {
  /** By host, that of the oldest first. @type {Map<string, ScriptTime>} */
  #hosts = new Map();

  restore = once(async () => {
    const stored = (await sessionItems(KEY))[KEY];
    for (const [host, at] of Array.isArray(stored) ? stored : []) if (!this.#hosts.has(host)) this.#hosts.set(host, { at, kept: at });
  });

  /** A script is about to run on a page, or a rule of an agent answers one. @param {string} url */
  note(url) {
    const [host, at] = [hostOf(url), Date.now()];
    const kept = this.#hosts.get(host)?.kept ?? -1;
    this.#hosts.delete(host);
    this.#hosts.set(host, { at, kept: at <= kept ? kept : at + SCRIPTED_AHEAD_MS });
    for (const oldest of [...this.#hosts.keys()].slice(0, -SCRIPTED_HOSTS_MAX)) this.#hosts.delete(oldest);
    // A write holds up the script that it is for, so it counts for the next ones, too.
    if (at > kept) chrome.storage.session.set({ [KEY]: [...this.#hosts].map(([one, time]) => [one, time.kept]) }).catch(console.warn);
  }

  /**
   * The address by which rules judge code that a document holds, if a script of an agent may have put it there: one ran on its
   * host after it, or a document of the same host around it, had come. @param {number} tabId @param {SeenDocument} document
   * @returns {Promise<string | null>} null: none may have
   */
  async touched(tabId, document) {
    await this.restore();
    const { came, origin } = await lookAt(tabId, document);
    // Only an empty page itself knows who has made it.
    const address = !document.around && hidesOwner(document.url) && isWebAddress(origin) ? origin : judgedAddress(document);
    const host = hostOf(address);
    const last = Math.max(this.#hosts.get(host)?.at ?? -1, this.#hosts.get('')?.at ?? -1);
    let first = came;
    for (let around = document.around; around; around = around.around) {
      if (hostOf(judgedAddress(around)) === host) first = Math.min(first, (await lookAt(tabId, around)).came);
    }
    return last >= first ? address : null;
  }
}

/** @param {number} tabId @param {SeenDocument} document @returns {Promise<{came: number, origin: string}>} */
async function lookAt(tabId, { documentId, url, around }) {
  const asked = chrome.scripting.executeScript({ target: { tabId, documentIds: [documentId] }, func: () => ({ came: performance.timeOrigin, origin: self.origin }), injectImmediately: true });
  // One that does not answer is taken for touched, and so is a page that a script may have made.
  const told = await within(FRAME_ANSWER_MS, asked).then(([{ result }]) => result ?? UNTOLD, () => UNTOLD);
  return around || isWebAddress(url) ? told : { ...told, came: 0 };
}

/** @param {string} url */
function isWebAddress(url) {
  return /^https?:/.test(url);
}

/** @param {string} url @returns {string} with its port; empty: it is of none */
function hostOf(url) {
  const { host, port } = shownPlace(url);
  return host && `${host}:${port}`;
}

export const scriptedSites = new ScriptedSites();
