// @ts-check
// Tells when a page says more than can be heard: each event costs the worker, which has commands to run. Pure.

import { FLOOD_EVENTS, FLOOD_WINDOW_MS } from '../limits.js';

/** @typedef {keyof typeof FLOOD_EVENTS} Domain */

export class FloodGuard {
  /** @type {Map<Domain, {since: number, count: number}>} */
  #windows = new Map();

  /** @param {string} method of an event @param {number} now @returns {Domain | null} what says too much, told once a window */
  handle(method, now) {
    const domain = /** @type {Domain} */ (method.slice(0, method.indexOf('.')));
    const most = FLOOD_EVENTS[domain];
    if (most === undefined) return null;
    let current = this.#windows.get(domain);
    if (!current || now - current.since >= FLOOD_WINDOW_MS) {
      current = { since: now, count: 0 };
      this.#windows.set(domain, current);
    }
    current.count += 1;
    return current.count === most ? domain : null;
  }
}
