// @ts-check
// Follows one navigation of one tab through the browser's events to its end.

import { ActionError } from './errors.js';

/** @typedef {{tabId: number, url: string, frameId: number, documentLifecycle?: string, error?: string}} Details */

/**
 * @typedef {object} Watch
 * @property {string} wanted the URL asked for
 * @property {string | null} current the URL of the load under way, null before ours has begun
 * @property {() => void} done
 * @property {(error: unknown) => void} failed
 */

export class Navigations {
  /** @type {Map<number, Watch>} lanes see to it that a tab has one command at a time */
  #watches = new Map();

  /**
   * Call before the navigation is asked for: a fast one would be over.
   * @param {number} tabId @param {string} wanted @param {AbortSignal} signal
   * @returns {Promise<void>} resolves when the page and all it needs have loaded
   */
  follow(tabId, wanted, signal) {
    return /** @type {Promise<void>} */ (new Promise((done, failed) => {
      this.#watches.set(tabId, { wanted, current: null, done, failed });
      signal.addEventListener('abort', () => done());
    })).finally(() => this.#watches.delete(tabId));
  }

  /** @param {Details} details */
  handleBeforeNavigate(details) {
    const watch = this.#ours(details);
    // A page that sends the visitor on while it loads begins another: then that one counts.
    if (watch) watch.current = details.url;
  }

  /** A redirect shows here first. @param {Details} details */
  handleCommitted(details) {
    const watch = this.#ours(details);
    if (watch?.current) watch.current = details.url;
  }

  /** @param {Details} details */
  handleCompleted(details) {
    const watch = this.#ours(details);
    if (watch?.current === details.url) watch.done();
  }

  /** A fragment or a history entry: no document is loaded. @param {Details} details */
  handleSameDocument(details) {
    const watch = this.#ours(details);
    if (watch?.wanted === details.url) watch.done();
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
    this.fail(tabId, new ActionError('tab_closed', `tab ${tabId} was closed while the command ran`));
  }

  /** @param {number} tabId @param {unknown} error what else ended it */
  fail(tabId, error) {
    this.#watches.get(tabId)?.failed(error);
  }

  /** @param {Details} details */
  #ours({ tabId, frameId, documentLifecycle }) {
    return frameId === 0 && documentLifecycle !== 'prerender' ? this.#watches.get(tabId) : undefined;
  }
}
