// @ts-check
// Where port and key come from, in this order: `config.json`, its former content, the stored pairing (the
// host's last answer or the line that a person pasted), the host. A key that fails is passed over, never thrown
// away: any program on the port can refuse a good key.

/** @import {Config} from './config.js' */

import { messageOf } from '../lib/errors.js';
import { sessionItems } from '../lib/session_items.js';
import { loadConfig, readConfig } from './config.js';
import { HOST_AGAIN_FIRST_MS, HOST_AGAIN_MAX_MS } from './limits.js';
import { askHost } from './native_host.js';

const KEPT = 'pairing';
/** The former content of `config.json`: programs that can read files cannot read the extension's storage. */
const MOVED = 'pairing_moved';
const ASKED = 'pairing_asked';

/**
 * @typedef {'refused' | 'unreachable' | 'unproven'} Setback refused: by close code 4401; unreachable: no
 *   program on the port speaks the protocol; unproven: one does, and does not know the key
 * @typedef {Config & {by: 'host' | 'person'}} StoredPairing
 * @typedef {{at: number, wait_ms: number, trouble: string}} HostQuestion when the last question to the host began
 *   or ended, how long it is not asked again, and why there was no key
 * @typedef {{is_asking: boolean, is_pasted: boolean, trouble: string}} PairingState
 */

/** @param {Config} config */
const nameOf = ({ port, ext_key }) => `${port} ${ext_key}`;

export class Pairing {
  /** As they were at the last look. @type {(Config | StoredPairing)[]} */
  #known = [];
  /** The pairings that are passed over, by name, the latest last. @type {Map<string, Setback>} */
  #setbacks = new Map();
  /** Counts the person's steps, so that an answer of the host does not undo one. */
  #personSteps = 0;
  #isAsking = false;
  #trouble = '';
  #hooks;

  /**
   * @param {{onNews: () => void, onMoved: () => void}} hooks `onNews`: the host has given a port and key that were not
   *   known; `onMoved`: the key that `config.json` holds is kept here, and the daemon has proven that it knows it
   */
  constructor(hooks) {
    this.#hooks = hooks;
  }

  /** The pairing to try next; does not wait for the host's answer. @returns {Promise<Config | null>} */
  async load() {
    await this.#look();
    this.#askIfNeeded();
    return this.#next();
  }

  /** @param {Config} config @param {Setback} why @returns {boolean} whether there is another one to try */
  handleSetback(config, why) {
    this.#setbacks.delete(nameOf(config)); // So that it goes to the end.
    this.#setbacks.set(nameOf(config), why);
    this.#askIfNeeded();
    return this.#fresh().length > 0;
  }

  /** @param {Config} config the daemon has proven that it knows this key */
  handleProven(config) {
    this.#setbacks.delete(nameOf(config));
    this.#trouble = '';
    this.#shortenWait('').catch(console.warn);
    this.#move(config).catch(console.warn);
  }

  /** @param {Config} proven */
  async #move(proven) {
    const [file, stored] = await Promise.all([loadConfig(), chrome.storage.local.get(MOVED)]);
    const moved = readConfig(stored[MOVED]);
    const isMoved = moved !== null && nameOf(moved) === nameOf(proven);
    if (file && nameOf(file) === nameOf(proven)) {
      if (!isMoved) await chrome.storage.local.set({ [MOVED]: proven });
      this.#hooks.onMoved();
    } else if (moved && !isMoved && moved.port === proven.port) {
      // The daemon on that port has another key now, and has proven it.
      await chrome.storage.local.remove(MOVED);
    }
  }

  /** The person is there: all is tried anew, and the host is asked as soon as it may be. */
  async handlePerson() {
    this.#setbacks.clear();
    await this.#shortenWait();
  }

  /** @param {Config} config of a line that the person has pasted; it replaces the stored pairing */
  async paste(config) {
    this.#personSteps += 1;
    await chrome.storage.local.set({ [KEPT]: { ...config, by: 'person' } });
    this.#setbacks.delete(nameOf(config));
  }

  async forget() {
    this.#personSteps += 1;
    await chrome.storage.local.remove(KEPT);
  }

  /** @returns {PairingState} */
  state() {
    return { is_asking: this.#isAsking, is_pasted: this.#known.some(isPasted), trouble: this.#trouble };
  }

  /** A file or an entry that is not usable counts as none. */
  async #look() {
    const [file, { [MOVED]: moved }, { [KEPT]: stored }] = await Promise.all([
      loadConfig(), chrome.storage.local.get(MOVED), chrome.storage.local.get(KEPT),
    ]);
    const kept = readConfig(stored);
    const { by } = /** @type {StoredPairing} */ (stored ?? {});
    this.#known = [file, readConfig(moved), kept && { ...kept, by }].filter((one) => one !== null);
    const names = new Set(this.#known.map(nameOf));
    for (const name of this.#setbacks.keys()) if (!names.has(name)) this.#setbacks.delete(name);
  }

  #fresh() {
    return this.#known.filter((one) => !this.#setbacks.has(nameOf(one)));
  }

  /**
   * The first that is not passed over. If all are: a daemon that was away may be back. If all were refused:
   * the one whose refusal is longest ago.
   */
  #next() {
    if (this.#fresh().length === 0) {
      for (const [name, why] of this.#setbacks) if (why !== 'refused') this.#setbacks.delete(name);
    }
    const [oldest] = this.#setbacks.keys();
    const next = this.#fresh()[0] ?? this.#known.find((one) => nameOf(one) === oldest);
    return next ? { port: next.port, ext_key: next.ext_key } : null;
  }

  /** That a daemon is away is no reason to leave the one that a person has named. */
  #needsHost() {
    const isKeptFor = (/** @type {Config | StoredPairing} */ one) => isPasted(one) && this.#setbacks.get(nameOf(one)) !== 'refused';
    return this.#known.every((one) => this.#setbacks.has(nameOf(one)) && !isKeptFor(one));
  }

  #askIfNeeded() {
    if (this.#needsHost()) this.#askIfDue().catch(console.warn);
  }

  async #askIfDue() {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      const asked = await readAsked();
      this.#trouble = asked.trouble;
      const passed = Date.now() - asked.at;
      // The clock may have been set back.
      if (passed < 0 || passed >= asked.wait_ms) await this.#ask(asked.wait_ms);
    } finally {
      this.#isAsking = false;
    }
  }

  /** @param {number} waitedMs */
  async #ask(waitedMs) {
    const wait_ms = Math.min(Math.max(waitedMs * 2, HOST_AGAIN_FIRST_MS), HOST_AGAIN_MAX_MS);
    const asked = { at: Date.now(), wait_ms, trouble: this.#trouble };
    // Before the host is started: a worker that is ended meanwhile must not start it again at once.
    await chrome.storage.session.set({ [ASKED]: asked });
    const steps = this.#personSteps;
    /** @type {Config | null} */
    let told = null;
    try {
      told = await askHost();
      this.#trouble = '';
    } catch (error) {
      this.#trouble = messageOf(error);
    }
    await chrome.storage.session.set({ [ASKED]: { ...asked, at: Date.now(), trouble: this.#trouble } });
    if (told && steps === this.#personSteps) await this.#keep(told);
  }

  /** @param {Config} config of the host's answer */
  async #keep(config) {
    if (this.#known.some((one) => nameOf(one) === nameOf(config))) return;
    await chrome.storage.local.set({ [KEPT]: { ...config, by: 'host' } });
    this.#hooks.onNews();
  }

  /** @param {string} [trouble] */
  async #shortenWait(trouble) {
    const asked = await readAsked();
    const wait_ms = Math.min(asked.wait_ms, HOST_AGAIN_FIRST_MS);
    await chrome.storage.session.set({ [ASKED]: { ...asked, wait_ms, trouble: trouble ?? asked.trouble } });
  }
}

/** @param {Config | StoredPairing} one */
function isPasted(one) {
  return 'by' in one && one.by === 'person';
}

/** @returns {Promise<HostQuestion>} */
async function readAsked() {
  const stored = (await sessionItems(ASKED))[ASKED];
  return /** @type {HostQuestion} */ (stored ?? { at: 0, wait_ms: 0, trouble: '' });
}
