// @ts-check
// Reports that the daemon has not acknowledged. Sent first, then kept; a worker restart loses
// only those too large for chrome.storage.session.

/** @import {InFlight, Report} from '../../types/protocol.js' */

import { sessionItems } from '../lib/session_items.js';
import { utf8Length } from '../lib/utf8_length.js';
import { STORE_AFTER_MS, STORED_MAX_BYTES } from './limits.js';
import { reportText } from './report.js';

const PREFIX = 'outbox:';

/** @typedef {{seq: number, attempt: number, text: string}} StoredReport as chrome.storage.session holds it, too */

export class Outbox {
  /** @type {Map<string, StoredReport>} by correlation id, in the order of the reports */
  #kept = new Map();
  /** @type {Set<string>} ids that chrome.storage.session has */
  #stored = new Set();
  #nextSeq = 1;
  #send;

  /** @param {(text: string) => boolean} send false: not sent, to be replayed after a reconnect */
  constructor(send) {
    this.#send = send;
  }

  /** Reads the reports that an earlier worker could not deliver. Must be done before `ready` is sent. */
  async restore() {
    const stored = await sessionItems(null);
    const ours = Object.entries(stored).filter(([key]) => key.startsWith(PREFIX));
    const entries = /** @type {[string, StoredReport][]} */ (ours);
    for (const [key, kept] of entries.sort(([, a], [, b]) => a.seq - b.seq)) {
      const id = key.slice(PREFIX.length);
      this.#kept.set(id, kept);
      this.#stored.add(id);
      this.#nextSeq = kept.seq + 1;
    }
  }

  /** @param {Report} report */
  put(report) {
    const text = reportText(report);
    this.#sendAndKeep(report.correlation_id, { seq: this.#nextSeq++, attempt: report.attempt, text });
  }

  /** @param {string} id */
  has(id) {
    return this.#kept.has(id);
  }

  /**
   * The daemon asks again for a command that is already done. Its report takes the number of the attempt
   * asked for: the result is the same, and only that attempt counts there.
   * @param {string} id @param {number} attempt
   */
  resend(id, attempt) {
    const kept = this.#kept.get(id);
    if (!kept) return;
    const text = JSON.stringify({ ...JSON.parse(kept.text), attempt });
    this.#sendAndKeep(id, { ...kept, attempt, text });
  }

  /** @param {string} id @param {number} [attempt] absent: any attempt */
  drop(id, attempt) {
    const kept = this.#kept.get(id);
    if (!kept || (attempt !== undefined && kept.attempt !== attempt)) return;
    this.#kept.delete(id);
    if (this.#stored.delete(id)) chrome.storage.session.remove(PREFIX + id).catch(console.warn);
  }

  /** Everything again, in the order in which it was reported. */
  replay() {
    for (const { text } of this.#kept.values()) this.#send(text);
  }

  /** @returns {InFlight[]} */
  inFlight() {
    return [...this.#kept].map(([correlation_id, { attempt }]) => ({ correlation_id, attempt, state: 'done' }));
  }

  /** @param {string} id @param {StoredReport} kept */
  #sendAndKeep(id, kept) {
    // Sent before it is stored: storing first would delay every result.
    const sent = this.#send(kept.text);
    this.#kept.set(id, kept);
    // One huge report must not take the room of all others.
    if (utf8Length(kept.text) > STORED_MAX_BYTES) return;
    if (sent) setTimeout(() => this.#store(id, kept), STORE_AFTER_MS);
    else this.#store(id, kept);
  }

  /** @param {string} id @param {StoredReport} kept */
  #store(id, kept) {
    if (this.#kept.get(id) !== kept) return; // Acknowledged, as nearly always by now.
    this.#stored.add(id);
    // A full store costs durability, not delivery: the report stays in memory.
    chrome.storage.session.set({ [PREFIX + id]: kept }).catch(console.warn);
  }
}
