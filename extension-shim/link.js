// @ts-check
// The one WebSocket to the daemon: connect, prove, stay alive, come back. Knows nothing of commands.

/** @import {Challenge, FromExtension, PingFrame, ToExtension, Welcome} from './protocol.js' */
/** @import {Config} from './config.js' */
/** @import {Identity} from './identity.js' */
/** @import {Takeover} from './takeover.js' */

import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, HANDSHAKE_MS, SILENCE_MS } from './limits.js';
import { helloMac, makeNonce, sameMac, welcomeMac } from './proof.js';

const REPLACED = 4001;
const BAD_PROOF = 4401;

/**
 * @typedef {'connecting' | 'connected' | 'unconfigured' | 'disconnected' | 'replaced' | 'unproven'} Status
 *
 * @typedef {object} Hooks
 * @property {() => Promise<Config | null>} loadConfig
 * @property {() => Promise<void>} prepare what must be known before `ready` can be said
 * @property {(welcome: Welcome) => void} onWelcome the daemon is proven: say `ready`
 * @property {(frame: ToExtension) => boolean} onFrame false: this type is not known
 * @property {(status: Status, detail: string) => void} onStatus
 *
 * @typedef {object} Handshake
 * @property {string} extKey
 * @property {string} browserId
 * @property {string} helloNonce
 * @property {string} challengeNonce empty until the challenge came
 */

export class Link {
  /** @type {'idle' | 'opening' | 'proving' | 'ready'} */
  #phase = 'idle';
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {Handshake | null} */
  #handshake = null;
  /** @type {Set<string>} unknown frame types that this connection was told about */
  #refused = new Set();
  #backoffMs = BACKOFF_FIRST_MS;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retryTimer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #silenceTimer;
  #identity;
  #takeover;
  #hooks;

  /** @param {Identity} identity @param {Takeover} takeover @param {Hooks} hooks */
  constructor(identity, takeover, hooks) {
    this.#identity = identity;
    this.#takeover = takeover;
    this.#hooks = hooks;
  }

  /** Called by every event that may have woken the worker; does nothing if a try is under way. */
  ensureConnected() {
    if (this.#phase === 'idle' && this.#retryTimer === undefined) this.#open();
  }

  /** The person asked: do not wait for the back-off. */
  connectNow() {
    if (this.#phase === 'idle') this.#retryIn(0);
  }

  /** @param {FromExtension} frame */
  send(frame) {
    this.sendText(JSON.stringify(frame));
  }

  /** @param {string} text @returns {boolean} false: there is no proven daemon to hear it */
  sendText(text) {
    if (this.#phase !== 'ready' || !this.#socket) return false;
    this.#socket.send(text);
    return true;
  }

  async #open() {
    this.#phase = 'opening';
    try {
      await this.#hooks.prepare();
      const hold = this.#takeover.remainingHoldMs();
      if (hold > 0) return this.#retryAs('replaced', hold, 'another browser connected as this one');
      const config = await this.#hooks.loadConfig();
      if (!config) return this.#retryAs('unconfigured', BACKOFF_MAX_MS, 'config.json is missing');
      this.#dial(config, await this.#identity.browserId());
    } catch (error) {
      this.#retryAs('disconnected', this.#nextBackoff(), String(error));
    }
  }

  /** @param {Config} config @param {string} browserId */
  #dial({ port, ext_key }, browserId) {
    this.#hooks.onStatus('connecting', `127.0.0.1:${port}`);
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, 'tabwire.v1');
    this.#socket = socket;
    this.#refused.clear();
    this.#handshake = { extKey: ext_key, browserId, helloNonce: makeNonce(), challengeNonce: '' };
    socket.onmessage = ({ data }) => this.#handleMessage(socket, data);
    socket.onclose = ({ code, reason }) => this.#handleClose(socket, code, reason);
    this.#expectWithin(HANDSHAKE_MS);
  }

  /** @param {WebSocket} socket @param {unknown} data */
  #handleMessage(socket, data) {
    if (socket !== this.#socket) return;
    const frame = parse(data);
    if (this.#phase !== 'ready') {
      this.#handleUnproven(socket, frame).catch((error) => this.#dropIfOpen(socket, error));
      return;
    }
    this.#expectWithin(SILENCE_MS);
    if (frame?.type === 'ping') return this.send({ type: 'pong', t: /** @type {PingFrame} */ (frame).t });
    if (frame && !this.#hooks.onFrame(frame)) this.#refuseType(frame.type);
  }

  /**
   * Until the daemon is proven, whoever listens on the port gets `hello` for a challenge, nothing else.
   * @param {WebSocket} socket @param {any} frame
   */
  async #handleUnproven(socket, frame) {
    if (this.#phase === 'opening' && frame?.type === 'challenge') {
      this.#phase = 'proving';
      await this.#sayHello(socket, frame);
    } else if (this.#phase === 'proving' && frame?.type === 'welcome') {
      await this.#checkWelcome(socket, frame);
    }
  }

  /** @param {WebSocket} socket @param {Challenge} challenge */
  async #sayHello(socket, challenge) {
    const handshake = /** @type {Handshake} */ (this.#handshake);
    const { extKey, browserId, helloNonce } = handshake;
    const { instanceId } = this.#identity;
    handshake.challengeNonce = String(challenge.nonce);
    const mac = await helloMac(extKey, { ...handshake, instanceId });
    if (socket !== this.#socket) return;
    const { version } = chrome.runtime.getManifest();
    const ids = { browser_id: browserId, instance_id: instanceId, extension_version: version };
    socket.send(JSON.stringify({ type: 'hello', protocol: [1], ...ids, nonce: helloNonce, mac }));
  }

  /** @param {WebSocket} socket @param {Welcome} welcome */
  async #checkWelcome(socket, welcome) {
    const handshake = /** @type {Handshake} */ (this.#handshake);
    const expected = await welcomeMac(handshake.extKey, { ...handshake, epoch: String(welcome.epoch) });
    if (socket !== this.#socket || this.#phase !== 'proving') return;
    if (!sameMac(expected, welcome.mac)) return this.#drop('unproven', 'whoever listens there does not know our key');
    this.#phase = 'ready';
    this.#backoffMs = BACKOFF_FIRST_MS;
    this.#takeover.handleReturned();
    this.#expectWithin(SILENCE_MS);
    this.#hooks.onStatus('connected', `Tabwire ${welcome.server_version}`);
    this.#hooks.onWelcome(welcome);
  }

  /** @param {string} type */
  #refuseType(type) {
    if (this.#refused.has(type)) return;
    this.#refused.add(type);
    this.send({ type: 'nack', reason: 'unknown_type' });
  }

  /** @param {WebSocket} socket @param {number} code @param {string} reason */
  async #handleClose(socket, code, reason) {
    if (socket !== this.#socket) return;
    this.#forgetSocket();
    const detail = reason || `closed with ${code}`;
    if (code === BAD_PROOF) return this.#retryAs('unproven', BACKOFF_MAX_MS, detail);
    if (code === REPLACED) return this.#handleReplaced(detail);
    this.#retryAs('disconnected', this.#nextBackoff(), detail);
  }

  /** @param {string} detail */
  async #handleReplaced(detail) {
    if (this.#takeover.handleReplaced() === 'cloned') await this.#identity.renew();
    this.#retryAs('replaced', this.#takeover.remainingHoldMs() || BACKOFF_FIRST_MS, detail);
  }

  /** @param {WebSocket} socket @param {unknown} error such as a key that is none */
  #dropIfOpen(socket, error) {
    if (socket === this.#socket) this.#drop('unproven', String(error));
  }

  /** We end it; what the peer still says is not heard. @param {Status} status @param {string} detail */
  #drop(status, detail) {
    const socket = this.#socket;
    this.#forgetSocket();
    socket?.close();
    this.#retryAs(status, this.#nextBackoff(), detail);
  }

  #forgetSocket() {
    clearTimeout(this.#silenceTimer);
    this.#socket = null;
    this.#handshake = null;
    this.#phase = 'opening'; // not idle: nobody may dial before the retry is arranged
  }

  /** @param {Status} status @param {number} delayMs @param {string} detail */
  #retryAs(status, delayMs, detail) {
    this.#hooks.onStatus(status, detail);
    this.#retryIn(delayMs);
  }

  /** @param {number} delayMs */
  #retryIn(delayMs) {
    clearTimeout(this.#retryTimer);
    this.#phase = 'idle';
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = undefined;
      this.#open();
    }, delayMs);
  }

  #nextBackoff() {
    const delayMs = this.#backoffMs;
    this.#backoffMs = Math.min(delayMs * 2, BACKOFF_MAX_MS);
    return delayMs;
  }

  /** @param {number} ms */
  #expectWithin(ms) {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = setTimeout(() => this.#drop('disconnected', `nothing heard for ${ms / 1000} s`), ms);
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
