// @ts-check
// Follows one navigation of one tab through the browser's events to its end.

/** @import {Policy} from './policy.js' */

import { ActionError, closedMeanwhile } from './errors.js';
import { fileIn } from './sites.js';

/**
 * @typedef {{tabId: number, url: string, frameId: number, documentLifecycle?: string, error?: string,
 *   transitionQualifiers?: string[]}} Details
 * @typedef {{url: string, after?: string} | 'reload' | 'history'} Aim where a navigation goes, as far as that is
 *   known before; `after`: a load that may still be under way and is not ours
 */

/**
 * @typedef {object} Watch
 * @property {Aim} aim
 * @property {string | null} current the URL of the load under way, null before ours has begun
 * @property {() => void} done
 * @property {(error: unknown) => void} failed
 */

export class Navigations {
  /** @type {Map<number, Watch>} lanes see to it that a tab has one command at a time */
  #watches = new Map();
  #policy;

  /** @param {Policy} policy */
  constructor(policy) {
    this.#policy = policy;
  }

  /**
   * Call before the navigation is asked for: a fast one would be over.
   * @param {number} tabId @param {Aim} aim @param {AbortSignal} signal
   * @returns {Promise<void>} resolves when the page and all it needs have loaded
   */
  follow(tabId, aim, signal) {
    return /** @type {Promise<void>} */ (new Promise((done, failed) => {
      this.#watches.set(tabId, { aim, current: null, done, failed });
      signal.addEventListener('abort', () => failed(signal.reason));
    })).finally(() => this.#watches.delete(tabId));
  }

  /** @param {Details} details */
  handleBeforeNavigate(details) {
    const watch = this.#ours(details);
    // A page that sends the visitor on while it loads begins another: then that one counts.
    if (watch) watch.current = details.url;
    if (watch) this.#follow(watch, details.url);
  }

  /** A redirect shows here first. @param {Details} details */
  handleCommitted(details) {
    const watch = this.#ours(details);
    if (!watch || (!watch.current && !isStepInHistory(watch, details))) return;
    watch.current = details.url;
    this.#follow(watch, details.url);
  }

  /** A redirect to where agents may not go: what comes of it there is not told. @param {Watch} watch @param {string} url */
  #follow(watch, url) {
    if (fileIn(url) !== null) return void this.#policy.admit(url, { ran: true }).catch((error) => watch.failed(error));
    try {
      this.#policy.assertUrl(url, { ran: true });
    } catch (error) {
      watch.failed(error);
    }
  }

  /** A page that the browser had kept whole is shown again without being loaded. @param {number} tabId */
  handleTabComplete(tabId) {
    const watch = this.#watches.get(tabId);
    if (watch?.aim === 'history' && watch.current) watch.done();
  }

  /** @param {Details} details */
  handleCompleted(details) {
    const watch = this.#ours(details);
    if (watch?.current === details.url) watch.done();
  }

  /** A fragment or a history entry: no document is loaded. @param {Details} details */
  handleSameDocument(details) {
    const watch = this.#ours(details);
    if (!watch) return;
    const isOurs = typeof watch.aim === 'object' ? watch.aim.url === details.url : isStepInHistory(watch, details);
    if (isOurs) watch.done();
  }

  /** @param {Details} details */
  handleErrorOccurred(details) {
    const watch = this.#ours(details);
    const error = details.error ?? 'unknown';
    // The load that ours pushed aside ends as aborted, too.
    if (!watch?.current || (error === 'net::ERR_ABORTED' && details.url !== watch.current)) return;
    const why = error === 'net::ERR_ABORTED' ? ' (a download, an answer without content, or stopped)' : '';
    watch.failed(new ActionError('navigation_failed', `${details.url} did not load: ${error}${why}`));
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    this.fail(tabId, closedMeanwhile(tabId));
  }

  /** @param {number} tabId @param {unknown} error what else ended it */
  fail(tabId, error) {
    this.#watches.get(tabId)?.failed(error);
  }

  /** @param {Details} details */
  #ours({ tabId, frameId, documentLifecycle, url }) {
    const watch = frameId === 0 && documentLifecycle !== 'prerender' ? this.#watches.get(tabId) : undefined;
    return typeof watch?.aim === 'object' && watch.aim.after === url ? undefined : watch;
  }
}

/** @param {Watch} watch @param {Details} details */
function isStepInHistory({ aim }, { transitionQualifiers }) {
  return aim === 'history' && (transitionQualifiers ?? []).includes('forward_back');
}
