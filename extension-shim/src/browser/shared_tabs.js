// @ts-check
// The tabs that the person shares with agents who do not see every tab: until the person takes one back, until it goes to
// another site or is closed, and until the browser is started anew, since session storage goes with it.

import { once } from '../lib/once.js';
import { sessionItems } from '../lib/session_items.js';
import { originOf } from '../policy/pages.js';

const KEY = 'sharedTabs';

export class SharedTabs {
  /** What each showed when it was shared. @type {Map<number, string>} */
  #origins = new Map();
  /** Called with all of them when they are others. @type {(tabIds: number[]) => void} */
  onChange = () => {};

  /** Reads what an earlier worker knew. It may have ended before it heard where a tab went. */
  restore = once(async () => {
    const kept = /** @type {[number, string][]} */ ((await sessionItems(KEY))[KEY] ?? []);
    const still = await Promise.all(kept.map(async ([tabId, origin]) => (await originNow(tabId)) === origin));
    for (const [at, one] of kept.entries()) if (still[at]) this.#origins.set(...one);
  });

  get list() {
    return [...this.#origins.keys()];
  }

  /** @param {number} tabId that the person shows to agents @returns {Promise<boolean>} false: it shows no page of a site */
  async share(tabId) {
    await this.restore();
    const origin = await originNow(tabId);
    if (!origin) return false;
    this.#origins.set(tabId, origin);
    this.#changed();
    return true;
  }

  /** @param {number} tabId */
  async takeBack(tabId) {
    await this.restore();
    if (this.#origins.delete(tabId)) this.#changed();
  }

  /** @param {number} tabId @returns {string | undefined} the site at which it is shared */
  sharedAt(tabId) {
    return this.#origins.get(tabId);
  }

  /**
   * The event may come after what the new page was asked. @param {number} tabId
   * @param {string} origin at which it was shared when a command came to it @returns {Promise<boolean>} whether it still is
   */
  async confirm(tabId, origin) {
    const now = await originNow(tabId);
    if (now === origin) return this.#origins.get(tabId) === origin;
    // A closed one shows nothing more.
    if (now === null) return true;
    // Meanwhile the person may have shared the next page.
    if (this.#origins.get(tabId) === origin) await this.takeBack(tabId);
    return false;
  }

  /** @param {{tabId: number, frameId: number, url: string, documentLifecycle?: string}} details */
  handleCommitted({ tabId, frameId, url, documentLifecycle }) {
    if (frameId !== 0 || documentLifecycle === 'prerender') return;
    const end = () => {
      const origin = this.#origins.get(tabId);
      if (origin !== undefined && siteOf(url) !== origin && this.#origins.delete(tabId)) this.#changed();
    };
    // At once: the daemon is to hear of it before it hears of the new page.
    end();
    this.restore().then(end, console.warn);
  }

  /** The browser has given a tab another id. @param {number} added @param {number} removed */
  async handleReplaced(added, removed) {
    await this.restore();
    const origin = this.#origins.get(removed);
    if (origin === undefined) return;
    this.#origins.delete(removed);
    this.#origins.set(added, origin);
    this.#changed();
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    this.takeBack(tabId).catch(console.warn);
  }

  #changed() {
    chrome.storage.session.set({ [KEY]: [...this.#origins] }).catch(console.warn);
    this.onChange(this.list);
  }
}

/** @param {number} tabId @returns {Promise<string | undefined | null>} undefined: it shows no page of a site; null: it is not open */
async function originNow(tabId) {
  const tab = await chrome.tabs.get(tabId).catch(() => null);
  // A private tab is nobody's but the person's, or the owner's who opened it.
  return tab && (tab.incognito ? undefined : siteOf(tab.url ?? ''));
}

/** @param {string} url @returns {string | undefined} */
function siteOf(url) {
  return /^https?:/i.test(url) ? originOf(url) : undefined;
}
