// @ts-check
// The older extensions, which only poll: those that ask to be let in, and those that are. The daemon reports
// them, for the popup and the badge. Nothing that an older extension claims about itself is shown.

/** @import {OlderExtensionsFrame} from '../../types/protocol.js' */

import { once } from '../lib/once.js';
import { SEEN_MAX } from './limits.js';

const KEY = 'older_extensions_seen';

export class OlderExtensions {
  /** @type {OlderExtensionsFrame['asking']} */
  asking = [];
  /** @type {OlderExtensionsFrame['let_in']} */
  letIn = [];
  /** Why the person's last decision does not count. */
  problem = '';
  /** Those that asked when the person has looked at the popup. @type {string[]} */
  #seen = [];
  /** Called when the requests that the person has not seen may have changed. */
  onChange = () => {};

  /** Reads the memory of an earlier worker. */
  restore = once(async () => {
    const kept = /** @type {any} */ (await chrome.storage.local.get(KEY))[KEY];
    if (Array.isArray(kept)) this.#seen = kept;
  });

  /** @param {OlderExtensionsFrame} frame */
  handleFrame({ asking, let_in, problem = '' }) {
    this.asking = asking;
    this.letIn = let_in;
    this.problem = problem;
    this.onChange();
  }

  /** The daemon is gone, and with it the knowledge of them. */
  forget() {
    this.asking = [];
    this.letIn = [];
    this.onChange();
  }

  /** How many ask that the person has not seen. */
  get unseen() {
    return this.asking.filter(({ extension_id }) => !this.#seen.includes(extension_id)).length;
  }

  /** The person has opened the popup. */
  look() {
    if (this.unseen === 0) return;
    const asking = this.asking.map(({ extension_id }) => extension_id);
    this.#seen = [...this.#seen.filter((id) => !asking.includes(id)), ...asking].slice(-SEEN_MAX);
    chrome.storage.local.set({ [KEY]: this.#seen }).catch(console.warn);
    this.onChange();
  }
}
