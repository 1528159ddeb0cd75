// @ts-check
// Tabs whose ids have changed: the browser gives a tab whose page it unloads another id. Agents and the daemon may still
// name it by a former one.

import { once } from '../lib/once.js';
import { sessionItems } from '../lib/session_items.js';
import { FORMER_IDS_MAX } from './limits.js';

const KEY = 'replacedTabs';

export class ReplacedTabs {
  /** The former ids of each tab, oldest first. @type {Map<number, number[]>} */
  #former = new Map();

  /** Reads the ids that an earlier worker has seen. */
  restore = once(async () => {
    const stored = (await sessionItems(KEY))[KEY];
    for (const [tabId, former] of Array.isArray(stored) ? stored : []) this.#former.set(tabId, former);
  });

  /** @param {number} added @param {number} removed */
  handleReplaced(added, removed) {
    const former = [...this.#former.get(removed) ?? [], removed].slice(-FORMER_IDS_MAX);
    this.#former.delete(removed);
    this.#former.set(added, former);
    this.#keep();
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    if (this.#former.delete(tabId)) this.#keep();
  }

  /** @param {number} tabId @returns {number} its id now */
  now(tabId) {
    for (const [id, former] of this.#former) if (former.includes(tabId)) return id;
    return tabId;
  }

  /** @param {number} tabId @returns {number[]} */
  formerIds(tabId) {
    return this.#former.get(tabId) ?? [];
  }

  #keep() {
    chrome.storage.session.set({ [KEY]: [...this.#former] }).catch(console.warn);
  }
}
