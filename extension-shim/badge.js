// @ts-check
// The toolbar icon tells whether Tabwire is connected, and if not, why.

/** @import {Status} from './link.js' */

/** @type {Record<Status, {text: string, color: string, title: string}>} */
const FACES = {
  connected: { text: 'on', color: '#188038', title: 'Tabwire: connected' },
  connecting: { text: '…', color: '#5f6368', title: 'Tabwire: connecting' },
  disconnected: { text: 'off', color: '#5f6368', title: 'Tabwire: the daemon is not running or went away' },
  unpaired: { text: '!', color: '#b3261e', title: 'Tabwire: not paired, click to see what to do' },
  refused: { text: '!', color: '#b3261e', title: 'Tabwire: the key was refused, click to see what to do' },
  unproven: { text: '!', color: '#b3261e', title: 'Tabwire: another program listens on its port' },
  old_daemon: { text: '!', color: '#b3261e', title: 'Tabwire: the extension is newer than the daemon, click to see what to do' },
  old_extension: { text: '!', color: '#b3261e', title: 'Tabwire: the extension is older than the daemon, click to see what to do' },
  replaced: { text: 'off', color: '#b3261e', title: 'Tabwire: another connection took over, trying again soon' },
};

const ASKING = { text: '?', color: '#9a6700' };

const STOPPED = { text: 'stop', color: '#b3261e', title: 'Tabwire: you have stopped all agents in this browser' };

const UNCONFIRMED = { text: '!', color: '#9a6700', title: 'Tabwire: connected; something was allowed without you, click to see what' };

/** @type {Status | 'unconfirmed' | null} */
let shown = null;
let isStopped = false;
/** How many older extensions ask to be let in that the person has not seen. */
let asking = 0;
let hasUnconfirmed = false;
/** The status that was told last, for when agents may go on. @type {[Status, string]} */
let last = ['connecting', ''];

/** Whether the person has stopped everything comes before all else. @param {boolean} stopped */
export function showStopped(stopped) {
  if (stopped === isStopped) return;
  isStopped = stopped;
  shown = null;
  if (stopped) show(STOPPED, '');
  else showStatus(...last);
}

/** Until the person has looked at the popup. @param {number} count of older extensions */
export function showAsking(count) {
  if (count === asking) return;
  asking = count;
  if (shown === 'connected') {
    shown = null;
    showStatus(...last);
  }
}

/** Something waits for the person to confirm it: a stop and what is wrong come before it. @param {boolean} has */
export function showUnconfirmed(has) {
  if (has === hasUnconfirmed) return;
  hasUnconfirmed = has;
  showStatus(...last);
}

/** @param {Status} status @param {string} detail */
export function showStatus(status, detail) {
  last = [status, detail];
  if (isStopped) return;
  const next = status === 'connected' && hasUnconfirmed ? 'unconfirmed' : status;
  // A try that follows a failure would only make the icon flicker.
  if (next === shown || (next === 'connecting' && shown !== null)) return;
  shown = next;
  const isAsked = next === 'connected' && asking > 0;
  const title = `Tabwire: ${asking} older ${asking === 1 ? 'extension asks' : 'extensions ask'} to be let in, click to decide`;
  if (next === 'unconfirmed') show(UNCONFIRMED, '');
  else if (isAsked) show({ ...ASKING, title }, '');
  else show(FACES[next], detail);
}

/** @param {{text: string, color: string, title: string}} face @param {string} detail */
function show({ text, color, title }, detail) {
  Promise.all([
    chrome.action.setBadgeText({ text }),
    chrome.action.setBadgeBackgroundColor({ color }),
    chrome.action.setTitle({ title: detail ? `${title} (${detail})` : title }),
  ]).catch(console.debug);
}
