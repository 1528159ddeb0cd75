// @ts-check
// Frames on their way to the daemon, until it acknowledges them. A drawing is kept by the page that it is
// drawn in, and is handed over again if this worker ends; that there will be none is kept here, and outlives the worker.

/** @import {AnnotationsAckFrame, DrawingFrame} from '../../types/protocol.js' */

import { once } from '../lib/once.js';
import { sessionItems } from '../lib/session_items.js';
import { DRAW_ACK_MS } from './limits.js';

const KEY = 'draw:owed';

/**
 * @typedef {{state: 'kept'} | {state: 'waiting'} | {state: 'refused', error: NonNullable<AnnotationsAckFrame['error']>}} DeliveryResult
 *   waiting: hand it over again
 *
 * @typedef {object} Delivery
 * @property {Map<string, string>} frames not acknowledged, by drawing id
 * @property {(delivered: DeliveryResult) => void} settle
 */

export class Deliveries {
  /** @type {Map<number, Delivery>} by tab */
  #drawings = new Map();
  /** @type {Map<string, DrawingFrame>} by drawing id */
  #owed = new Map();
  /** Frames that `owe` is about to send: a connection that comes first does not send them, too. @type {Set<string>} */
  #coming = new Set();
  #send;

  /** @param {(text: string) => boolean} send false: no daemon is connected */
  constructor(send) {
    this.#send = send;
  }

  /** Reads once the frames that an earlier worker still owed. */
  restore = once(() => this.#read());

  async #read() {
    const stored = (await sessionItems(KEY))[KEY];
    for (const [id, frame] of Object.entries(stored ?? {})) this.#owed.set(id, /** @type {DrawingFrame} */ (frame));
  }

  /** Sends a drawing, now and whenever a daemon is there, for a while. @param {number} tabId @param {DrawingFrame[]} frames @returns {Promise<DeliveryResult>} */
  deliver(tabId, frames) {
    this.giveUp(tabId);
    const delivered = new Promise((/** @type {(delivered: DeliveryResult) => void} */ resolve) => {
      const settle = this.#settler(tabId, resolve);
      this.#drawings.set(tabId, { frames: new Map(frames.map((frame) => [frame.drawing_id, JSON.stringify(frame)])), settle });
    });
    for (const text of this.#drawings.get(tabId)?.frames.values() ?? []) this.#send(text);
    return delivered;
  }

  /** @param {number} tabId @param {(delivered: DeliveryResult) => void} resolve */
  #settler(tabId, resolve) {
    const timer = setTimeout(() => this.giveUp(tabId), DRAW_ACK_MS);
    return (/** @type {DeliveryResult} */ delivered) => {
      clearTimeout(timer);
      this.#drawings.delete(tabId);
      resolve(delivered);
    };
  }

  /** @param {number} tabId whether a drawing on its picture is on its way */
  has(tabId) {
    return this.#drawings.has(tabId);
  }

  /** @param {number} tabId */
  giveUp(tabId) {
    this.#drawings.get(tabId)?.settle({ state: 'waiting' });
  }

  /** Sends small frames that no other part keeps, until each is acknowledged. @param {DrawingFrame[]} frames */
  async owe(frames) {
    if (frames.length === 0) return;
    await this.restore();
    for (const frame of frames) {
      this.#owed.set(frame.drawing_id, frame);
      this.#coming.add(frame.drawing_id);
    }
    try {
      await this.#write();
    } finally {
      for (const { drawing_id } of frames) this.#coming.delete(drawing_id);
    }
    for (const frame of frames) this.#send(JSON.stringify(frame));
  }

  /** A daemon is there, maybe another one. */
  async handleConnected() {
    for (const { frames } of this.#drawings.values()) for (const text of frames.values()) this.#send(text);
    await this.restore();
    for (const [id, frame] of this.#owed) if (!this.#coming.has(id)) this.#send(JSON.stringify(frame));
  }

  /** @param {AnnotationsAckFrame} ack */
  async handleAck({ drawing_id, error }) {
    for (const { frames, settle } of this.#drawings.values()) {
      if (!frames.has(drawing_id)) continue;
      if (error) return settle({ state: 'refused', error });
      frames.delete(drawing_id);
      if (frames.size === 0) settle({ state: 'kept' });
    }
    // A frame that the daemon could not store is sent again on the next connection.
    if (error?.code !== 'storage_unavailable' && this.#owed.delete(drawing_id)) await this.#write();
  }

  async #write() {
    await chrome.storage.session.set({ [KEY]: Object.fromEntries(this.#owed) });
  }
}
