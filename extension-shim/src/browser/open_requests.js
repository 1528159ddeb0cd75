// @ts-check
// Counts the requests under way in the tabs that the debugger is attached to, and keeps how the server answered for their
// pages. Pure but for `enable` and `disable`.

import { clip } from '../lib/clip.js';
import { DOCUMENT_ANSWERS_KEPT, OPEN_REQUESTS_COUNTED, OPEN_REQUESTS_FLOOD, OPEN_REQUESTS_WINDOW_MS, OPEN_URL_KEPT } from './limits.js';

/** They stay open for as long as the page likes, and say nothing of its loading. */
const UNCOUNTED = new Set(['EventSource', 'WebSocket', 'Ping', 'CSPViolationReport', 'Preflight']);

/**
 * @typedef {object} TabRequests
 * @property {Map<string, {url: string, loaderId: string}>} open by request id
 * @property {number} quietSince when the last one ended, or one began
 * @property {{from: number, events: number}} window
 * @property {Map<string, number>} answers the HTTP status of documents by loader id, oldest first
 * @property {{url: string, status: number} | null} answered how the server answered for the page that has come since it was last forgotten
 */

export class OpenRequests {
  /** @type {Map<number, TabRequests>} */
  #tabs = new Map();
  #send;
  #isRecorded;
  #now;
  /** The last request of a tab has ended. @type {(tabId: number) => void} */
  onQuiet = () => {};

  /**
   * @param {(tabId: number, method: string, params?: object) => Promise<unknown>} send a protocol command
   * @param {(tabId: number) => boolean} isRecorded whether a recording may have switched the same source on, for more
   * @param {() => number} [now]
   */
  constructor(send, isRecorded, now = () => performance.now()) {
    this.#send = send;
    this.#isRecorded = isRecorded;
    this.#now = now;
  }

  /** Counts from now on. @param {number} tabId to which the debugger is attached */
  async count(tabId) {
    if (this.#tabs.has(tabId)) return;
    this.#tabs.set(tabId, { open: new Map(), quietSince: this.#now(), window: { from: this.#now(), events: 0 }, answers: new Map(), answered: null });
    // The page need not keep the bodies of answers for a count.
    const sizes = this.#isRecorded(tabId) ? {} : { maxTotalBufferSize: 0, maxResourceBufferSize: 0 };
    await this.#send(tabId, 'Network.enable', sizes).catch((error) => {
      this.#tabs.delete(tabId);
      throw error;
    });
  }

  /** @param {number} tabId @returns {{urls: string[], quietMs: number} | null} the requests under way, and for how long there has been none; null: they are not counted */
  now(tabId) {
    const tab = this.#tabs.get(tabId);
    if (!tab) return null;
    return { urls: [...tab.open.values()].map(({ url }) => url), quietMs: tab.open.size > 0 ? 0 : this.#now() - tab.quietSince };
  }

  /** Before a navigation: from then on only the page that it brings has a status. @param {number} tabId @returns {boolean} whether it will be known */
  awaitPage(tabId) {
    const tab = this.#tabs.get(tabId);
    if (tab) tab.answered = null;
    return tab !== undefined;
  }

  /** @param {number} tabId @returns {{url: string, status: number} | null} of the page that has come since `awaitPage`; null: it is not known */
  pageAnswer(tabId) {
    return this.#tabs.get(tabId)?.answered ?? null;
  }

  /** The debugger was let go, or a recording has switched the source off. @param {number} tabId */
  forget(tabId) {
    this.#tabs.delete(tabId);
  }

  /** @param {number} tabId @param {string} method of a protocol event @param {any} params */
  handleEvent(tabId, method, params) {
    const tab = this.#tabs.get(tabId);
    if (!tab) return;
    if (method === 'Page.frameNavigated' && !params.frame.parentId) return this.#arrive(tabId, tab, params.frame);
    if (!method.startsWith('Network.')) return;
    if (this.#isFlood(tab)) return this.#mute(tabId);
    switch (method) {
      case 'Network.requestWillBeSent':
        if (UNCOUNTED.has(params.type) || /^(data|blob):/.test(params.request.url)) return;
        tab.open.set(params.requestId, { url: clip(params.request.url, OPEN_URL_KEPT), loaderId: params.loaderId });
        tab.quietSince = this.#now();
        break;
      case 'Network.responseReceived':
        if (params.type === 'Document') keepAnswer(tab, params.loaderId, params.response);
        break;
      case 'Network.loadingFinished':
      case 'Network.loadingFailed': this.#end(tabId, tab, params.requestId); break;
      default:
    }
  }

  /** @param {number} tabId @param {TabRequests} tab @param {string} requestId */
  #end(tabId, tab, requestId) {
    const wasOpen = tab.open.delete(requestId);
    // One from before the count shows that the page was not quiet.
    tab.quietSince = this.#now();
    if (wasOpen && tab.open.size === 0) this.onQuiet(tabId);
  }

  /** Of the requests of a former page no end is told. @param {number} tabId @param {TabRequests} tab @param {{loaderId: string, url: string, urlFragment?: string}} frame of the new page */
  #arrive(tabId, tab, { loaderId, url, urlFragment = '' }) {
    const status = tab.answers.get(loaderId);
    tab.answered = status === undefined ? null : { url: url + urlFragment, status };
    for (const [id, request] of tab.open) if (request.loaderId !== loaderId) tab.open.delete(id);
    tab.quietSince = this.#now();
    if (tab.open.size === 0) this.onQuiet(tabId);
  }

  /** @param {TabRequests} tab */
  #isFlood({ window, open }) {
    const now = this.#now();
    if (now - window.from > OPEN_REQUESTS_WINDOW_MS) Object.assign(window, { from: now, events: 0 });
    window.events += 1;
    return window.events > OPEN_REQUESTS_FLOOD || open.size > OPEN_REQUESTS_COUNTED;
  }

  /** More events come than can be counted. A recording has its own measure of them. @param {number} tabId */
  #mute(tabId) {
    this.forget(tabId);
    if (!this.#isRecorded(tabId)) this.#send(tabId, 'Network.disable').catch(console.debug);
  }
}

/** @param {TabRequests} tab @param {string} loaderId @param {{url: string, status: number}} response */
function keepAnswer({ answers }, loaderId, { url, status }) {
  // Only servers answer with a status; browsers name one for files, too.
  if (/^https?:/.test(url)) answers.set(loaderId, status);
  const [oldest] = answers.keys();
  if (answers.size > DOCUMENT_ANSWERS_KEPT) answers.delete(oldest);
}
