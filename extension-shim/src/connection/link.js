// @ts-check
// The one link to the daemon: connect, prove, stay alive, come back. Over a socket; over HTTP while
// that cannot be had. Knows nothing of commands.

/** @import {FromExtension, PingFrame, ToExtension, WelcomeFrame} from '../../types/protocol.js' */
/** @import {Transport, TransportListeners} from './transports.js' */
/** @import {Config} from './config.js' */
/** @import {Identity} from './identity.js' */
/** @import {Setback} from './pairing.js' */
/** @import {Takeover} from './takeover.js' */

import { messageOf } from '../lib/errors.js';
import { BROWSER_CALL_MS } from '../lib/limits.js';
import { wellFormed } from '../lib/well_formed.js';
import { within } from '../lib/within.js';
import { Handshake } from './handshake.js';
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, HANDSHAKE_MS, SILENCE_MS, SOCKET_AGAIN_MS, SOCKET_FAILURES } from './limits.js';
import { PROTOCOL_VERSION } from './proof.js';
import { LOST, openHttp, openSocket, OTHER_PROGRAM } from './transports.js';

const REPLACED = 4001;
const BAD_PROOF = 4401;
const OTHER_VERSION = 4409;
/** Codes from here on are the daemon's own words: a socket that brings one can be had. */
const FIRST_OWN_CODE = 4000;

/**
 * @typedef {'connecting' | 'connected' | 'unpaired' | 'disconnected' | 'replaced' | 'refused' | 'unproven'
 *   | 'old_daemon' | 'old_extension' | 'changed'} Status changed: connected, but no commands come
 *
 * @typedef {object} Hooks
 * @property {() => Promise<Config | null>} loadConfig the port and key to try next
 * @property {(config: Config, why: Setback) => boolean} onSetback whether another one can be tried at once
 * @property {() => Promise<void>} prepare restores what `ready` reports
 * @property {(welcome: WelcomeFrame, config: Config) => void} onWelcome the daemon is proven: sends `ready`
 * @property {(frame: ToExtension) => boolean} onFrame false: this type is not known
 * @property {(status: Status, detail: string) => void} onStatus
 *
 * @typedef {object} Connection
 * @property {Transport} transport
 * @property {Handshake} handshake
 * @property {Config} config
 * @property {string} browserId
 * @property {Set<string>} refused unknown frame types that were refused once already
 * @property {ReturnType<typeof setTimeout> | undefined} silenceTimer
 */

export class Link {
  /** @type {Connection | null} the daemon at its other end is proven */
  #current = null;
  /** @type {Connection | null} not proven yet; beside a current one it is to take its place */
  #candidate = null;
  #isPreparing = false;
  /** Sockets in a row that could not be had. */
  #socketFailures = 0;
  #backoffMs = BACKOFF_FIRST_MS;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retryTimer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #socketTimer;
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
    if (this.#isIdle() && this.#retryTimer === undefined) this.#open();
  }

  /** The person asked: do not wait for the back-off. */
  connectNow() {
    if (this.#isIdle()) this.#retryIn(0);
  }

  /** Port and key are others now. */
  startOver() {
    this.#drop(this.#current);
    this.#drop(this.#candidate);
    [this.#current, this.#candidate] = [null, null];
    if (!this.#isPreparing) this.#retryAs('disconnected', 0, 'the pairing has changed');
  }

  /** The extension is about to be loaded anew. Should that not happen, the next try comes as after any loss. */
  leave() {
    this.#drop(this.#current);
    this.#drop(this.#candidate);
    [this.#current, this.#candidate] = [null, null];
    this.#retryAs('disconnected', BACKOFF_MAX_MS, 'the extension is loaded anew');
  }

  /** @param {FromExtension} frame */
  send(frame) {
    this.sendText(JSON.stringify(frame));
  }

  /** Every frame to the daemon passes here. @param {string} text of JSON.stringify @returns {boolean} false: no proven daemon is connected */
  sendText(text) {
    this.#current?.transport.send(wellFormed(text));
    return this.#current !== null;
  }

  #isIdle() {
    return !this.#current && !this.#candidate && !this.#isPreparing;
  }

  async #open() {
    this.#isPreparing = true;
    try {
      await within(BROWSER_CALL_MS, this.#hooks.prepare());
      const hold = this.#takeover.remainingHoldMs();
      if (hold > 0) return this.#retryAs('replaced', hold, 'another browser connected as this one');
      const config = await within(BROWSER_CALL_MS, this.#hooks.loadConfig());
      if (!config) return this.#retryAs('unpaired', BACKOFF_MAX_MS, '');
      const browserId = await within(BROWSER_CALL_MS, this.#identity.browserId());
      this.#hooks.onStatus('connecting', `127.0.0.1:${config.port}`);
      this.#dial(openSocket, config, browserId);
    } catch (error) {
      this.#retryAs('disconnected', this.#nextBackoff(), String(error));
    } finally {
      this.#isPreparing = false;
    }
  }

  /** @param {(port: number, listeners: TransportListeners) => Transport} open @param {Config} config @param {string} browserId */
  #dial(open, config, browserId) {
    const transport = open(config.port, {
      onFrame: (frame) => this.#handleFrame(connection, frame),
      onEnd: (code, reason) => this.#handleEnd(connection, code, reason || `closed with ${code}`),
    });
    const self = { port: config.port, extKey: config.ext_key, browserId, instanceId: this.#identity.instanceId };
    const handshake = new Handshake(self, (text) => connection === this.#candidate && transport.send(text));
    /** @type {Connection} */
    const connection = { transport, handshake, config, browserId, refused: new Set(), silenceTimer: undefined };
    this.#candidate = connection;
    this.#expectWithin(connection, HANDSHAKE_MS);
  }

  /** @param {Connection} connection @param {ToExtension} frame */
  #handleFrame(connection, frame) {
    if (connection === this.#candidate) {
      connection.handshake.handleFrame(frame).then(
        (welcome) => welcome && this.#handleWelcome(connection, welcome),
        (error) => this.#handleUnproven(connection, error),
      );
    } else if (connection === this.#current) {
      this.#expectWithin(connection, SILENCE_MS);
      if (frame.type === 'ping') this.send({ type: 'pong', t: /** @type {PingFrame} */ (frame).t });
      else if (!this.#hooks.onFrame(frame)) this.#refuseType(connection, frame.type);
    }
  }

  /** The former connection is dropped only now, when the new one is proven. @param {Connection} connection @param {WelcomeFrame} welcome */
  #handleWelcome(connection, welcome) {
    if (connection !== this.#candidate) return;
    this.#drop(this.#current);
    [this.#current, this.#candidate] = [connection, null];
    this.#backoffMs = BACKOFF_FIRST_MS;
    const isSocket = connection.transport.kind === 'socket';
    if (isSocket) this.#socketFailures = 0;
    else this.#trySocketLater();
    this.#takeover.handleReturned();
    this.#expectWithin(connection, SILENCE_MS);
    this.#hooks.onStatus('connected', `Tabwire ${welcome.server_version}${isSocket ? '' : ' over HTTP'}`);
    this.#hooks.onWelcome(welcome, connection.config);
  }

  #trySocketLater() {
    clearTimeout(this.#socketTimer);
    this.#socketTimer = setTimeout(() => {
      // Tried beside the current connection over HTTP, which goes on until the socket is proven.
      const now = this.#current;
      if (now?.transport.kind === 'http' && !this.#candidate) this.#dial(openSocket, now.config, now.browserId);
    }, SOCKET_AGAIN_MS);
  }

  /** @param {Connection} connection @param {string} type */
  #refuseType({ refused }, type) {
    if (refused.has(type)) return;
    refused.add(type);
    this.send({ type: 'nack', reason: 'unknown_type' });
  }

  /** The welcome is forged, or the key is malformed. @param {Connection} connection @param {unknown} error */
  #handleUnproven(connection, error) {
    if (connection !== this.#candidate) return;
    this.#drop(connection);
    this.#candidate = null;
    if (this.#current) return this.#trySocketLater();
    this.#retryUnproven(connection.config, messageOf(error));
  }

  /** @param {Config} config @param {string} why */
  #retryUnproven(config, why) {
    const isOther = this.#hooks.onSetback(config, 'unproven');
    this.#retryAs('unproven', isOther ? BACKOFF_FIRST_MS : this.#nextBackoff(), why);
  }

  /** @param {Connection} connection @param {number} code @param {string} reason */
  #handleEnd(connection, code, reason) {
    clearTimeout(connection.silenceTimer);
    if (connection === this.#candidate) this.#handleCandidateEnd(connection, code, reason);
    else if (connection === this.#current) this.#handleCurrentEnd(connection, code, reason);
  }

  /** @param {Connection} connection @param {number} code @param {string} reason */
  #handleCandidateEnd({ transport, config, browserId }, code, reason) {
    this.#candidate = null;
    if (this.#current) return this.#trySocketLater();
    if (code === OTHER_PROGRAM) return this.#retryUnproven(config, reason);
    if (transport.kind === 'socket' && code < FIRST_OWN_CODE) {
      this.#socketFailures += 1;
      // If the daemon is down, this fails as well.
      // A proxy or a policy may forbid WebSockets only.
      if (this.#socketFailures >= SOCKET_FAILURES) return this.#dial(openHttp, config, browserId);
    }
    const isUnreachable = transport.kind === 'http' && code < FIRST_OWN_CODE;
    if (isUnreachable && this.#hooks.onSetback(config, 'unreachable')) this.#retryAs('disconnected', BACKOFF_FIRST_MS, reason);
    else this.#comeBack(config, code, reason);
  }

  /** @param {Connection} connection @param {number} code @param {string} reason */
  #handleCurrentEnd({ config }, code, reason) {
    this.#current = null;
    const next = this.#candidate;
    // Replaced, but by ourselves: the daemon has taken our hello on the other transport.
    if (next && (code !== REPLACED || next.handshake.hasSentHello)) return;
    this.#drop(next);
    this.#candidate = null;
    this.#comeBack(config, code, reason);
  }

  /** @param {Config} config @param {number} code @param {string} reason */
  #comeBack(config, code, reason) {
    if (code === BAD_PROOF) this.#handleRefused(config);
    else if (code === REPLACED) this.#handleReplaced(reason);
    else if (code === OTHER_VERSION) this.#retryAs(olderSide(reason), BACKOFF_MAX_MS, `at 127.0.0.1:${config.port}`);
    else this.#retryAs('disconnected', this.#nextBackoff(), reason);
  }

  /** The reason is not shown: its words come from an unproven program. @param {Config} config */
  #handleRefused(config) {
    const delayMs = this.#hooks.onSetback(config, 'refused') ? BACKOFF_FIRST_MS : BACKOFF_MAX_MS;
    this.#retryAs('refused', delayMs, `at 127.0.0.1:${config.port}`);
  }

  /** @param {string} detail */
  async #handleReplaced(detail) {
    this.#isPreparing = true; // No dialling before the new id is there.
    if (this.#takeover.handleReplaced() === 'cloned') await this.#identity.renew();
    this.#isPreparing = false;
    this.#retryAs('replaced', this.#takeover.remainingHoldMs() || BACKOFF_FIRST_MS, detail);
  }

  /** Ends it; later frames of the peer are ignored. @param {Connection | null} connection */
  #drop(connection) {
    clearTimeout(connection?.silenceTimer);
    connection?.transport.close();
  }

  /** @param {Status} status @param {number} delayMs @param {string} detail */
  #retryAs(status, delayMs, detail) {
    this.#hooks.onStatus(status, detail);
    this.#retryIn(delayMs);
  }

  /** @param {number} delayMs */
  #retryIn(delayMs) {
    clearTimeout(this.#retryTimer);
    // One timer at most: a new reason to retry replaces the wait for the former one.
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

  /** @param {Connection} connection @param {number} ms */
  #expectWithin(connection, ms) {
    clearTimeout(connection.silenceTimer);
    connection.silenceTimer = setTimeout(() => {
      this.#drop(connection);
      this.#handleEnd(connection, LOST, `no frame for ${ms / 1000} s`);
    }, ms);
  }
}

/**
 * Which side is older, by the daemon's reason. No other words of it are shown: it has not proven the key.
 * @param {string} reason @returns {'old_daemon' | 'old_extension'}
 */
function olderSide(reason) {
  const [, theirs] = /daemon speaks protocol (\d{1,6})\b/.exec(reason) ?? [];
  return Number(theirs) > PROTOCOL_VERSION ? 'old_extension' : 'old_daemon';
}
