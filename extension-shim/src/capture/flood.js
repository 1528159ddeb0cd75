// @ts-check
// Decides when a page floods the recording, and for how long it is muted: each event costs the
// browser and the worker, which have commands to run. Pure.

import { FLOOD_CALM_MS, FLOOD_EVENTS, FLOOD_PAUSE_MAX_MS, FLOOD_PAUSE_MS, FLOOD_REST_MS, FLOOD_WINDOW_MS } from './limits.js';

/** @typedef {keyof typeof FLOOD_EVENTS} Domain */

export class FloodGuard {
  /** @type {Map<Domain, {until: number, count: number}>} */
  #windows = new Map();
  /** The muted sources, and how many of their events have come all the same. @type {Map<Domain, number>} */
  #muted = new Map();
  #pauseMs = 0;
  #endedAt = -Infinity;

  /** An event has come. @param {Domain} domain @param {number} now @returns {boolean} whether it is now to be muted */
  handle(domain, now) {
    const late = this.#muted.get(domain);
    if (late === undefined) return this.#count(domain, now) === FLOOD_EVENTS[domain];
    this.#muted.set(domain, late + 1);
    return false;
  }

  /** @param {Domain} domain @param {number} now @returns {number} how long not to listen to it */
  mute(domain, now) {
    this.#muted.set(domain, 0);
    const goesOn = now - this.#endedAt < FLOOD_CALM_MS;
    this.#pauseMs = goesOn ? Math.min(this.#pauseMs * 2, FLOOD_PAUSE_MAX_MS) : FLOOD_PAUSE_MS;
    return this.#pauseMs;
  }

  /** @param {Domain} domain whether it goes on although it was asked to stop */
  isInLoop(domain) {
    return (this.#muted.get(domain) ?? 0) > FLOOD_EVENTS[domain];
  }

  /** It had to be let go of. @returns {number} how long to leave it alone */
  rest() {
    this.#pauseMs = Math.max(this.#pauseMs, FLOOD_REST_MS);
    return this.#pauseMs;
  }

  /** It is listened to again. @param {Domain} domain @param {number} now */
  end(domain, now) {
    this.#muted.delete(domain);
    this.#windows.delete(domain);
    this.#endedAt = now;
  }

  /** @param {Domain} domain @param {number} now @returns {number} which of its window it is */
  #count(domain, now) {
    let current = this.#windows.get(domain);
    if (!current || now >= current.until) {
      current = { until: now + FLOOD_WINDOW_MS, count: 0 };
      this.#windows.set(domain, current);
    }
    current.count += 1;
    return current.count;
  }
}
