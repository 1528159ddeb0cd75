// @ts-check
// The ids of this browser: `browser_id` lasts as long as the installation, `session` as long as the browser runs,
// `instance_id` as long as the worker.

import { sessionItems } from '../lib/session_items.js';

/** 128 random bits in hex. */
function randomHex() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export class Identity {
  instanceId = `inst_${randomHex()}`;
  /** @type {string | null} */
  #browserId = null;

  /** @returns {Promise<string>} */
  async browserId() {
    if (this.#browserId === null) {
      const stored = await chrome.storage.local.get('browser_id');
      const known = stored.browser_id;
      this.#browserId = typeof known === 'string' ? known : await this.renew();
    }
    return this.#browserId;
  }

  /** A new id, because none was stored or because a copy of this profile carries the old one. */
  async renew() {
    this.#browserId = `b_${randomHex()}`;
    await chrome.storage.local.set({ browser_id: this.#browserId });
    return this.#browserId;
  }
}

/**
 * Names this run of the browser, within which the numbers of its tabs mean the same. A reload of the extension
 * ends it too. @returns {Promise<string>}
 */
export async function browserSession() {
  const { browser_session: known } = await sessionItems('browser_session');
  if (typeof known === 'string') return known;
  const made = `run_${randomHex()}`;
  await chrome.storage.session.set({ browser_session: made });
  return made;
}

/** A name that a person recognises, for example "Google Chrome on Linux". */
export function browserLabel() {
  /** @type {any} userAgentData is not in TypeScript's DOM library. */
  const data = /** @type {any} */ (navigator).userAgentData;
  /** @type {string[]} */
  const brands = (data?.brands ?? []).map((/** @type {{brand: string}} */ entry) => entry.brand);
  const real = brands.filter((brand) => !/not.*brand/i.test(brand));
  const name = real.find((brand) => brand !== 'Chromium') ?? real[0] ?? 'Chromium';
  return data?.platform ? `${name} on ${data.platform}` : name;
}
