// @ts-check
// The names by which agents call elements: letters of the tab and a number that no other element of the tab ever has.
// Each document counts its own elements; here its numbers become those of the tab.

import { once } from '../lib/once.js';
import { isAfterReload, sessionItems } from '../lib/session_items.js';
import { REF_DOCUMENTS_MAX } from './limits.js';

const KEY = 'elementRefs';
/** How many words of one letter and of two there are, and how many of three. */
const TWO_LETTERS = 26 + 26 ** 2;
const THREE_LETTERS = 26 ** 3;

/**
 * @typedef {object} RefRange numbers that follow each other
 * @property {number} id of the first in its document
 * @property {number} number of the first in the tab
 * @property {number} count
 *
 * @typedef {object} TabRefs
 * @property {string} prefix
 * @property {number} next the first number that no element has
 * @property {Record<string, RefRange[]>} documents by their ids
 *
 * @typedef {object} KnownRef
 * @property {number} tabId
 * @property {string} documentId
 * @property {number} id in its document
 */

export class ElementRefs {
  /** @type {Map<number, TabRefs>} */
  #tabs = new Map();
  #tabsSeen = 0;
  /** Those whose letters are drawn. @type {Set<number>} */
  #drawn = new Set();
  /** Called when a tab has got its letters. */
  onNewPrefix = () => {};

  /** Reads the names that an earlier worker has given. */
  restore = once(async () => {
    const { tabs, seen } = /** @type {any} */ ((await sessionItems(KEY))[KEY] ?? { tabs: [], seen: 0 });
    this.#tabs = new Map(tabs);
    this.#tabsSeen = seen;
    // A reload of the extension takes what the documents had counted with it: they begin again at 1, for other elements.
    if (await isAfterReload()) for (const tab of this.#tabs.values()) tab.documents = {};
  });

  #keep() {
    chrome.storage.session.set({ [KEY]: { tabs: [...this.#tabs], seen: this.#tabsSeen } }).catch(console.warn);
  }

  /** @param {number} tabId @returns {TabRefs} */
  #of(tabId) {
    let tab = this.#tabs.get(tabId);
    if (!tab) {
      tab = { prefix: this.#drawn.has(tabId) ? this.#drawnLetters() : this.#nextLetters(), next: 1, documents: {} };
      this.#tabs.set(tabId, tab);
      this.onNewPrefix();
    }
    return tab;
  }

  /** @returns {string} */
  #nextLetters() {
    for (;;) {
      const next = letters(this.#tabsSeen);
      this.#tabsSeen += 1;
      // `h1` to `h6` are elements of every page to a selector.
      if (next !== 'h' && !this.#isTaken(next)) return next;
    }
  }

  /** @returns {string} three of them */
  #drawnLetters() {
    for (;;) {
      const [drawn] = crypto.getRandomValues(new Uint16Array(1));
      const next = letters(TWO_LETTERS + (drawn % THREE_LETTERS));
      if (!this.#isTaken(next)) return next;
    }
  }

  /** @param {string} prefix */
  #isTaken(prefix) {
    return [...this.#tabs.values()].some((tab) => tab.prefix === prefix);
  }

  /**
   * The letters of a tab are drawn: letters in turn would tell somebody who may not see every tab how many there have been.
   * @param {number} tabId
   */
  drawLetters(tabId) {
    if (!this.#tabs.has(tabId)) this.#drawn.add(tabId);
  }

  /**
   * Names for the elements that a document has counted.
   * @param {number} tabId @param {string} documentId @param {number} ids how many it has counted; the first is 1
   * @returns {(id: number) => string}
   */
  names(tabId, documentId, ids) {
    const tab = this.#of(tabId);
    const ranges = tab.documents[documentId] ?? [];
    // Pages have dozens of empty frames, which would push out the others.
    if (ids === 0) return () => '';
    // The last that was used stands last.
    delete tab.documents[documentId];
    tab.documents[documentId] = ranges;
    const [oldest, ...others] = Object.keys(tab.documents);
    if (others.length >= REF_DOCUMENTS_MAX) delete tab.documents[oldest];
    const last = ranges.at(-1);
    const known = last ? last.id + last.count - 1 : 0;
    if (ids > known) {
      const count = ids - known;
      // The document was the last that counted: its numbers go on.
      if (last && last.number + last.count === tab.next) last.count += count;
      else ranges.push({ id: known + 1, number: tab.next, count });
      tab.next += count;
      this.#keep();
    }
    return (id) => {
      const range = ranges.findLast((one) => one.id <= id);
      return range ? `${tab.prefix}${range.number + id - range.id}` : '';
    };
  }

  /** @param {string} ref @returns {KnownRef | null} */
  find(ref) {
    const [, prefix, digits] = /^([a-z]{1,3})([1-9]\d{0,8})$/.exec(ref) ?? [];
    const number = Number(digits);
    for (const [tabId, tab] of this.#tabs) {
      if (tab.prefix !== prefix) continue;
      for (const [documentId, ranges] of Object.entries(tab.documents)) {
        const range = ranges.find((one) => number >= one.number && number < one.number + one.count);
        if (range) return { tabId, documentId, id: number - range.number + range.id };
      }
    }
    return null;
  }

  /** @param {number} tabId @returns {string | undefined} the letters that its refs begin with, once it has any */
  prefixOf(tabId) {
    return this.#tabs.get(tabId)?.prefix;
  }

  /** A tab that was discarded comes back under another id. @param {number} tabId @param {number} formerId */
  async handleReplaced(tabId, formerId) {
    await this.restore();
    const tab = this.#tabs.get(formerId);
    if (!tab) return;
    this.#tabs.delete(formerId);
    this.#tabs.set(tabId, tab);
    this.#keep();
  }

  /** @param {number} tabId */
  async handleRemoved(tabId) {
    this.#drawn.delete(tabId);
    await this.restore();
    if (this.#tabs.delete(tabId)) this.#keep();
  }
}

/** a, b … z, aa, ab … @param {number} index @returns {string} */
function letters(index) {
  const last = String.fromCharCode(97 + (index % 26));
  return index < 26 ? last : letters(Math.floor(index / 26) - 1) + last;
}
