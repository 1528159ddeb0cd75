// @ts-check
// The clipboards of clients: each is fed by its client's copies and used by its pastes. The person's clipboard is another
// thing: nothing here reads or writes it.

import { CLIPBOARD_CHARACTERS, CLIPBOARDS_MAX } from './limits.js';

/**
 * @typedef {object} ClipboardContent
 * @property {Record<string, string>} data by type, such as `text/plain`
 * @property {boolean} isSecret from a field that nobody should read: pasted, but not told
 */

export class OwnClipboards {
  /** @type {Map<string, ClipboardContent>} by client, the oldest first */
  #contents = new Map();

  /** @param {string} client @returns {ClipboardContent | undefined} */
  of(client) {
    return this.#contents.get(client);
  }

  /** @param {string} client @param {ClipboardContent} content @returns {boolean} whether it was not too large to be kept */
  keep(client, content) {
    const size = Object.entries(content.data).reduce((sum, [type, text]) => sum + type.length + text.length, 0);
    if (size > CLIPBOARD_CHARACTERS) return false;
    this.#contents.delete(client);
    this.#contents.set(client, content);
    const [oldest] = this.#contents.keys();
    if (this.#contents.size > CLIPBOARDS_MAX) this.#contents.delete(oldest);
    return true;
  }
}
