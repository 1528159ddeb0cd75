// @ts-check
// The WebSockets of one tab, as entries of `websocket`. Pure.

/** @import {SocketEntry} from '../../types/protocol.js' */

import { clip } from '../lib/clip.js';
import { OPEN_SOCKETS_MAX, SOCKET_TEXT_MAX_BYTES, URL_MAX } from './limits.js';
import { byteLength, clipBytes } from './text.js';

const TEXT_FRAME = 1;

export class Sockets {
  /** @type {Map<string, string>} URLs by id, oldest first */
  #urls = new Map();

  /** @param {string} method of an event @param {any} params @param {number} t @returns {Omit<SocketEntry, 'tab_id'> | null} */
  handle(method, params, t) {
    const { requestId: request_id } = params;
    const of = (/** @type {SocketEntry['event']} */ event) => ({ t, request_id, url: this.#urls.get(request_id) ?? '', event });
    switch (method) {
      case 'Network.webSocketCreated': this.#remember(request_id, clip(params.url, URL_MAX)); return null;
      case 'Network.webSocketHandshakeResponseReceived': return of('open');
      case 'Network.webSocketFrameSent': return { ...of('sent'), ...payload(params.response) };
      case 'Network.webSocketFrameReceived': return { ...of('received'), ...payload(params.response) };
      case 'Network.webSocketFrameError': return { ...of('error'), text: params.errorMessage };
      case 'Network.webSocketClosed': {
        const entry = of('close');
        this.#urls.delete(request_id);
        return entry;
      }
      default: return null;
    }
  }

  /** @param {string} id @param {string} url */
  #remember(id, url) {
    this.#urls.set(id, url);
    if (this.#urls.size <= OPEN_SOCKETS_MAX) return;
    const [oldest] = this.#urls.keys();
    this.#urls.delete(oldest);
  }
}

/** @param {{opcode: number, payloadData: string}} frame @returns {Pick<SocketEntry, 'text' | 'bytes' | 'truncated'>} */
function payload({ opcode, payloadData }) {
  if (opcode !== TEXT_FRAME) return { bytes: Math.floor((payloadData.replace(/=+$/, '').length * 3) / 4) };
  const { text, truncated } = clipBytes(payloadData, SOCKET_TEXT_MAX_BYTES);
  return truncated ? { text, bytes: byteLength(payloadData), truncated } : { text, bytes: byteLength(payloadData) };
}
