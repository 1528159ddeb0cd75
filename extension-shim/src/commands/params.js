// @ts-check
// Checks the parameters of actions before anything happens.

import { clip } from '../lib/clip.js';
import { ActionError } from '../lib/errors.js';

/** Scripts are for execute_js, where their failures show. @param {unknown} url @returns {Promise<string>} */
export async function checkedUrl(url) {
  if (typeof url !== 'string' || !URL.canParse(url)) {
    throw new ActionError('invalid_params', 'url must be absolute, such as https://example.com/');
  }
  const { protocol, href } = new URL(url);
  if (protocol === 'file:') await assertFilesAllowed();
  else if (!['http:', 'https:'].includes(protocol) && href !== 'about:blank') {
    throw new ActionError('invalid_params', `${protocol} URLs are not opened; use http, https, file or about:blank`);
  }
  return href;
}

async function assertFilesAllowed() {
  if (await chrome.extension.isAllowedFileSchemeAccess()) return;
  throw new ActionError('invalid_params',
    'file: URLs need "Allow access to file URLs" in the details of Tabwire on chrome://extensions');
}

/** @param {string} name @param {unknown} value absent: false */
export function checkedFlag(name, value = false) {
  if (typeof value === 'boolean') return value;
  throw new ActionError('invalid_params', `${name} must be true or false`);
}

/** @param {string} name @param {unknown} value @param {{least: number, most: number}} range @returns {number} */
export function checkedInteger(name, value, { least, most }) {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return Number(value);
  throw new ActionError('invalid_params', `${name} must be a whole number from ${least} to ${most}`);
}

/** @param {string} name @param {unknown} value @param {{least: number, most: number}} range @returns {number} */
export function checkedNumber(name, value, { least, most }) {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw new ActionError('invalid_params', `${name} must be a number from ${least} to ${most}`);
}

/** @template {string} T @param {string} name @param {unknown} value @param {readonly T[]} choices @returns {T} */
export function checkedChoice(name, value, choices) {
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  throw new ActionError('invalid_params', `${name} must be one of ${choices.join(', ')}`);
}

/** @param {string} name @param {unknown} value @returns {string} */
export function checkedText(name, value) {
  if (typeof value === 'string' && value !== '') return value;
  throw new ActionError('invalid_params', `${name} must be a text`);
}

/** Characters that end a line, have no width, or turn the direction of text. */
const UNSHOWN = /[\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]+/gu;

/**
 * Words of an agent, as a person can be shown them: one line, in the order in which they are written. The daemon sends
 * no others; another daemon might. @param {string} text @param {number} most
 */
export function shownText(text, most) {
  return clip(text.replace(UNSHOWN, ' ').replace(/\s+/g, ' ').trim(), most);
}
