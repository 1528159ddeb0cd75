// @ts-check
// Local files: closed to agents, except in folders that the person has opened. Where a file really is,
// only the daemon can find out, so the worker asks it about each file. Without an answer a file is closed.

/** @import {FileVerdictFrame, LocalFilesFrame} from '../../types/protocol.js' */

import { FILE_ANSWER_MS, FILE_CHECK_MAX, FILES_KNOWN_MAX } from './limits.js';
import { fileIn } from './sites.js';

/** @typedef {{enabled: boolean, folders: string[]}} OpenFolders */

export class LocalFiles {
  /** Null until the daemon has sent them. @type {OpenFolders | null} */
  #open = null;
  /** The last verdict on each file. @type {Map<string, boolean>} */
  #verdicts = new Map();
  /** Questions that wait for their answer. @type {Map<number, (admitted: boolean[]) => void>} */
  #asked = new Map();
  #lastCheck = 0;
  /** Files that callers who could not wait have caused a question about. @type {Set<string>} */
  #telling = new Set();
  /** Counts the changes that make former verdicts void. */
  #generation = 0;
  /** Files that frames of a tab have shown since its page came. @type {Map<number, Set<string>>} */
  #framed = new Map();
  /** Why the person's last change does not count. */
  problem = '';
  /** @type {(text: string) => boolean} false: no daemon is connected */
  send = () => false;
  /** Files may be open or closed now that were not before. */
  onChange = () => {};

  /** For the popup. @returns {OpenFolders | null} null: no daemon has sent them yet */
  get open() {
    return this.#open;
  }

  /** @param {LocalFilesFrame} frame */
  handleRules({ enabled, folders, problem = '' }) {
    this.#open = { enabled, folders };
    this.problem = problem;
    this.#generation += 1;
    this.#verdicts.clear();
    this.onChange();
  }

  /** @param {FileVerdictFrame} frame */
  handleVerdict({ check, admitted }) {
    this.#asked.get(check)?.(admitted);
  }

  /** There is no daemon any more that could be asked. */
  handleLost() {
    this.#open = null;
    this.#generation += 1;
    this.#verdicts.clear();
    // An empty answer closes every file that was asked about.
    for (const answer of this.#asked.values()) answer([]);
  }

  /** A page, or a frame in one, has come. @param {{tabId: number, frameId: number, url: string}} details */
  handleCommitted({ tabId, frameId, url }) {
    if (frameId === 0) this.#framed.delete(tabId);
    const file = fileIn(url);
    if (file === null) return;
    if (frameId !== 0) this.#framed.set(tabId, (this.#framed.get(tabId) ?? new Set()).add(file));
    this.#learnAndTell([file]);
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    this.#framed.delete(tabId);
  }

  /** The files that frames of the page have shown, also those that are gone again. @param {number} tabId @returns {string[]} */
  framedIn(tabId) {
    return [...this.#framed.get(tabId) ?? []];
  }

  /** Whether agents may see a file, by the last verdict. @param {string} file as `fileIn` gives it */
  admits(file) {
    const known = this.#verdicts.get(file);
    // A caller that cannot wait gets "no", and asks again when the daemon has answered.
    if (known === undefined) this.#learnAndTell([file]);
    return known ?? false;
  }

  /** Asks the daemon anew about all files among these URLs. @param {string[]} urls @returns {Promise<void>} */
  async learn(urls) {
    const files = [...new Set(urls.map(fileIn))].filter((file) => file !== null);
    if (files.length === 0) return;
    const generation = this.#generation;
    const admitted = await this.#ask(files);
    // The verdicts follow rules that are void by now.
    if (generation !== this.#generation) return this.learn(files);
    files.forEach((file, index) => this.#note(file, admitted[index] === true));
  }

  /** @param {string[]} files */
  #learnAndTell(files) {
    const fresh = files.filter((file) => !this.#telling.has(file));
    if (!this.#mayAnyBeOpen || fresh.length === 0) return;
    for (const file of fresh) this.#telling.add(file);
    this.learn(fresh).then(() => {
      for (const file of fresh) this.#telling.delete(file);
      this.onChange();
    }).catch(console.warn);
  }

  get #mayAnyBeOpen() {
    return this.#open !== null && this.#open.enabled && this.#open.folders.length > 0;
  }

  /** @param {string[]} urls @returns {Promise<boolean[]>} fewer than were asked about: there is no answer */
  #ask(urls) {
    this.#lastCheck += 1;
    const check = this.#lastCheck;
    if (!this.#mayAnyBeOpen || urls.length > FILE_CHECK_MAX) return Promise.resolve([]);
    return new Promise((resolve) => {
      const timer = setTimeout(() => answer([]), FILE_ANSWER_MS);
      const answer = (/** @type {boolean[]} */ admitted) => {
        clearTimeout(timer);
        this.#asked.delete(check);
        resolve(admitted);
      };
      this.#asked.set(check, answer);
      if (!this.send(JSON.stringify({ type: 'file_check', check, urls }))) answer([]);
    });
  }

  /** @param {string} file @param {boolean} isAdmitted */
  #note(file, isAdmitted) {
    this.#verdicts.delete(file);
    this.#verdicts.set(file, isAdmitted);
    if (this.#verdicts.size <= FILES_KNOWN_MAX) return;
    // Each verdict is entered anew when it is renewed, so the first one is the oldest.
    const [oldest] = this.#verdicts.keys();
    this.#verdicts.delete(oldest);
  }
}
