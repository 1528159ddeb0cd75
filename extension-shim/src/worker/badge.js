// @ts-check
// The toolbar icon: grey where no daemon is connected, and a badge of one character where the person is to look.
// More than one would cover the icon.

/** @import {Status} from '../connection/link.js' */

import { clip } from '../lib/clip.js';

/**
 * @typedef {{text: string, color: string, title: string, isGrey?: true}} BadgeFace no text: no badge
 *
 * @typedef {object} BadgeState
 * @property {Status} status
 * @property {string} detail
 * @property {boolean} isStopped the person has stopped all agents
 * @property {number} drawings how many requests for a drawing wait in tabs that are not in front
 * @property {number} asks how many questions of agents wait for an answer
 * @property {number} asking how many older extensions ask to be let in that the person has not seen
 * @property {boolean} isNaming the person is asked for a name of this browser
 * @property {boolean} hasUnconfirmed something was allowed that no person has confirmed
 */

/** The longest name of an agent in a title. */
const CLIENT_MAX = 60;

const [GREY, RED, AMBER, INK] = ['#5f6368', '#b3261e', '#9a6700', '#b5005f'];

/** @type {Record<Status, BadgeFace>} */
const FACES = {
  connected: { text: '', color: GREY, title: 'Tabwire: connected' },
  connecting: { text: '', color: GREY, title: 'Tabwire: connecting', isGrey: true },
  disconnected: { text: '', color: GREY, title: 'Tabwire: the daemon is not running or went away', isGrey: true },
  replaced: { text: '', color: GREY, title: 'Tabwire: another connection took over, trying again soon', isGrey: true },
  unpaired: { text: '!', color: RED, title: 'Tabwire: not paired, click to see what to do' },
  refused: { text: '!', color: RED, title: 'Tabwire: the key was refused, click to see what to do' },
  unproven: { text: '!', color: RED, title: 'Tabwire: another program listens on its port' },
  old_daemon: { text: '!', color: RED, title: 'Tabwire: the extension is newer than the daemon, click to see what to do' },
  old_extension: { text: '!', color: RED, title: 'Tabwire: the extension is older than the daemon, click to see what to do' },
  changed: { text: '!', color: RED, title: 'Tabwire: the files of this extension were changed, click to see what to do' },
};

/** @type {BadgeFace} */
const STOPPED = { text: '■', color: RED, title: 'Tabwire: you have stopped all agents in this browser' };
/** @type {BadgeFace} */
const UNCONFIRMED = { text: '!', color: AMBER, title: 'Tabwire: connected; something was allowed without you, click to see what' };

/** @type {BadgeState} */
const state = { status: 'connecting', detail: '', isStopped: false, drawings: 0, asks: 0, asking: 0, isNaming: false, hasUnconfirmed: false };
let shown = '';
/** The tabs that agents opened, and by whom. @type {{tabId: number, client: string}[]} */
let opened = [];
/** Tabs with a step that an agent asks the person to do. @type {import('../asks/hand_overs.js').MarkedTab[]} */
let handed = [];
/** Tabs in which the person shows something to an agent. @type {{tabId: number, client: string}[]} */
let recorded = [];
/** Tabs with a face of their own. @type {Set<number>} */
let marked = new Set();

/** @param {Status} status @param {string} detail */
export function showStatus(status, detail) {
  // A try that follows a failure would only make the icon flicker.
  if (status === 'connecting' && shown !== '') return;
  change({ status, detail });
}

/** @param {boolean} isStopped */
export function showStopped(isStopped) {
  change({ isStopped });
}

/** @param {number} drawings */
export function showDrawings(drawings) {
  change({ drawings });
}

/** @param {number} asks */
export function showAsks(asks) {
  change({ asks });
}

/** Until the person has looked at the popup. @param {number} asking */
export function showAsking(asking) {
  change({ asking });
}

/** Until the person has named this browser, or wants no name. @param {boolean} isNaming */
export function showNaming(isNaming) {
  change({ isNaming });
}

/** @param {boolean} hasUnconfirmed */
export function showUnconfirmed(hasUnconfirmed) {
  change({ hasUnconfirmed });
}

/** Says in each tab that an agent opened whose it is. @param {{tabId: number, client: string}[]} tabs */
export function showOpenedTabs(tabs) {
  opened = tabs;
  markTabs(faceOf(state));
}

/** Says in the tabs of such steps who asks for one, and where it ends. @param {import('../asks/hand_overs.js').MarkedTab[]} tabs */
export function showHandOvers(tabs) {
  handed = tabs;
  markTabs(faceOf(state));
}

/** Says in the tabs that are recorded for whom, and where it ends. @param {{tabId: number, client: string}[]} tabs */
export function showRecorded(tabs) {
  recorded = tabs;
  markTabs(faceOf(state));
}

/** @param {BadgeFace} face */
function markTabs({ text, title }) {
  /** @type {Map<number, {title: string, text: string}>} */
  const now = new Map(opened.map(({ tabId, client }) => [tabId, { title: `${title}. ${named(client)} opened this tab`, text: text || '•' }]));
  for (const { tabId, client } of recorded) {
    now.set(tabId, { title: `Tabwire: ${named(client)} records what you do here. Click to stop it`, text: '●' });
  }
  for (const { tabId, client, isStep } of handed) {
    const step = isStep ? 'You do this step alone: no agent sees this tab. Click to say Done or Cannot' : 'Click to begin the step that it asks for';
    now.set(tabId, { title: `Tabwire: ${named(client)} asks you to do something here. ${step}`, text: '⇄' });
  }
  for (const tabId of new Set([...marked, ...now.keys()])) {
    const own = now.get(tabId);
    Promise.all([
      chrome.action.setTitle({ tabId, title: own?.title ?? title }),
      // A badge that asks for the person stands above it.
      // Null: that of all tabs again.
      chrome.action.setBadgeText({ tabId, text: /** @type {any} */ (own?.text ?? null) }),
    ]).catch(console.debug);
  }
  marked = new Set(now.keys());
}

/** @param {string} client */
function named(client) {
  return clip(client, CLIENT_MAX) || 'an agent';
}

/** @param {Partial<BadgeState>} changes */
function change(changes) {
  Object.assign(state, changes);
  const face = faceOf(state);
  const text = JSON.stringify(face);
  if (text === shown) return;
  shown = text;
  show(face);
  markTabs(face);
}

/**
 * The first of these that holds: a stop, a widening without the person, a request of an agent, trouble, a question.
 * No agent can cover the first two by asking for a drawing. @param {BadgeState} now @returns {BadgeFace}
 */
function faceOf({ status, detail, isStopped, drawings, asks, asking, isNaming, hasUnconfirmed }) {
  if (isStopped) return STOPPED;
  if (status === 'connected' && hasUnconfirmed) return UNCONFIRMED;
  if (asks > 0) {
    const ask = asks === 1 ? 'an agent asks you something' : `agents ask you something (${asks})`;
    return { text: digit(asks + drawings), color: INK, title: `Tabwire: ${ask}, click to answer` };
  }
  if (drawings > 0) {
    const draw = drawings === 1 ? 'an agent asks you to draw' : `agents ask you to draw (${drawings})`;
    return { text: digit(drawings), color: INK, title: `Tabwire: ${draw}, click to go there` };
  }
  const face = FACES[status];
  if (status === 'connected' && asking > 0) {
    const who = asking === 1 ? '1 older extension asks' : `${asking} older extensions ask`;
    return { text: '?', color: AMBER, title: `Tabwire: ${who} to be let in, click to decide` };
  }
  if (status === 'connected' && isNaming) {
    return { text: '?', color: GREY, title: 'Tabwire: several browsers are connected, click to name this one' };
  }
  return detail ? { ...face, title: `${face.title} (${detail})` } : face;
}

/** In one character. @param {number} count */
function digit(count) {
  return count > 9 ? '+' : String(count);
}

/** @param {BadgeFace} face */
function show({ text, color, title, isGrey }) {
  const icon = (/** @type {number} */ size) => `/icons/icon-${isGrey ? 'grey-' : ''}${size}.png`;
  Promise.all([
    chrome.action.setIcon({ path: { 16: icon(16), 32: icon(32) } }),
    chrome.action.setBadgeText({ text }),
    chrome.action.setBadgeBackgroundColor({ color }),
    chrome.action.setBadgeTextColor({ color: '#ffffff' }),
    chrome.action.setTitle({ title }),
  ]).catch(console.debug);
}
