// @ts-check
// Port and pairing key: their form, from whatever source, and the file beside the manifest that
// may hold them (`tabwire extension unpack` writes it).

import { fromBase64Url, toBase64Url } from './proof.js';

const KEY_BYTES = 32;

/** @typedef {{port: number, ext_key: string}} Config */

/** Further fields are left out. @param {any} value @returns {Config | null} null: not a port and a key */
export function readConfig(value) {
  const { port, ext_key } = value ?? {};
  const isPort = Number.isInteger(port) && port > 0 && port < 65536;
  return isPort && isKey(ext_key) ? { port, ext_key } : null;
}

/** @param {unknown} text */
function isKey(text) {
  if (typeof text !== 'string') return false;
  try {
    const bytes = fromBase64Url(text);
    // Encoding it again shows errors that decoding forgives: padding, and bits beyond the last byte.
    return bytes.length === KEY_BYTES && toBase64Url(bytes) === text;
  } catch {
    return false;
  }
}

/**
 * Read anew for each attempt: port and key may change while the browser runs.
 * @returns {Promise<Config | null>} null if the file is missing or not usable
 */
export async function loadConfig() {
  try {
    const response = await fetch(chrome.runtime.getURL('config.json'), { cache: 'no-store' });
    return readConfig(await response.json());
  } catch {
    return null;
  }
}
