// @ts-check
// How long a page has not answered, known at any moment while a script runs in it: a Stop need not
// wait to find out that the page is in a loop.

import { cdp } from '../browser/debugger.js';

/** How often a page is asked while a script runs in it, so that it is known at once whether it is busy. */
export const HEARTBEAT_MS = 100;

export class Heartbeat {
  #tabId;
  /** @type {number | null} when the page was asked, if it has not answered */
  #askedAt = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #isOver = false;

  /** @param {number} tabId */
  constructor(tabId) {
    this.#tabId = tabId;
  }

  /** The first question comes after a pause, so that short scripts are not disturbed. */
  start() {
    this.#timer = setTimeout(() => this.#ask(), HEARTBEAT_MS);
  }

  stop() {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  silentMs() {
    return this.#askedAt === null ? 0 : performance.now() - this.#askedAt;
  }

  #ask() {
    this.#askedAt = performance.now();
    cdp(this.#tabId, 'Runtime.evaluate', { expression: '1' }).then(() => this.#answered(), () => this.#answered());
  }

  #answered() {
    this.#askedAt = null;
    if (!this.#isOver) this.start();
  }
}
