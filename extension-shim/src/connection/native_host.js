// @ts-check
// Asks the program on this computer that the browser starts for us (`tabwire native-host`) for port and key.

/** @import {Config} from './config.js' */

import { headOf } from '../lib/clip.js';
import { readConfig } from './config.js';
import { HOST_ANSWER_MS, HOST_MESSAGE_MAX } from './limits.js';

const NAME = 'dev.tabwire.host';

/** Errors of the browser, and the explanation for a person. */
const BROWSER_ERRORS = [
  [/not found/i, 'Tabwire is not installed for this browser.'],
  [/forbidden/i, 'The browser keeps this extension from asking Tabwire: it is installed for an extension of another id.'],
];
const ENDED = 'Tabwire was started for the key and ended without an answer. `tabwire doctor` looks for the cause.';
const SILENT = `Tabwire was started for the key and did not answer within ${HOST_ANSWER_MS / 1000} s. \`tabwire doctor\` looks for the cause.`;
const NOT_UNDERSTOOD = 'Tabwire gave an answer that this extension does not understand. Update both.';

/**
 * A port, not `sendNativeMessage`: that one could not be given up, and a host that hangs would live as
 * long as the browser.
 * @returns {Promise<Config>}
 * @throws {Error} why there is none, for a person
 */
export function askHost() {
  return new Promise((resolve, reject) => {
    const port = chrome.runtime.connectNative(NAME);
    const giveUp = setTimeout(() => {
      port.disconnect();
      reject(new Error(SILENT));
    }, HOST_ANSWER_MS);
    port.onMessage.addListener((answer) => {
      clearTimeout(giveUp);
      port.disconnect();
      const config = readConfig(answer);
      if (config) resolve(config);
      else reject(new Error(wordsOf(answer)));
    });
    port.onDisconnect.addListener(() => {
      clearTimeout(giveUp);
      reject(new Error(wordsForEnd(chrome.runtime.lastError?.message ?? '')));
    });
    port.postMessage({ type: 'pair' });
  });
}

/** @param {any} answer */
function wordsOf(answer) {
  const { error, message } = answer ?? {};
  if (typeof error !== 'string' || typeof message !== 'string') return NOT_UNDERSTOOD;
  return `Tabwire says: ${headOf(message, HOST_MESSAGE_MAX)}`;
}

/** @param {string} message */
function wordsForEnd(message) {
  const [, words] = BROWSER_ERRORS.find(([pattern]) => /** @type {RegExp} */ (pattern).test(message)) ?? [];
  return /** @type {string | undefined} */ (words) ?? ENDED;
}
