// @ts-check
// Notes of the commands that came with `go` and whose reports are not acknowledged. They outlive the worker: the daemon
// sends a command again whose attempt nobody names, so the next worker names those that the former one may have begun.

/** @import {InFlight} from '../../types/protocol.js' */

import { sessionItems } from '../lib/session_items.js';
import { ARRIVALS_MAX, FORGET_AFTER_MS } from './limits.js';

const PREFIX = 'arrived:';
/** In chrome.storage.local, since chrome.storage.session has refused a note. */
const LOST = 'arrivals_lost';

export class Arrivals {
  /** @type {Map<string, number>} attempt by correlation id, oldest first */
  #noted = new Map();
  /** @type {string[]} keys of notes that nobody needs any more */
  #over = [];
  #isKept = true;

  /** Reads the notes of earlier workers. Must be done before `ready` is sent. */
  async restore() {
    const [stored, { [LOST]: isLost }] = await Promise.all([sessionItems(null), chrome.storage.local.get(LOST)]);
    for (const [key, attempt] of Object.entries(stored)) if (key.startsWith(PREFIX)) this.#noted.set(key.slice(PREFIX.length), attempt);
    if (!isLost) return;
    this.#isKept = false;
    await chrome.storage.local.remove(LOST);
  }

  /** Whether all that came is noted. */
  get areKept() {
    return this.#isKept;
  }

  /**
   * Before anything of the command is done. Not waited for: the browser carries out the calls of a worker in their order,
   * so whatever the command does comes after its note.
   * @param {string} id @param {number} attempt
   */
  note(id, attempt) {
    this.#noted.delete(id);
    this.#noted.set(id, attempt);
    chrome.storage.session.set({ [PREFIX + id]: attempt }).catch((error) => this.#handleLost(error));
    const [oldest] = this.#noted.keys();
    if (this.#noted.size > ARRIVALS_MAX) this.forget(oldest);
  }

  /** It has not begun and will not, or its end is recorded. @param {string} id */
  forget(id) {
    if (!this.#noted.delete(id)) return;
    if (this.#over.push(PREFIX + id) > 1) return;
    // All of a moment in one call.
    setTimeout(() => {
      // One that has come again meanwhile stays.
      const keys = this.#over.splice(0).filter((key) => !this.#noted.has(key.slice(PREFIX.length)));
      chrome.storage.session.remove(keys).catch(console.warn);
    }, FORGET_AFTER_MS);
  }

  /** @param {Set<string>} known the commands that this worker can tell of itself @returns {InFlight[]} those that a former one may have begun */
  inFlight(known) {
    return [...this.#noted].filter(([id]) => !known.has(id)).map(([correlation_id, attempt]) => ({ correlation_id, attempt, state: 'running' }));
  }

  /** The next worker must not be believed that a command never came. @param {unknown} error */
  #handleLost(error) {
    console.warn(error);
    this.#isKept = false;
    chrome.storage.local.set({ [LOST]: true }).catch(console.warn);
  }
}
