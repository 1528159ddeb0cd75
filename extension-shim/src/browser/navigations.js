// @ts-check
// Follows one navigation of one tab through the browser's events to its end.

/** @import {Policy} from '../policy/policy.js' */
/** @import {Download, DownloadItem} from './downloads.js' */

import { ActionError, closedMeanwhile, crashedTab } from '../lib/errors.js';
import { fileIn } from '../policy/sites.js';
import { downloadOf } from './downloads.js';
import { DOWNLOAD_MS } from './limits.js';

/**
 * @typedef {{tabId: number, url: string, frameId: number, documentId?: string, documentLifecycle?: string, error?: string,
 *   transitionQualifiers?: string[]}} NavigationDetails
 * @typedef {{url: string, after?: string} | 'reload' | 'history'} Aim where a navigation goes, as far as that is
 *   known before; `after`: a load that may still be under way and is not ours
 *
 * @typedef {{url: string, status: number}} ServerAnswer the server's, for the page at this URL
 *
 * @typedef {object} Arrival how a navigation ended
 * @property {string | null} from the URL that it began with; null if no load began
 * @property {Download} [download] the download that came instead of a page
 * @property {Promise<ServerAnswer | null>} [answered] of the page that came; null: no server has answered
 */

/**
 * @typedef {object} NavigationWatch
 * @property {number} tabId
 * @property {Aim} aim
 * @property {string | null} from the URL that it began with, null before ours has begun
 * @property {string | null} current the URL that the load under way began with, null before ours has begun
 * @property {boolean} hasPage the load under way has brought a document
 * @property {DownloadItem | null} download the load under way has become one
 * @property {(document: {url: string, documentId?: string}) => void} onDocument
 * @property {(arrival: Arrival) => void} done
 * @property {(error: unknown) => void} failed
 */

export class Navigations {
  /** @type {Map<number, NavigationWatch>} lanes see to it that a tab has one command at a time */
  #watches = new Map();
  #policy;

  /** @param {Policy} policy */
  constructor(policy) {
    this.#policy = policy;
  }

  /**
   * Call before the navigation is asked for: a fast one would be over.
   * @param {number} tabId @param {Aim} aim @param {AbortSignal} signal @param {NavigationWatch['onDocument']} [onDocument] is told each document
   *   that comes on the way, while it loads
   * @returns {Promise<Arrival>} resolves when the page and all it needs have loaded, or a download has begun
   */
  follow(tabId, aim, signal, onDocument = () => {}) {
    return /** @type {Promise<Arrival>} */ (new Promise((done, failed) => {
      this.#watches.set(tabId, { tabId, aim, from: null, current: null, hasPage: false, download: null, onDocument, done, failed });
      signal.addEventListener('abort', () => failed(signal.reason));
    })).finally(() => this.#watches.delete(tabId));
  }

  /** @param {NavigationDetails} details */
  handleBeforeNavigate(details) {
    const watch = this.#ours(details);
    // A page that sends the visitor on while it loads begins another: then that one counts.
    if (!watch) return;
    watch.from ??= details.url;
    Object.assign(watch, { current: details.url, hasPage: false, download: null });
    this.#follow(watch, details.url, { isComing: true });
  }

  /** A load that becomes a download ends before the browser reports the download. @param {DownloadItem} item @returns {number[]} the tabs that it is of */
  handleDownload(item) {
    const tabIds = [];
    for (const [tabId, watch] of this.#watches) {
      // The browser does not name the tab of a download: its URL has to match.
      if (watch.hasPage || watch.current !== item.url) continue;
      tabIds.push(tabId);
      watch.download = item;
      this.#follow(watch, item.finalUrl);
      setTimeout(() => endAsDownload(watch, item), DOWNLOAD_MS);
    }
    return tabIds;
  }

  /** The browser has chosen a name. @param {{id: number, filename?: {current?: string}}} change */
  handleDownloadChanged({ id, filename }) {
    for (const watch of this.#watches.values()) {
      if (watch.download?.id === id && filename?.current) endAsDownload(watch, { ...watch.download, filename: filename.current });
    }
  }

  /** @param {NavigationDetails} details */
  handleCommitted(details) {
    const watch = this.#ours(details);
    if (!watch || (!watch.current && !isStepInHistory(watch, details))) return;
    watch.from ??= details.url;
    watch.current = details.url;
    watch.hasPage = true;
    this.#follow(watch, details.url);
    watch.onDocument(details);
  }

  /**
   * Fails a redirect to a closed site: the outcome there stays unknown to the agent.
   * @param {NavigationWatch} watch @param {string} url @param {{isComing?: boolean}} [so] `isComing`: its document has not come. One that
   *   a program on another machine is not told of may be stopped yet, which ends the navigation, too
   */
  #follow(watch, url, { isComing = false } = {}) {
    const isFarFile = fileIn(url) !== null && this.#policy.far.hides(watch.tabId, url);
    if (fileIn(url) !== null && !isFarFile) return void this.#policy.admit(url, { ran: true }).catch((error) => watch.failed(error));
    try {
      this.#policy.assertUrl(url, { ran: true });
      if (!isComing) this.#policy.far.assert(watch.tabId, url, { ran: true });
    } catch (error) {
      watch.failed(error);
    }
  }

  /** A page that the browser had kept whole is shown again without being loaded. @param {number} tabId */
  handleTabComplete(tabId) {
    const watch = this.#watches.get(tabId);
    if (watch?.aim === 'history' && watch.current) watch.done({ from: watch.from });
  }

  /** @param {NavigationDetails} details */
  handleCompleted(details) {
    const watch = this.#ours(details);
    if (watch?.current === details.url) watch.done({ from: watch.from });
  }

  /** A fragment or a history entry: no document is loaded. @param {NavigationDetails} details */
  handleSameDocument(details) {
    const watch = this.#ours(details);
    if (!watch) return;
    const isOurs = typeof watch.aim === 'object' ? watch.aim.url === details.url : isStepInHistory(watch, details);
    if (isOurs) watch.done({ from: watch.from });
  }

  /** @param {NavigationDetails} details */
  handleErrorOccurred(details) {
    const watch = this.#ours(details);
    const error = details.error ?? 'unknown';
    if (!watch?.current) return;
    if (error !== 'net::ERR_ABORTED') return watch.failed(notLoaded(details.url, error));
    // The load that ours pushed aside ends as aborted, too.
    if (watch.hasPage && details.url === watch.current) return watch.failed(stopped(`${details.url} was stopped while it loaded`));
    if (!watch.hasPage) setTimeout(() => this.#endWithoutPage(details.tabId, watch), DOWNLOAD_MS);
  }

  /** Ends it if nothing came of the load, and no other is under way. @param {number} tabId @param {NavigationWatch} watch */
  async #endWithoutPage(tabId, watch) {
    const tab = await chrome.tabs.get(tabId).catch(() => null);
    if (watch.hasPage || watch.download || tab?.pendingUrl) return;
    watch.failed(stopped(`${watch.current} did not load: it was stopped, or the server answered without a page (as with HTTP status 204)`));
  }

  /** @param {number} tabId */
  handleCrashed(tabId) {
    const watch = this.#watches.get(tabId);
    // Before ours has come, it is the page that ours replaces. The browser may go on with the load; if not, it reports an error.
    if (watch?.hasPage) watch.failed(crashedTab(tabId));
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    const watch = this.#watches.get(tabId);
    // The browser closes a tab that was opened for a download alone.
    if (watch?.download) return endAsDownload(watch, watch.download);
    this.fail(tabId, closedMeanwhile(tabId));
  }

  /** @param {number} tabId @param {unknown} error another reason that ended it */
  fail(tabId, error) {
    this.#watches.get(tabId)?.failed(error);
  }

  /** @param {NavigationDetails} details */
  #ours({ tabId, frameId, documentLifecycle, url }) {
    const watch = frameId === 0 && documentLifecycle !== 'prerender' ? this.#watches.get(tabId) : undefined;
    // The end of the blank page's own load may come after the navigation has begun.
    return typeof watch?.aim === 'object' && watch.aim.after === url ? undefined : watch;
  }
}

/**
 * The fields of a navigation's result besides the place and the title of its tab.
 * @param {Arrival} arrival @param {ServerAnswer | null | undefined} answered @param {string} url where its tab is now
 * @returns {{http_status?: number, redirected_from?: string, download?: Download}}
 */
export function navigationFields({ from, download }, answered, url) {
  const isElsewhere = from !== null && from !== (download?.url ?? url);
  return {
    // Another page may have come meanwhile.
    ...(answered?.url === url && { http_status: answered.status }),
    ...(isElsewhere && { redirected_from: from }),
    ...(download && { download }),
  };
}

/** @param {NavigationWatch} watch @param {DownloadItem} item */
function endAsDownload(watch, item) {
  watch.done({ from: watch.from, download: downloadOf(item) });
}

/** @param {string} url @param {string} error the browser's word */
function notLoaded(url, error) {
  if (error === 'net::ERR_INVALID_AUTH_CREDENTIALS') {
    return new ActionError('navigation_failed', `${url} did not load: the server asks for a user name and a password`, undefined, { hint: LOG_IN_HINT });
  }
  const note = error === 'net::ERR_HTTP_RESPONSE_CODE_FAILURE' ? ' (the server answered with an HTTP error status and no page)' : '';
  return new ActionError('navigation_failed', `${url} did not load: ${error}${note}`);
}

const LOG_IN_HINT = 'Call again with dialogs:"hold" and give both with the action dialog, or have the person log in with interact({action:"ask_user", kind:"hand_over", question}).';

/** @param {string} message */
function stopped(message) {
  const hint = 'Look at where the tab is with interact({action:"page_info"}); call again if it is to go there all the same.';
  return new ActionError('navigation_failed', message, undefined, { hint });
}

/** @param {NavigationWatch} watch @param {NavigationDetails} details */
function isStepInHistory({ aim }, { transitionQualifiers }) {
  return aim === 'history' && (transitionQualifiers ?? []).includes('forward_back');
}
