// @ts-check
// The older extensions, those that only poll: which of them ask to be let in, and which are. The daemon says
// so; here it is shown to the person. What such an extension says of itself is not among it.

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
  /** Whether there is something that the person has not seen may be other now. */
  onChange = () => {};

  /** What an earlier worker knew. */
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

  /** The daemon is gone: nobody knows. */
  forget() {
    this.asking = [];
    this.letIn = [];
    this.onChange();
  }

  /** How many ask that the person has not seen. */
  get unseen() {
    return this.asking.filter(({ extension_id }) => !this.#seen.includes(extension_id)).length;
  }

  /** The person looks. */
  look() {
    if (this.unseen === 0) return;
    const asking = this.asking.map(({ extension_id }) => extension_id);
    this.#seen = [...this.#seen.filter((id) => !asking.includes(id)), ...asking].slice(-SEEN_MAX);
    chrome.storage.local.set({ [KEY]: this.#seen }).catch(console.warn);
    this.onChange();
  }
}
