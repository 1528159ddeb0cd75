// @ts-check
// Tabs that agents use are not unloaded by the browser meanwhile: their input would be lost. Afterwards it may again.

import { once } from '../lib/once.js';
import { sessionItems } from '../lib/session_items.js';
import { WAKEFUL_MS } from './limits.js';

const KEY = 'wakefulTabs';

export class WakefulTabs {
  /** The tabs that we keep loaded, each with the timer of its end. @type {Map<number, ReturnType<typeof setTimeout>>} */
  #timers = new Map();
  /** Whether an agent holds a tab: then it stays loaded. @type {(tabId: number) => boolean} */
  isHeld = () => false;

  /** Goes on with the tabs of an earlier worker. */
  restore = once(async () => {
    const stored = (await sessionItems(KEY))[KEY];
    for (const tabId of Array.isArray(stored) ? stored : []) this.#arm(tabId);
  });

  /** An agent uses a tab. One that the person, or another extension, keeps loaded stays as it is. @param {number} tabId */
  async use(tabId) {
    if (this.#timers.has(tabId)) return this.#arm(tabId);
    const tab = await chrome.tabs.get(tabId);
    if (!tab.autoDiscardable || this.#timers.has(tabId)) return;
    this.#arm(tabId);
    this.#keep();
    await chrome.tabs.update(tabId, { autoDiscardable: false });
  }

  /** An explicit request unloads it all the same. @param {number} added @param {number} removed */
  handleReplaced(added, removed) {
    if (!this.#forget(removed)) return;
    this.#arm(added);
    this.#keep();
    chrome.tabs.update(added, { autoDiscardable: false }).catch(console.debug);
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    if (this.#forget(tabId)) this.#keep();
  }

  /** @param {number} tabId */
  #arm(tabId) {
    clearTimeout(this.#timers.get(tabId));
    this.#timers.set(tabId, setTimeout(() => this.#end(tabId), WAKEFUL_MS));
  }

  /** @param {number} tabId */
  #end(tabId) {
    if (this.isHeld(tabId)) return this.#arm(tabId);
    this.handleRemoved(tabId);
    chrome.tabs.update(tabId, { autoDiscardable: true }).catch(console.debug);
  }

  /** @param {number} tabId @returns {boolean} whether it was kept loaded */
  #forget(tabId) {
    clearTimeout(this.#timers.get(tabId));
    return this.#timers.delete(tabId);
  }

  #keep() {
    chrome.storage.session.set({ [KEY]: [...this.#timers.keys()] }).catch(console.warn);
  }
}
