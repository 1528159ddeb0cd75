// @ts-check
// Requests of a tab that the debugger holds up. The protocol has one list of patterns a tab, so all who want to decide
// about requests come here; one about which nobody decides goes on.

import { cdp, onEventOf } from './debugger.js';

/**
 * @typedef {{urlPattern?: string, resourceType?: string}} RequestPattern as the protocol has it
 *
 * @typedef {object} PausedRequest
 * @property {string} requestId
 * @property {{url: string, method: string, headers?: Record<string, string>}} request
 * @property {string} resourceType
 * @property {string} [frameId]
 *
 * @typedef {object} Interceptor
 * @property {RequestPattern[]} patterns
 * @property {boolean} [handlesAuth] whether names and passwords that servers ask for are held up, too
 * @property {(paused: PausedRequest) => Promise<boolean>} [decide] about a request; false: it has not
 */

class Interception {
  /** @type {Map<number, {all: Set<Interceptor>, endListening: () => void}>} */
  #tabs = new Map();

  /** @param {number} tabId to which the debugger is attached @param {Interceptor} interceptor */
  async begin(tabId, interceptor) {
    const tab = this.#tabs.get(tabId) ?? { all: new Set(), endListening: onEventOf(tabId, 'Fetch.requestPaused', (paused) => { this.#decide(tabId, paused).catch(console.debug); }) };
    this.#tabs.set(tabId, tab);
    tab.all.add(interceptor);
    await this.#set(tabId, tab.all);
  }

  /** @param {number} tabId @param {Interceptor} interceptor */
  async end(tabId, interceptor) {
    const tab = this.#tabs.get(tabId);
    if (!tab?.all.delete(interceptor)) return;
    if (tab.all.size === 0) this.forget(tabId);
    await this.#set(tabId, tab.all);
  }

  /** The debugger is not attached any more: all requests go on. @param {number} tabId */
  forget(tabId) {
    this.#tabs.get(tabId)?.endListening();
    this.#tabs.delete(tabId);
  }

  /** @param {number} tabId @param {Set<Interceptor>} all */
  async #set(tabId, all) {
    if (all.size === 0) return void await cdp(tabId, 'Fetch.disable');
    const patterns = [...all].flatMap((one) => one.patterns);
    await cdp(tabId, 'Fetch.enable', { handleAuthRequests: [...all].some(({ handlesAuth }) => handlesAuth), patterns });
  }

  /** @param {number} tabId @param {PausedRequest} paused */
  async #decide(tabId, paused) {
    for (const { decide } of this.#tabs.get(tabId)?.all ?? []) {
      if (await decide?.(paused).catch(() => false)) return;
    }
    await cdp(tabId, 'Fetch.continueRequest', { requestId: paused.requestId });
  }
}

export const interception = new Interception();
