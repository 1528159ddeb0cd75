// @ts-check
// What an act sets off in the browser: navigations, tabs, downloads. An act is over once they have come: its answer
// waits for them, and for nothing else.

/** @import {SeenDocument} from '../browser/page_world.js' */
/** @import {Download, DownloadItem} from '../browser/downloads.js' */

import { downloadOf } from '../browser/downloads.js';
import { frontWindow, policy, tabDownloads, tabs } from '../browser/state.js';
import { BEGIN_MS } from './limits.js';

/**
 * @typedef {{tabId: number, frameId: number, url: string, error?: string, documentLifecycle?: string}} FrameEvent
 *
 * @typedef {object} ToldEffects for the answer
 * @property {string} [navigated] where the tab is now
 * @property {string} [loading] the page that is still on its way
 * @property {string} [navigation_failed] why a page did not come
 * @property {number | number[]} [new_tab]
 * @property {Download} [download]
 * @property {string} [file_chooser] one was asked for, and not shown
 */

/** Reasons of the browser for a navigation that somebody has asked for by an act. */
const ASKED = /^(anchorClick|formSubmission)/;

export class EffectWatch {
  /** Frames that go to another page, and where to. @type {Map<number, string>} */
  #loading = new Map();
  /** The page has asked for it, and it has not begun. */
  #requested = { page: 0, tab: 0, download: 0 };
  /** Where frames were sent to by links and forms. @type {Set<string>} */
  asked = new Set();
  /** @type {number[]} */
  #newTabs = [];
  /** @type {DownloadItem | null} */
  #download = null;
  /** @type {string | null} */
  failure = null;
  hasChooser = false;
  #isLeaving = false;
  /** @type {() => void} */
  #changed = () => {};
  #owner;

  /** Before the act; null: it has not begun. @type {SeenDocument | null} */
  page = null;

  /** @param {ActEffects} owner @param {number} tabId @param {number | undefined} activeTab the tab that is seen in its window, if it is another one @param {boolean} seesAll tabs */
  constructor(owner, tabId, activeTab, seesAll) {
    this.#owner = owner;
    this.seesAll = seesAll;
    this.tabId = tabId;
    this.activeTab = activeTab;
  }

  end() {
    this.#owner.forget(this);
  }

  /** @param {'page' | 'tab' | 'download'} what the page has asked for */
  request(what) {
    if (what !== 'download' || !this.#download) this.#await(what);
  }

  /** @param {'page' | 'tab' | 'download'} what */
  #await(what) {
    this.#requested[what] += 1;
    // Refused, it never comes.
    setTimeout(() => this.arrive(what), BEGIN_MS);
  }

  /** @param {'page' | 'tab' | 'download'} what */
  arrive(what) {
    this.#requested[what] = 0;
    this.#changed();
  }

  /** @param {number} frameId @param {string} url */
  begin(frameId, url) {
    // Frames with advertisements come and go by themselves.
    if (frameId !== 0 && !this.asked.has(url)) return;
    this.#loading.set(frameId, url);
    this.arrive('page');
  }

  /** @param {number} frameId */
  finish(frameId) {
    this.#loading.delete(frameId);
    this.#changed();
  }

  /** @param {number} tabId */
  addTab(tabId) {
    this.#newTabs.push(tabId);
    this.#requested.tab += 1;
    // The daemon refuses calls for tabs that it does not know, and the next call may name this one.
    tabs.tellNow().catch(console.debug).finally(() => this.arrive('tab'));
  }

  /** @param {DownloadItem} item */
  addDownload(item) {
    this.#download = item;
    this.arrive('download');
    // The browser chooses its name a moment later.
    if (!item.filename) this.#await('download');
  }

  /** @param {{id: number, filename?: {current?: string}}} change */
  nameDownload({ id, filename }) {
    if (this.#download?.id !== id || !filename?.current) return;
    this.#download = { ...this.#download, filename: filename.current };
    this.arrive('download');
  }

  /** The page asks before it is left. Unless that is accepted, it stays. */
  askLeaving() {
    this.#isLeaving = true;
    this.failure = 'the page asks before it is left, since input there is not saved';
    this.arrive('page');
  }

  /** @param {boolean} accepted the question before the page is left */
  handleLeaving(accepted) {
    if (this.#isLeaving && accepted) {
      this.failure = null;
      this.#await('page');
    }
    this.#isLeaving = false;
  }

  /** The page has been sent there by a link, a form or a script. @param {string} url */
  ask(url) {
    this.asked.add(url);
    if (this.#loading.size === 0) this.request('page');
  }

  /** Whether anything has begun, there by now or not. */
  get hasBegun() {
    return this.isPending || this.#newTabs.length > 0 || this.#download !== null || this.failure !== null;
  }

  /** @param {SeenDocument} page in which an act begins; the first counts */
  beginIn(page) {
    this.page ??= page;
  }

  /** Whether something has begun that is not there yet. */
  get isPending() {
    const { page, tab, download } = this.#requested;
    return this.#loading.size > 0 || page + tab + download > 0;
  }

  /** Waits until all that has begun is there. @param {number} patienceMs @param {AbortSignal} signal @returns {Promise<ToldEffects>} */
  async settled(patienceMs, signal) {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#changed();
    }, patienceMs);
    while (this.isPending && !isLate && !signal.aborted) await this.#change(signal);
    clearTimeout(timer);
    const loading = this.#loading.get(0);
    if (loading !== undefined) await policy.admitIn(this.tabId, loading, { ran: true });
    const frame = await chrome.webNavigation.getFrame({ tabId: this.tabId, frameId: 0 }).catch(() => null);
    return this.told(frame, loading);
  }

  /** @param {{documentId?: string, url: string} | null} frame the page as it is now; null: the same @param {string} [loading] the page that is on its way @returns {ToldEffects} */
  told(frame, loading) {
    const isElsewhere = frame !== null && this.page !== null && (frame.documentId !== this.page.documentId || frame.url !== this.page.url);
    const [newTab, ...others] = this.#newTabs;
    return {
      ...(isElsewhere && this.failure === null && { navigated: frame.url }),
      ...(loading !== undefined && { loading }),
      ...(this.failure !== null && !this.#download && newTab === undefined && { navigation_failed: this.failure }),
      ...(newTab !== undefined && { new_tab: others.length > 0 ? this.#newTabs : newTab }),
      ...(this.#download && { download: downloadOf(this.#download) }),
      ...(this.hasChooser && { file_chooser: 'not shown: give the files with upload_file' }),
    };
  }

  /** @param {AbortSignal} signal @returns {Promise<void>} */
  #change(signal) {
    return new Promise((resolve) => {
      this.#changed = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

export class ActEffects {
  /** @type {Map<number, EffectWatch>} lanes see to it that a tab has one command at a time */
  #watches = new Map();

  /**
   * Call before the act: a fast navigation would be over.
   * @param {number} tabId @param {number | undefined} activeTab the tab that is seen in its window @param {boolean} seesAll whether the act may see every tab @returns {EffectWatch}
   */
  watch(tabId, activeTab, seesAll) {
    const watch = new EffectWatch(this, tabId, activeTab === tabId ? undefined : activeTab, seesAll);
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
    if (method === 'Page.frameRequestedNavigation') handleRequested(watch, params);
    if (method === 'Page.navigatedWithinDocument') watch.arrive('page');
    if (method === 'Page.javascriptDialogClosed') watch.handleLeaving(params.result);
    if (method === 'Page.javascriptDialogOpening' && params.type === 'beforeunload') watch.askLeaving();
  }

  /** @param {FrameEvent} details */
  handleBeforeNavigate({ tabId, frameId, url, documentLifecycle }) {
    if (documentLifecycle === 'prerender') return;
    const watch = this.#watches.get(tabId);
    if (watch && frameId === 0) watch.failure = null;
    watch?.begin(frameId, url);
  }

  /** @param {FrameEvent} details */
  handleDomReady({ tabId, frameId }) {
    this.#watches.get(tabId)?.finish(frameId);
  }

  /** @param {FrameEvent} details */
  handleErrorOccurred({ tabId, frameId, url, error = '' }) {
    const watch = this.#watches.get(tabId);
    if (!watch) return;
    const isAborted = error === 'net::ERR_ABORTED';
    // Of a load that becomes a download the browser reports the end first.
    if (isAborted && /^(https?|blob|file|data):/.test(url)) watch.request('download');
    const shown = policy.blocksIn(tabId, url) ? 'a page that agents may not see' : url;
    if (frameId === 0) watch.failure = isAborted ? `${shown} brought no page` : `${shown} did not load: ${error}`;
    watch.finish(frameId);
  }

  /** @param {{sourceTabId: number, tabId: number}} details */
  handleNewTarget({ sourceTabId, tabId }) {
    const watch = this.#watches.get(sourceTabId);
    if (!watch) return;
    watch.addTab(tabId);
    // It has come to the front: what the person was in is shown again, unless the act was in that.
    showAgain(watch, tabId).catch(console.debug);
  }

  /** The browser does not name the tab of a download. @param {DownloadItem & {referrer?: string}} item @returns {number[]} the tabs that it is of */
  handleDownload(item) {
    const begunBy = [...this.#watches.values()].filter((watch) => watch.asked.has(item.url) || (watch.page && tabDownloads.belongs(item, watch.tabId, watch.page.url, watch.seesAll)));
    for (const watch of begunBy) watch.addDownload(item);
    return begunBy.map(({ tabId }) => tabId);
  }

  /** @param {{id: number, filename?: {current?: string}}} change */
  handleDownloadChanged(change) {
    for (const watch of this.#watches.values()) watch.nameDownload(change);
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    this.#watches.get(tabId)?.finish(0);
  }
}

/** @param {EffectWatch} watch @param {{disposition: string, reason: string, url: string}} params */
function handleRequested(watch, { disposition, reason, url }) {
  if (reason === 'initialFrameNavigation') return;
  if (ASKED.test(reason)) watch.asked.add(url);
  if (disposition === 'currentTab') watch.request('page');
  else watch.request(disposition === 'download' ? 'download' : 'tab');
}

/** @param {EffectWatch} watch @param {number} over the new tab */
async function showAgain({ tabId, activeTab }, over) {
  const [{ active, windowId }, { windowId: home }] = await Promise.all([chrome.tabs.get(over), chrome.tabs.get(tabId)]);
  if (windowId !== home) frontWindow.keepBehind(windowId, { home, isSeen: activeTab === undefined });
  else if (active && activeTab !== undefined) await chrome.tabs.update(activeTab, { active: true });
}

export const actEffects = new ActEffects();
