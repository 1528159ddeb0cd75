// @ts-check
// What an act sets off in the browser: navigations, tabs, downloads. An act is over once they have come: until then its
// answer waits, and for nothing else.

/** @import {SeenDocument} from '../browser/page_world.js' */
/** @import {Download, DownloadItem} from '../browser/downloads.js' */

import { downloadOf } from '../browser/downloads.js';
import { tabs } from '../browser/state.js';
import { BEGIN_MS } from './limits.js';

/**
 * @typedef {{tabId: number, frameId: number, url: string, error?: string, documentLifecycle?: string}} FrameEvent
 *
 * @typedef {object} ToldEffects for the answer
 * @property {string} [navigated] where the tab is now
 * @property {true} [loading] that page is still on its way
 * @property {string} [navigation_failed] why the page did not come
 * @property {number | number[]} [new_tab]
 * @property {Download} [download]
 */

class EffectWatch {
  /** Frames that go to another page. @type {Set<number>} */
  #loading = new Set();
  /** Requests of the page that have not led to anything yet. */
  #requested = { page: 0, tab: 0, download: 0 };
  /** @type {number[]} */
  newTabs = [];
  /** @type {DownloadItem | null} */
  download = null;
  /** @type {string | null} */
  failure = null;
  hasNewPage = false;
  /** @type {() => void} */
  #changed = () => {};
  #owner;

  /** @param {ActEffects} owner @param {number} tabId @param {SeenDocument} page before the act @param {number | undefined} activeTab of its window */
  constructor(owner, tabId, page, activeTab) {
    this.#owner = owner;
    this.tabId = tabId;
    this.page = page;
    this.activeTab = activeTab;
  }

  end() {
    this.#owner.forget(this);
  }

  /** @param {'page' | 'tab' | 'download'} what the page has asked for */
  request(what) {
    this.#requested[what] += 1;
    // Refused, it never comes.
    setTimeout(() => this.arrive(what), BEGIN_MS);
  }

  /** @param {'page' | 'tab' | 'download'} what */
  arrive(what) {
    this.#requested[what] = 0;
    this.#changed();
  }

  /** @param {number} frameId */
  begin(frameId) {
    this.#loading.add(frameId);
    this.arrive('page');
  }

  /** @param {number} frameId */
  finish(frameId) {
    this.#loading.delete(frameId);
    this.#changed();
  }

  get #isPending() {
    const { page, tab, download } = this.#requested;
    return this.#loading.size > 0 || page + tab + download > 0;
  }

  /**
   * Waits until all that has begun is there.
   * @param {boolean} isGone the document of the target is @param {number} patienceMs @param {AbortSignal} signal @returns {Promise<ToldEffects>}
   */
  async settled(isGone, patienceMs, signal) {
    const end = performance.now() + patienceMs;
    while (this.#isPending && performance.now() < end && !signal.aborted) await this.#change(end - performance.now(), signal);
    const frame = await chrome.webNavigation.getFrame({ tabId: this.tabId, frameId: 0 }).catch(() => null);
    const isElsewhere = frame !== null && (frame.documentId !== this.page.documentId || frame.url !== this.page.url);
    const [newTab, ...others] = this.newTabs;
    return {
      ...((isElsewhere || (isGone && this.hasNewPage)) && this.failure === null && { navigated: frame?.url }),
      ...(this.#isPending && { loading: /** @type {const} */ (true) }),
      ...(this.failure !== null && !this.download && { navigation_failed: this.failure }),
      ...(newTab !== undefined && { new_tab: others.length > 0 ? this.newTabs : newTab }),
      ...(this.download && { download: downloadOf(this.download) }),
    };
  }

  /** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
  #change(ms, signal) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#changed = () => {
        clearTimeout(timer);
        resolve();
      };
      signal.addEventListener('abort', this.#changed, { once: true });
    });
  }
}

export class ActEffects {
  /** @type {Map<number, EffectWatch>} lanes see to it that a tab has one command at a time */
  #watches = new Map();

  /** Call before the act: a fast navigation would be over. @param {number} tabId @param {SeenDocument} page @returns {EffectWatch} */
  watch(tabId, page) {
    const watch = new EffectWatch(this, tabId, page, tabs.activeBeside(tabId));
    this.#watches.set(tabId, watch);
    return watch;
  }

  /** @param {EffectWatch} watch */
  forget(watch) {
    if (this.#watches.get(watch.tabId) === watch) this.#watches.delete(watch.tabId);
  }

  /** The page tells the debugger before the browser tells extensions. @param {{tabId?: number}} source @param {string} method @param {any} params */
  handleDebuggerEvent({ tabId }, method, params) {
    const watch = tabId === undefined ? undefined : this.#watches.get(tabId);
    if (!watch) return;
    if (method === 'Page.windowOpen') watch.request('tab');
    if (method === 'Page.frameRequestedNavigation') watch.request(params.disposition === 'currentTab' ? 'page' : params.disposition === 'download' ? 'download' : 'tab');
    if (method === 'Page.navigatedWithinDocument') watch.arrive('page');
  }

  /** @param {FrameEvent} details */
  handleBeforeNavigate({ tabId, frameId, documentLifecycle }) {
    if (documentLifecycle !== 'prerender') this.#watches.get(tabId)?.begin(frameId);
  }

  /** @param {FrameEvent} details */
  handleDomReady({ tabId, frameId }) {
    const watch = this.#watches.get(tabId);
    if (watch && frameId === 0) watch.hasNewPage = true;
    watch?.finish(frameId);
  }

  /** @param {FrameEvent} details */
  handleErrorOccurred({ tabId, frameId, url, error = '' }) {
    const watch = this.#watches.get(tabId);
    if (!watch) return;
    if (error === 'net::ERR_ABORTED') {
      // Of a load that becomes a download the browser reports the end first.
      watch.request('download');
    } else if (frameId === 0) watch.failure = `${url} did not load: ${error}`;
    watch.finish(frameId);
  }

  /** @param {{sourceTabId: number, tabId: number}} details */
  handleNewTarget({ sourceTabId, tabId }) {
    const watch = this.#watches.get(sourceTabId);
    if (!watch) return;
    watch.newTabs.push(tabId);
    watch.arrive('tab');
    // It has come to the front, where the person is: their tab is shown again, unless the act was in it.
    if (watch.activeTab !== undefined) showAgain(watch.activeTab, tabId).catch(console.debug);
  }

  /** The browser does not name the tab of a download. @param {DownloadItem & {referrer?: string}} item */
  handleDownload(item) {
    for (const watch of this.#watches.values()) {
      if (!isOf(item, watch.page.url)) continue;
      watch.download = item;
      watch.arrive('download');
    }
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    this.#watches.get(tabId)?.finish(0);
  }
}

/** @param {{url: string, referrer?: string}} item @param {string} page */
function isOf({ url, referrer }, page) {
  const { origin } = new URL(page);
  // A page may keep its address from the sites that it links to.
  return !referrer || (URL.canParse(referrer) && new URL(referrer).origin === origin) || url.startsWith(`blob:${origin}`);
}

/** @param {number} tabId @param {number} over */
async function showAgain(tabId, over) {
  const { active, windowId } = await chrome.tabs.get(over);
  const { windowId: home } = await chrome.tabs.get(tabId);
  if (active && windowId === home) await chrome.tabs.update(tabId, { active: true });
}

export const actEffects = new ActEffects();
