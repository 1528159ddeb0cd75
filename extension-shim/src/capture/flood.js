// @ts-check
// Decides when a page floods the recording, and for how long it is muted: each event costs the
// browser and the worker, which have commands to run. Pure.

import { FLOOD_CALM_MS, FLOOD_EVENTS, FLOOD_QUEUE_MS, FLOOD_PAUSE_MAX_MS, FLOOD_PAUSE_MS, FLOOD_REST_MS, FLOOD_WINDOW_MS } from './limits.js';

/**
 * @typedef {keyof typeof FLOOD_EVENTS} Domain
 * @typedef {{since: number, count: number}} Window by one clock
 */

export class FloodGuard {
  /** @type {Map<Domain, {seen: Window, made: Window}>} */
  #windows = new Map();
  /** The muted sources, and how many of their events have come all the same. @type {Map<Domain, number>} */
  #muted = new Map();
  #pauseMs = 0;
  #endedAt = -Infinity;

  /**
   * An event has come. A worker that gets too few of the processor's turns sees few events in any of its own windows,
   * so they are counted by the page's clock as well.
   * @param {Domain} domain @param {number} now @param {number} [madeAt] by the page's clock @returns {boolean} whether it is now to be muted
   */
  handle(domain, now, madeAt = now) {
    const late = this.#muted.get(domain);
    if (late !== undefined) this.#muted.set(domain, late + 1);
    return late === undefined && this.#count(domain, now, madeAt) === FLOOD_EVENTS[domain];
  }

  /**
   * Whether muted events pile up in the browser, and the commands of all tabs behind them. The page went on for as long
   * as this event has been under way, and its events come that much more slowly than it made them.
   * @param {Domain} domain @param {number} now @param {number} madeAt by the page's clock
   */
  pilesUp(domain, now, madeAt) {
    const windows = this.#windows.get(domain);
    if (!windows || !this.#muted.has(domain)) return false;
    const slowness = (now - windows.seen.since) / Math.max(madeAt - windows.made.since, 1);
    return slowness > 1 && (now - madeAt) * (slowness - 1) > FLOOD_QUEUE_MS;
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

  /** It had to be let go of, since it takes no word or goes on. @returns {number} how long to leave it alone */
  rest() {
    this.#pauseMs = Math.max(this.#pauseMs, FLOOD_REST_MS);
    return this.#pauseMs;
  }

  /** Whether it may be a short burst: it has not gone on after a pause. */
  get isFirst() {
    return this.#pauseMs === FLOOD_PAUSE_MS;
  }

  /** It is listened to again. @param {Domain} domain @param {number} now */
  end(domain, now) {
    this.#muted.delete(domain);
    this.#windows.delete(domain);
    this.#endedAt = now;
  }

  /** @param {Domain} domain @param {number} now @param {number} madeAt @returns {number} which of its window it is */
  #count(domain, now, madeAt) {
    const { seen, made } = this.#windows.get(domain) ?? { seen: null, made: null };
    const windows = { seen: counted(seen, now), made: counted(made, madeAt) };
    this.#windows.set(domain, windows);
    return Math.max(windows.seen.count, windows.made.count);
  }
}

/** @param {Window | null} last @param {number} at @returns {Window} with one more event */
function counted(last, at) {
  const goesOn = last && at < last.since + FLOOD_WINDOW_MS;
  return goesOn ? { ...last, count: last.count + 1 } : { since: at, count: 1 };
}
