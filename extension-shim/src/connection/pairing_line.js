// @ts-check
// The line that `tabwire pair` prints, for a person to paste into the popup.

/** @import {Config} from './config.js' */

import { readConfig } from './config.js';
import { fromBase64Url } from './proof.js';

const PREFIX = 'tabwire-pair:';
const ALPHABET = /^[A-Za-z0-9_-]+$/;

/**
 * @param {string} text as it was pasted
 * @returns {{config: Config, trouble?: undefined} | {config?: undefined, trouble: string}} the trouble is a
 *   person's to read, and may have `code` in backquotes
 */
export function readPairingLine(text) {
  const line = text.trim();
  if (line === '') return { trouble: 'Paste the line that `tabwire pair` prints.' };
  if (!line.startsWith(PREFIX)) return { trouble: `This is not a pairing line. It begins with \`${PREFIX}\`.` };
  if (/\s/.test(line)) return { trouble: 'There are spaces or line breaks in it. Copy it as one line.' };
  const config = decode(line.slice(PREFIX.length));
  return config ? { config } : { trouble: 'The line is damaged or cut off. Copy all of it, or run `tabwire pair` again.' };
}

/** @param {string} encoded @returns {Config | null} */
function decode(encoded) {
  if (!ALPHABET.test(encoded)) return null;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(fromBase64Url(encoded));
    return readConfig(JSON.parse(text));
  } catch {
    return null;
  }
}
