// @ts-check
// Decides how to go on after another connection took this one's place (close code 4001). Kept in
// chrome.storage.session, since the worker may end while it holds back.

import { sessionItems } from '../lib/session_items.js';
import { CLONE_WINDOW_MS, REPLACED_HOLD_MS } from './limits.js';

const KEY = 'takeover';

export class Takeover {
  /** Not to connect before this time. */
  #holdUntil = 0;
  /** When the connection after the last hold was made. */
  #returnedAt = 0;

  async restore() {
    const stored = (await sessionItems(KEY))[KEY];
    const { holdUntil = 0, returnedAt = 0 } = /** @type {any} */ (stored ?? {});
    this.#holdUntil = holdUntil;
    this.#returnedAt = returnedAt;
  }

  /** @returns {'hold' | 'cloned'} cloned: another profile has our id, take a new one */
  handleReplaced() {
    const cloned = Date.now() - this.#returnedAt < CLONE_WINDOW_MS;
    this.#returnedAt = 0;
    this.#holdUntil = cloned ? 0 : Date.now() + REPLACED_HOLD_MS;
    this.#store();
    return cloned ? 'cloned' : 'hold';
  }

  remainingHoldMs() {
    return Math.max(0, this.#holdUntil - Date.now());
  }

  /** Connected again: from now on another take-over means a clone. */
  handleReturned() {
    if (this.#holdUntil === 0) return;
    this.#holdUntil = 0;
    this.#returnedAt = Date.now();
    this.#store();
  }

  #store() {
    const state = { holdUntil: this.#holdUntil, returnedAt: this.#returnedAt };
    chrome.storage.session.set({ [KEY]: state }).catch(console.warn);
  }
}
