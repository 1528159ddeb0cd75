// @ts-check
// The two transports of frames: a WebSocket or, where none can be opened, HTTP. They send and deliver; the link decides
// who is proven, and how to go on after an end.

import { KEEPALIVE_MS } from '../lib/limits.js';
import { utf8Length } from '../lib/utf8_length.js';
import { BODY_MAX_BYTES, FRAMES_A_POST, POLL_MS, POST_MS, RESEND_FIRST_MS, RESENDS } from './limits.js';

/** @import {ToExtension} from '../../types/protocol.js' */

/** The close code of a connection that broke. */
export const LOST = 1006;
/** No socket was opened, since a program that is not Tabwire has the port. Of the codes that protocols may choose, and none of the daemon's. */
export const OTHER_PROGRAM = 3000;

/**
 * @typedef {object} TransportListeners
 * @property {(frame: ToExtension) => void} onFrame
 * @property {(code: number, reason: string) => void} onEnd the code is a WebSocket close code on
 *   either transport, LOST if no code came; or OTHER_PROGRAM
 *
 * @typedef {object} Transport
 * @property {'socket' | 'http'} kind
 * @property {(text: string) => void} send
 * @property {() => void} close we end it; no frame is delivered from then on
 */

/** @param {number} port @param {TransportListeners} listeners @returns {Transport} */
export function openSocket(port, listeners) {
  const ending = new AbortController();
  /** @type {WebSocket | undefined} */
  let socket;
  const end = (/** @type {number} */ code, /** @type {string} */ reason) => {
    if (ending.signal.aborted) return;
    ending.abort();
    listeners.onEnd(code, reason);
  };
  const open = () => {
    if (ending.signal.aborted) return;
    socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, 'tabwire.v1');
    socket.onmessage = ({ data }) => {
      const frame = ending.signal.aborted ? null : parse(data);
      if (frame) listeners.onFrame(frame);
    };
    socket.onclose = ({ code, reason }) => end(code, reason);
  };
  assertTabwire(port, ending.signal).then(open).catch((error) => end(error instanceof OtherProgramError ? OTHER_PROGRAM : LOST, reasonOf(error)));
  return {
    kind: 'socket',
    send: (text) => socket?.send(text),
    close() {
      ending.abort();
      socket?.close();
    },
  };
}

/** A program that is not Tabwire answers on the port. */
class OtherProgramError extends Error {}

/**
 * Chrome lists every WebSocket that cannot be opened among the errors of the extension, and no `fetch` that fails.
 * @param {number} port @param {AbortSignal} signal @throws {Error} no Tabwire answers there
 */
async function assertTabwire(port, signal) {
  const response = await fetch(`http://127.0.0.1:${port}/health`, { method: 'GET', signal, cache: 'no-store' });
  // A daemon with too many connections refuses this one before it gives its name.
  if (response.status === 429 || response.status >= 500) throw new Error(`127.0.0.1:${port} answers ${response.status}`);
  const health = await response.json().catch(() => null);
  if (health?.name !== 'tabwire') throw new OtherProgramError(`at 127.0.0.1:${port}`);
}

/** @param {unknown} error */
function reasonOf(error) {
  return String(error).replace(/^Error: /, '');
}

/** @param {number} port @param {TransportListeners} listeners @returns {Transport} */
export function openHttp(port, listeners) {
  const session = new HttpSession(`http://127.0.0.1:${port}`, listeners);
  session.start();
  return { kind: 'http', send: (text) => session.send(text), close: () => session.close() };
}

/** The daemon's reason for refusing a request. */
class RefusedError extends Error {
  /** @param {number} code @param {string} reason */
  constructor(code, reason) {
    super(reason);
    this.code = code;
  }
}

/**
 * A link over HTTP. The daemon numbers frames and the extension numbers posts: a frame that a broken connection
 * lost is fetched or posted again, and counts once.
 */
class HttpSession {
  #base;
  #listeners;
  #token = '';
  #challenge = '';
  /** The number of the last frame that arrived. */
  #after = 0;
  #posts = 0;
  /** @type {string[]} */
  #unsent = [];
  #posting = false;
  #ending = new AbortController();
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #keepAlive;

  /** @param {string} base @param {TransportListeners} listeners */
  constructor(base, listeners) {
    this.#base = base;
    this.#listeners = listeners;
  }

  start() {
    this.#until(async () => {
      const challenge = await this.#ask('/session', { body: '{"type":"start"}' });
      this.#challenge = String(challenge.nonce);
      this.#deliver(challenge);
    });
  }

  /** The first frame is `hello`. @param {string} text */
  send(text) {
    if (this.#ending.signal.aborted) return;
    if (this.#token === '') this.#until(() => this.#greet(text));
    else {
      this.#unsent.push(text);
      this.#until(() => this.#flush());
    }
  }

  close() {
    this.#ending.abort();
    clearInterval(this.#keepAlive);
  }

  /** Every error ends the session. @param {() => Promise<void>} work */
  async #until(work) {
    try {
      await work();
    } catch (error) {
      if (this.#ending.signal.aborted) return;
      this.close();
      if (error instanceof RefusedError) this.#listeners.onEnd(error.code, error.message);
      else this.#listeners.onEnd(LOST, String(error));
    }
  }

  /** @param {string} hello */
  async #greet(hello) {
    const body = JSON.stringify({ ...JSON.parse(hello), challenge: this.#challenge });
    const { session, ...welcome } = await this.#ask('/session', { body });
    this.#token = String(session);
    // A worker that only fetches is ended after 30 s; any chrome.* call counts as activity.
    this.#keepAlive = setInterval(() => chrome.runtime.getPlatformInfo(), KEEPALIVE_MS);
    this.#deliver(welcome);
    if (!this.#ending.signal.aborted) this.#until(() => this.#poll());
  }

  async #poll() {
    for (;;) this.#deliverAll(await this.#again(() => this.#ask(`/frames?wait_ms=${POLL_MS}&after=${this.#after}`)));
  }

  /** One POST at a time keeps the frames in order; each takes all frames that have gathered. */
  async #flush() {
    if (this.#posting) return;
    this.#posting = true;
    while (this.#unsent.length > 0) {
      const frames = this.#nextBatch().join(',');
      this.#posts += 1;
      const post = () => this.#ask('/frames', {
        body: `{"n":${this.#posts},"after":${this.#after},"frames":[${frames}]}`,
        patience: POST_MS,
      });
      this.#deliverAll(await this.#again(post));
    }
    this.#posting = false;
  }

  #nextBatch() {
    let bytes = 0;
    const fits = (/** @type {string} */ text, /** @type {number} */ n) =>
      n < FRAMES_A_POST && (bytes += utf8Length(text) + 1) <= BODY_MAX_BYTES;
    const tooMany = this.#unsent.findIndex((text, n) => !fits(text, n));
    // One that is too large alone is the daemon's to refuse.
    return this.#unsent.splice(0, tooMany < 0 ? this.#unsent.length : Math.max(tooMany, 1));
  }

  /**
   * A connection may break. A refusal is an answer.
   * @template T @param {() => Promise<T>} request @returns {Promise<T>}
   */
  async #again(request) {
    for (let tries = 0; ; tries += 1) {
      try {
        return await request();
      } catch (error) {
        if (error instanceof RefusedError || this.#ending.signal.aborted || tries === RESENDS) throw error;
        await new Promise((resolve) => { setTimeout(resolve, RESEND_FIRST_MS * 2 ** tries); });
      }
    }
  }

  /**
   * @param {string} path @param {{body?: string, patience?: number}} [post]
   * @returns {Promise<any>}
   */
  async #ask(path, { body, patience = POLL_MS + POST_MS } = {}) {
    /** @type {Record<string, string>} */
    const headers = {};
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (this.#token !== '') headers.Authorization = `Bearer ${this.#token}`;
    // A connection that hangs looks like a slow answer, so every request has a limit.
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(patience)]);
    const method = body === undefined ? 'GET' : 'POST';
    const response = await fetch(this.#base + path, { method, headers, body, signal, cache: 'no-store' });
    const answer = await response.json();
    if (!response.ok) {
      // The daemon's refusal carries the close code that a socket would have had.
      const { code = LOST, message = response.status, hint } = answer;
      throw new RefusedError(code, hint === undefined ? String(message) : `${message}. ${hint}`);
    }
    return answer;
  }

  /** Answers may overtake each other, and each has all frames that we may not have. @param {any} answer */
  #deliverAll({ frames, last }) {
    const first = last - frames.length + 1;
    frames.forEach((/** @type {ToExtension} */ frame, /** @type {number} */ n) => {
      // A frame that came with an earlier answer already counts once.
      if (first + n <= this.#after) return;
      this.#after = first + n;
      this.#deliver(frame);
    });
  }

  /** @param {ToExtension} frame */
  #deliver(frame) {
    if (!this.#ending.signal.aborted && typeof frame?.type === 'string') this.#listeners.onFrame(frame);
  }
}

/** @param {unknown} data @returns {ToExtension | null} null: not a frame, ignored */
function parse(data) {
  try {
    const frame = JSON.parse(/** @type {string} */ (data));
    return typeof frame?.type === 'string' ? frame : null;
  } catch {
    console.warn('tabwire: the daemon sent something that is not JSON');
    return null;
  }
}
