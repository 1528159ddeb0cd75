// @ts-check
// Which tabs have an open overlay, and who waits for what comes of it. Outlives the worker: whoever closes a
// page says nothing, so somebody else must know.

import { once } from '../once.js';

/** @typedef {{correlation_id: string, session?: string, styles?: boolean}} Ask a wait for a drawing */
/** @typedef {{asks: Ask[], document_id?: string, page_url: string}} Overlay */

const KEY = 'draw:open';

export class Overlays {
  /** @type {Map<number, Overlay>} */
  #open = new Map();

  /** What an earlier worker knew, read once. */
  restore = once(() => this.#read());

  async #read() {
    const stored = (await chrome.storage.session.get(KEY))[KEY];
    for (const [tabId, overlay] of Object.entries(stored ?? {})) this.#open.set(Number(tabId), /** @type {Overlay} */ (overlay));
  }

  /** @param {number} tabId @param {Overlay} overlay */
  async put(tabId, overlay) {
    await this.restore();
    this.#open.set(tabId, overlay);
    await this.#write();
  }

  /** @param {number} tabId @returns {Promise<Overlay | undefined>} */
  async get(tabId) {
    await this.restore();
    return this.#open.get(tabId);
  }

  /** @returns {number[]} those that have one */
  tabs() {
    return [...this.#open.keys()];
  }

  /** @returns {string[]} all waits that one is open for */
  waits() {
    return [...this.#open.values()].flatMap(({ asks }) => asks.map(({ correlation_id }) => correlation_id));
  }

  /** @param {string[]} waits @returns {number[]} those that have one for any of them */
  tabsFor(waits) {
    return this.tabs().filter((tabId) => this.#open.get(tabId)?.asks.some(({ correlation_id }) => waits.includes(correlation_id)));
  }

  /** Forgets waits that are over, and an overlay without any: nobody has to hear of its end. @param {number} tabId @param {string[]} over */
  async dropAsks(tabId, over) {
    const overlay = await this.get(tabId);
    if (!overlay) return;
    const asks = overlay.asks.filter(({ correlation_id }) => !over.includes(correlation_id));
    if (asks.length > 0) await this.put(tabId, { ...overlay, asks });
    else await this.take(tabId);
  }

  /** Forgets it. @param {number} tabId @returns {Promise<Overlay | undefined>} what was open there */
  async take(tabId) {
    const overlay = await this.get(tabId);
    if (!overlay) return undefined;
    this.#open.delete(tabId);
    await this.#write();
    return overlay;
  }

  async #write() {
    await chrome.storage.session.set({ [KEY]: Object.fromEntries(this.#open) });
  }
}
