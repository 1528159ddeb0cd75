// @ts-check
// The toolbar icon tells whether Tabwire is connected, and if not, why.

/** @import {Status} from './link.js' */

/** @type {Record<Status, {text: string, color: string, title: string}>} */
const FACES = {
  connected: { text: 'on', color: '#188038', title: 'Tabwire: connected' },
  connecting: { text: '…', color: '#5f6368', title: 'Tabwire: connecting' },
  disconnected: { text: 'off', color: '#5f6368', title: 'Tabwire: the daemon is not running or went away' },
  unconfigured: { text: '!', color: '#b3261e', title: 'Tabwire: not paired, run `tabwire extension unpack`' },
  unproven: { text: '!', color: '#b3261e', title: 'Tabwire: the keys do not match, run `tabwire extension unpack` again' },
  replaced: { text: 'off', color: '#b3261e', title: 'Tabwire: another connection took over, trying again soon' },
};

/** @type {Status | null} */
let shown = null;

/** @param {Status} status @param {string} detail */
export function showStatus(status, detail) {
  if (status === 'unconfigured' && shown !== status) console.warn(`tabwire: ${detail}; run \`tabwire extension unpack\``);
  // A try that follows a failure would only make the icon flicker.
  if (status === shown || (status === 'connecting' && shown !== null)) return;
  shown = status;
  const { text, color, title } = FACES[status];
  Promise.all([
    chrome.action.setBadgeText({ text }),
    chrome.action.setBadgeBackgroundColor({ color }),
    chrome.action.setTitle({ title: `${title} (${detail})` }),
  ]).catch(console.debug);
}
