// @ts-check
// Documents that a command of a program on another machine leads its tab to, by a redirect, a link or a script: where the
// person has given no word for the site, its server is not asked. What other requests load is the page's own.

/** @import {Interceptor, PausedRequest} from './interception.js' */

import { within } from '../lib/within.js';
import { attach, cdp, isAttached, onEventOf } from './debugger.js';
import { interception } from './interception.js';
import { FRAME_TREE_MS } from './limits.js';
import { mainFrame } from './site_guard.js';
import { navigations, policy } from './state.js';

/**
 * Holds documents up while `run` lasts. Where the debugger cannot be had they come, and are not told of.
 * @template T @param {number} tabId @param {AbortSignal} signal of the command: what nobody waits for holds nothing up
 * @param {() => Promise<T>} run @returns {Promise<T>} rejects if one was kept from the tab
 */
export async function withHeldDocuments(tabId, signal, run) {
  if (!policy.far.isIn(tabId)) return run();
  await within(FRAME_TREE_MS, attach(tabId)).catch(console.debug);
  if (!isAttached(tabId)) return run();
  const held = new HeldDocuments(tabId);
  const end = await held.begin();
  signal.addEventListener('abort', end, { once: true });
  try {
    const [outcome] = await Promise.allSettled([run()]);
    // Why it was stopped says more than what came of that.
    await held.settle();
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

/** @implements {Interceptor} */
class HeldDocuments {
  patterns = [{ resourceType: 'Document' }];
  #tabId;
  /** The tab's own frame; null: not known. @type {string | null} */
  #frameId = null;
  /** @type {Set<Promise<unknown>>} */
  #refusals = new Set();
  /** @type {unknown} why one was kept from the tab */
  #error;

  /** @param {number} tabId */
  constructor(tabId) {
    this.#tabId = tabId;
  }

  /** @returns {Promise<() => void>} ends it */
  async begin() {
    // While a document is held up no page answers, and a page that comes back from the history has another frame.
    const endListening = onEventOf(this.#tabId, 'Page.frameNavigated', ({ frame }) => { if (!frame.parentId) this.#frameId = frame.id; });
    const main = await within(FRAME_TREE_MS, mainFrame(this.#tabId)).catch(() => null);
    this.#frameId ??= main?.id ?? null;
    await interception.begin(this.#tabId, this);
    return () => {
      endListening();
      interception.end(this.#tabId, this).catch(console.debug);
    };
  }

  /** @param {PausedRequest} paused @returns {Promise<boolean>} */
  decide = async ({ requestId, frameId, request: { url } }) => {
    // A frame of another site in a page is as it is for the person.
    const isFrames = this.#frameId !== null && frameId !== this.#frameId;
    if (isFrames || !policy.far.hides(this.#tabId, url)) return false;
    this.#error ??= policy.far.keepFrom(this.#tabId, url);
    // The page that is there stays: one that fails otherwise leaves an error page.
    const refusal = cdp(this.#tabId, 'Fetch.failRequest', { requestId, errorReason: 'Aborted' }).catch(console.debug);
    this.#refusals.add(refusal);
    await refusal;
    navigations.fail(this.#tabId, this.#error);
    return true;
  };

  /** Rejects if a document was kept from the tab. */
  async settle() {
    await Promise.allSettled(this.#refusals);
    if (this.#error !== undefined) throw this.#error;
  }
}
