// @ts-check
// The pictures of a command, beside each other. The daemon drops them soon, so the last ones are kept here.

import { ask } from './feed.js';
import { element } from './parts.js';

/** How many pictures are kept. */
const KEPT = 32;

export class PictureStrip {
  #token;
  /** Addresses in this page, by the id of the picture; the oldest one first. @type {Map<string, Promise<string>>} */
  #addresses = new Map();
  /** How many pictures a command has. @type {Map<string, number>} */
  #counts = new Map();

  /** @param {string} token */
  constructor(token) {
    this.#token = token;
  }

  /** Those that were seen once are shown after the daemon has dropped them. @param {string} id of the command @param {number} [count] @returns {HTMLElement | null} */
  of(id, count = this.#counts.get(id) ?? 0) {
    if (count === 0) return null;
    this.#counts.set(id, count);
    const strip = element('div', { class: 'film', tabindex: '0', role: 'group', 'aria-label': 'Pictures' });
    for (let number = 0; number < count; number += 1) {
      const picture = element('img', { alt: count === 1 ? 'The picture that the agent got' : `Picture ${number + 1} of ${count} that the agent got` });
      strip.append(picture);
      this.#address(`${id}.${number}`).then((address) => { picture.setAttribute('src', address); }, () => picture.remove());
    }
    return strip;
  }

  /**
   * Its tab as it looked before and after it, of as many of these moments as there are pictures.
   * @param {string} id of the command @param {('before' | 'after')[]} moments @returns {HTMLElement | null}
   */
  around(id, moments) {
    if (moments.length === 0) return null;
    const strip = element('div', { class: 'film', tabindex: '0', role: 'group', 'aria-label': 'The tab before and after it' });
    for (const moment of moments) {
      const picture = element('img', { alt: `The tab ${moment} it` });
      strip.append(element('figure', {}, picture, element('figcaption', {}, moment === 'before' ? 'Before' : 'After')));
      this.#address(`${id}.${moment}`).then((address) => { picture.setAttribute('src', address); }, () => picture.parentElement?.remove());
    }
    return strip;
  }

  /** @param {string} id @returns {Promise<string>} */
  #address(id) {
    const known = this.#addresses.get(id);
    if (known) return known;
    const address = this.#get(id);
    this.#addresses.set(id, address);
    address.catch(() => this.#addresses.delete(id));
    for (const [oldest, gone] of this.#addresses) {
      if (this.#addresses.size <= KEPT) break;
      this.#addresses.delete(oldest);
      this.#counts.delete(oldest.slice(0, oldest.lastIndexOf('.')));
      gone.then((old) => URL.revokeObjectURL(old), () => {});
    }
    return address;
  }

  /** @param {string} id */
  async #get(id) {
    const response = await ask(`/dashboard/pictures/${encodeURIComponent(id)}`, this.#token);
    if (!response.ok) throw new Error(`${response.status}`);
    return URL.createObjectURL(await response.blob());
  }
}
