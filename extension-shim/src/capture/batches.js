// @ts-check
// Entries wait here to be sent, or for the daemon to come back. Bounded: the oldest entry goes, and
// the log notes how many are missing.

/** @import {LogEntry, RecordedEntry, RecordedStream} from '../../types/protocol.js' */

import {
  BATCH_MAX_BYTES, BATCH_MAX_ENTRIES, BATCH_MS, BUFFER_MAX_BYTES, BUFFER_MAX_ENTRIES, DROP_NOTE_MS,
} from './limits.js';
import { byteLength } from './text.js';

/** Room for the JSON around the entries of a frame. */
const FRAME_BYTES = 100;

/**
 * @typedef {{text: string, bytes: number}} QueuedEntry
 * @typedef {{waiting: QueuedEntry[], bytes: number, dropped: number}} Queue
 */

export class Batches {
  /** @type {Map<RecordedStream, Queue>} */
  #queues = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** The daemon is not there: nothing is tried until it is. */
  #held = false;
  #notedAt = 0;
  #send;

  /** @param {(text: string) => boolean} send false: no daemon is connected */
  constructor(send) {
    this.#send = send;
  }

  /** @param {RecordedStream} stream @param {RecordedEntry} entry */
  add(stream, entry) {
    const waiting = asWaiting(entry);
    const queue = this.#queue(stream);
    queue.waiting.push(waiting);
    queue.bytes += waiting.bytes;
    if (waiting.bytes > BATCH_MAX_BYTES - FRAME_BYTES) dropNewest(queue); // It would never fit.
    while (queue.waiting.length > BUFFER_MAX_ENTRIES || queue.bytes > BUFFER_MAX_BYTES) dropOldest(queue);
    this.#schedule();
  }

  /** The daemon is there again. */
  resume() {
    this.#held = false;
    this.#schedule();
  }

  /** @param {RecordedStream} stream @returns {Queue} */
  #queue(stream) {
    let queue = this.#queues.get(stream);
    if (!queue) this.#queues.set(stream, queue = { waiting: [], bytes: 0, dropped: 0 });
    return queue;
  }

  #schedule() {
    if (this.#held || this.#timer !== undefined) return;
    if (![...this.#queues.values()].some(({ waiting }) => waiting.length > 0)) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, BATCH_MS);
  }

  /** One frame of each stream, no more: commands' frames never wait for a long row of these. */
  #flush() {
    this.#noteDropped();
    for (const [stream, queue] of this.#queues) {
      const count = batchLength(queue);
      if (count === 0) continue;
      const entries = queue.waiting.slice(0, count);
      const texts = entries.map(({ text }) => text).join(',');
      if (!this.#send(`{"type":"events","stream":"${stream}","entries":[${texts}]}`)) {
        this.#held = true;
        return;
      }
      queue.waiting.splice(0, count);
      for (const { bytes } of entries) queue.bytes -= bytes;
    }
    this.#schedule();
  }

  #noteDropped() {
    const t = Date.now();
    const lossy = [...this.#queues].filter(([, { dropped }]) => dropped > 0);
    if (lossy.length === 0 || t - this.#notedAt < DROP_NOTE_MS) return;
    this.#notedAt = t;
    const counts = lossy.map(([stream, { dropped }]) => `${dropped} of ${stream}`).join(', ');
    const text = `Tabwire: more was recorded than could be sent; the oldest entries are missing: ${counts}`;
    for (const [, queue] of lossy) queue.dropped = 0;
    // Before all others: there the gap is, and there it is not dropped itself.
    const note = asWaiting(/** @type {LogEntry} */ ({ t, level: 'warn', source: 'browser', text, url: '' }));
    const logs = this.#queue('logs');
    logs.waiting.unshift(note);
    logs.bytes += note.bytes;
  }
}

/** @param {RecordedEntry} entry @returns {QueuedEntry} */
function asWaiting(entry) {
  const text = JSON.stringify(entry);
  return { text, bytes: byteLength(text) + 1 }; // and its comma
}

/** @param {Queue} queue */
function dropOldest(queue) {
  const oldest = queue.waiting.shift();
  queue.bytes -= oldest?.bytes ?? 0;
  queue.dropped += 1;
}

/** @param {Queue} queue */
function dropNewest(queue) {
  queue.bytes -= queue.waiting.pop()?.bytes ?? 0;
  queue.dropped += 1;
}

/** @param {Queue} queue @returns {number} how many of the oldest fit into a frame */
function batchLength({ waiting }) {
  let bytes = FRAME_BYTES;
  let count = 0;
  for (const entry of waiting.slice(0, BATCH_MAX_ENTRIES)) {
    bytes += entry.bytes;
    if (bytes > BATCH_MAX_BYTES) break;
    count += 1;
  }
  return count;
}
