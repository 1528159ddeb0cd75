// @ts-check
// One chrome.debugger session a tab: attached at the first command, dialogs kept from wedging the tab.

/** @import {Dialog} from '../../types/protocol.js' */

import { ActionError, closedMeanwhile, crashedTab, foreignFrame, messageOf, navigationInterrupted, noSuchTab } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import { sessionItems } from '../lib/session_items.js';
import { within } from '../lib/within.js';
import { handedOver } from '../policy/handed_over.js';
import { restrictedPage } from '../policy/pages.js';
import { EMULATION_OFF } from './emulation.js';
import { extensionNames, foreignFramesIn, isOfForeignFrame } from './foreign_extensions.js';
import { COMES_BACK, asideFrames } from './frames_aside.js';
import { ASIDE_CONFIRM_MS, ASIDE_KEEP_AGAIN_MS, ASIDE_REST_MS, ASIDE_TRIES, BURST_MS, DETACH_IDLE_MS, LOST_MS, TYPED_MS } from './limits.js';
import { OpenRequests } from './open_requests.js';
import { hasSize, sizeOfTab } from './page_size.js';

const PROTOCOL = '1.3';
const DISMISSED_KEY = 'dismissed';

/**
 * @typedef {object} Watcher takes the dialogs that open while a command runs
 * @property {Dialog[]} dialogs
 * @property {(dialog: Dialog) => void} [onDialog] one was dismissed
 * @property {(dialog: OpenedDialog) => void} [hold] takes it over: it stays open
 * @property {(accepted: boolean) => void} [onClosed] one was closed
 *
 * @typedef {Dialog & {defaultText: string, url: string}} OpenedDialog `url`: of the document that opened it
 *
 * @typedef {'recording' | 'page_state'} HoldReason
 *
 * @typedef {object} DebuggerSession
 * @property {Promise<void> | null} attaching null once attached
 * @property {OpenedDialog | null} open the dialog that blocks the page now
 * @property {Set<Watcher>} watchers
 * @property {ReturnType<typeof setTimeout> | undefined} idleTimer
 * @property {boolean} hasCrashed the browser has reported that the page's process is gone, and has started no new one
 * @property {Set<(error: unknown) => void>} unanswered protocol commands: a page that crashes never answers them
 * @property {PageFocus} focus
 * @property {boolean} setsAside frames of other extensions may be set aside for it
 * @property {boolean} isLost it was detached while it was being attached beside frames of other extensions
 * @property {Set<[method: string, params: object]>} regained given when it has been attached again in the middle of a command
 * @property {Set<string>} painted documents that have painted since it was attached
 *
 * @typedef {object} PageFocus why its pages take themselves for focused, and whether they do
 * @property {number} users commands that run
 * @property {ReturnType<typeof setTimeout> | undefined} timer a burst of commands
 * @property {ReturnType<typeof setTimeout> | undefined} linger a command that has just ended
 * @property {boolean} isOn the browser has been told so
 */

/** @type {Map<number, DebuggerSession>} */
const sessions = new Map();
/** Tabs whose debugger bar the person closed. Only the person can undo that. @type {Set<number>} */
const dismissed = new Set();
/** Tabs that are not let go when idle, and for what. @type {Map<number, Set<HoldReason>>} */
const held = new Map();
/** What others have to do when the debugger takes back what they have switched on. */
export const debuggerNews = {
  /** It is not attached any more, or the tab is closed. @type {(tabId: number) => void} */
  onLost: () => {},
  /** It was let go of, so that frames of other extensions could come back. @type {(tabId: number) => void} */
  onRest: () => {},
  /** It is attached to a tab with frames of other extensions, while a command needs it. @type {(tabId: number) => void} */
  onBeside: () => {},
  /** Frames of other extensions are being set aside in a tab. @type {(tabId: number) => void} */
  onAside: () => {},
  /** The source of requests is off, and an emulated network with it. @type {(tabId: number) => void} */
  onNetworkOff: () => {},
  /** Whether the person does, or did, a step in the tab alone. @type {(tabId: number) => boolean} */
  isHandedOver: () => false,
};
/** The requests under way in the attached tabs. */
export const openRequests = new OpenRequests((tabId, method, params) => cdp(tabId, method, params), (tabId) => isHeld(tabId));
/** Protocol commands that the browser answers itself, also where the page has no process. */
const ANSWERED_BY_BROWSER = new Set(['Inspector.enable', 'Page.stopLoading']);

/** The opposite of all that acts switch on, and switch off at their end, and of what agents have changed about a tab. @type {[string, object?][]} */
const SWITCHED_OFF = [
  ['Fetch.disable'], ['Page.setInterceptFileChooserDialog', { enabled: false }], ['Input.setInterceptDrags', { enabled: false }], ['Page.stopScreencast'],
  ['Target.setAutoAttach', { autoAttach: false, waitForDebuggerOnStart: false, flatten: true }],
  ['Network.setBypassServiceWorker', { bypass: false }], ['Overlay.hideHighlight'], ['Overlay.disable'],
  ...EMULATION_OFF,
];

/**
 * Attaches unless attached. @param {number} tabId @param {{setsAside?: boolean}} [so] whether frames of other extensions may be
 * set aside for it: not for what goes on without a command @returns {Promise<void>}
 */
export async function attach(tabId, { setsAside = true } = {}) {
  if (debuggerNews.isHandedOver(tabId)) throw handedOver(`tab ${tabId}`, false);
  if (dismissed.has(tabId)) throw dismissedError();
  const session = sessions.get(tabId) ?? startSession(tabId, setsAside);
  touch(tabId, session);
  try {
    if (session.attaching) await session.attaching;
  } catch (error) {
    // It was being attached for something else.
    if (!setsAside || session.setsAside || !(error instanceof ActionError) || error.code !== 'foreign_extension_frame') throw error;
    return attach(tabId);
  }
  if (session.hasCrashed) throw crashedTab(tabId);
}

/** Attaches, and stays so until it is let go. @param {number} tabId @param {HoldReason} [why] @returns {Promise<void>} */
export async function hold(tabId, why = 'recording') {
  held.set(tabId, (held.get(tabId) ?? new Set()).add(why));
  try {
    await attach(tabId, { setsAside: why !== 'recording' });
  } catch (error) {
    unhold(tabId, why);
    throw error;
  }
}

/** @param {number} tabId @param {HoldReason} why */
function unhold(tabId, why) {
  const reasons = held.get(tabId);
  if (reasons?.delete(why) && reasons.size === 0) held.delete(tabId);
}

/** Stays attached for as long as after a command, unless it is held for another reason. @param {number} tabId @param {HoldReason} [why] */
export function letGo(tabId, why = 'recording') {
  unhold(tabId, why);
  const session = sessions.get(tabId);
  if (session) touch(tabId, session);
}

/**
 * Lets go at once, unless a command uses the tab: the only thing that a page which never pauses cannot hold up.
 * @param {number} tabId @returns {boolean} whether it did
 */
export function drop(tabId) {
  if ((sessions.get(tabId)?.watchers.size ?? 1) > 0) return false;
  held.delete(tabId);
  forget(tabId);
  debuggerNews.onLost(tabId);
  chrome.debugger.detach({ tabId }).catch(console.debug);
  return true;
}

/** @param {number} tabId whether a recording needs it, and its domains stay switched on */
export function isHeld(tabId) {
  return held.get(tabId)?.has('recording') === true;
}

/**
 * Has a page take itself for focused and seen while `run` lasts: in the background it would paint nothing, and get no
 * focus events. @template T @param {number} tabId @param {() => Promise<T>} run
 * @param {number} [lingerMs] for which the page stays so: one that is hidden and seen again at once paints itself in parts
 * @returns {Promise<T>}
 */
export async function withFocus(tabId, run, lingerMs = 0) {
  const session = sessions.get(tabId);
  if (session) session.focus.users += 1;
  try {
    // The browser carries out the commands of a tab in their order: none of `run` comes before it.
    // Where it fails `run` does, and knows why.
    setFocusEmulation(tabId, true).catch(console.debug);
    return await run();
  } finally {
    if (session) {
      session.focus.users -= 1;
      if (lingerMs > 0) linger(tabId, session, lingerMs);
      endFocus(tabId, session);
    }
  }
}

/** @param {number} tabId @param {DebuggerSession} session @param {number} lingerMs */
function linger(tabId, session, lingerMs) {
  clearTimeout(session.focus.linger);
  session.focus.linger = setTimeout(() => {
    session.focus.linger = undefined;
    endFocus(tabId, session);
  }, lingerMs);
}

/** Whether its page takes itself for focused and seen, wherever it is. @param {number} tabId */
export function hasFocus(tabId) {
  const focus = sessions.get(tabId)?.focus;
  return focus !== undefined && isWanted(focus);
}

/**
 * The same for a burst of commands: a page that lost the focus between two of them would close its menus.
 * @param {number} tabId to which the debugger is attached
 */
export async function emulateFocus(tabId) {
  const session = sessions.get(tabId);
  if (!session) return;
  const isOn = session.focus.timer !== undefined;
  clearTimeout(session.focus.timer);
  session.focus.timer = setTimeout(() => {
    session.focus.timer = undefined;
    endFocus(tabId, session);
  }, BURST_MS);
  if (isOn) return;
  await setFocusEmulation(tabId, true).catch((error) => {
    clearTimeout(session.focus.timer);
    session.focus.timer = undefined;
    throw error;
  });
}

/** Before its time: nobody waits for what the burst did. @param {number} tabId */
export async function endBurst(tabId) {
  const session = sessions.get(tabId);
  if (!session) return;
  clearTimeout(session.focus.timer);
  clearTimeout(session.focus.linger);
  session.focus.timer = undefined;
  session.focus.linger = undefined;
  await endFocus(tabId, session);
}

/** @param {number} tabId @param {DebuggerSession} session */
async function endFocus(tabId, session) {
  // A later session of the tab decides for itself.
  if (sessions.get(tabId) === session && !isWanted(session.focus)) await setFocusEmulation(tabId, false).catch(console.debug);
}

/** @param {PageFocus} focus */
function isWanted({ users, timer, linger }) {
  return users > 0 || timer !== undefined || linger !== undefined;
}

/**
 * Once it is on, a call does not say so again: that would hold up its act for half a millisecond.
 * @param {number} tabId @param {boolean} enabled
 */
async function setFocusEmulation(tabId, enabled) {
  const focus = sessions.get(tabId)?.focus;
  if (enabled && focus?.isOn) return;
  if (focus) focus.isOn = enabled;
  try {
    await cdp(tabId, 'Emulation.setFocusEmulationEnabled', { enabled });
  } catch (error) {
    if (focus) focus.isOn = false;
    throw error;
  }
}

/** @param {number} tabId @returns {Set<string>} documents of a tab that have painted since the debugger was attached; may be added to */
export function paintedDocuments(tabId) {
  return sessions.get(tabId)?.painted ?? new Set();
}

/** @param {number} tabId @returns {object | undefined} the same one for as long as what was switched on in the tab stays on */
export function sessionKey(tabId) {
  return sessions.get(tabId);
}

/** @param {number} tabId */
export function isAttached(tabId) {
  return sessions.get(tabId)?.attaching === null;
}

/**
 * Asks the browser whether the page of a tab has crashed, attaching the debugger if need be.
 * @param {{id?: number, status?: string, discarded: boolean}} tab @returns {Promise<boolean>}
 */
export async function findCrash({ id, status, discarded }) {
  // Only a page without a process can have crashed: no other tab gets a debugger for this question.
  if (id === undefined || status !== 'unloaded' || discarded) return false;
  await attach(id, { setsAside: false }).catch(console.debug);
  return sessions.get(id)?.hasCrashed === true;
}

/**
 * @param {number} tabId @param {string} method @param {object} [params] @param {string} [sessionId] of a frame with a process of its own
 * @returns {Promise<any>} rejects with an Error whose message holds the protocol's words, or with `tab_crashed`
 */
export function cdp(tabId, method, params, sessionId) {
  return give(tabId, method, params, { sessionId, isAgain: sessionId === undefined });
}

/**
 * @param {number} tabId @param {string} method @param {object | undefined} params
 * @param {{sessionId?: string, isAgain?: boolean}} [so] `isAgain`: what a frame of another extension has cut off is given again,
 *   if it has not run @returns {Promise<any>}
 */
function give(tabId, method, params, { sessionId, isAgain = false } = {}) {
  const session = sessions.get(tabId);
  // A recording that ends switches the source off for all.
  if (method === 'Network.disable') {
    openRequests.forget(tabId);
    // The browser carries out the commands of a tab in their order.
    queueMicrotask(() => debuggerNews.onNetworkOff(tabId));
  }
  // A page that crashes between two commands of one action leaves the second without an answer, too.
  if (session?.hasCrashed && !ANSWERED_BY_BROWSER.has(method)) return Promise.reject(crashedTab(tabId));
  if (method.startsWith('Input.')) typedAt.set(tabId, performance.now());
  const target = sessionId === undefined ? { tabId } : { tabId, sessionId };
  const send = () => chrome.debugger.sendCommand(target, method, /** @type {any} */ (params));
  if (!session) return send();
  return new Promise((resolve, reject) => {
    session.unanswered.add(reject);
    const fail = (/** @type {unknown} */ error) => {
      if (!isAgain || !isLoss(messageOf(error))) return reject(error);
      afterLoss(tabId, session, method, error, send).then(resolve, reject);
    };
    send().then(resolve, fail).finally(() => session.unanswered.delete(reject));
  });
}

/**
 * Gives up the page that a tab is about to go to. Until it is there or given up, the browser holds back
 * nearly all commands to the former one, among them those that complete an attach. @param {number} tabId
 */
export async function stopLoading(tabId) {
  if (debuggerNews.isHandedOver(tabId)) throw handedOver(`tab ${tabId}`, false);
  if (dismissed.has(tabId)) throw dismissedError();
  // It may be attached: then this fails, and the next call works.
  if (!isAttached(tabId)) await chrome.debugger.attach({ tabId }, PROTOCOL).catch(console.debug);
  await cdp(tabId, 'Page.stopLoading');
  await attach(tabId); // From now on it is let go when idle.
}

/**
 * Dismisses dialogs while `run` lasts, or hands them over: an open dialog would hang the page and the command.
 * @template T @param {number} tabId @param {Watcher} watcher @param {() => Promise<T>} run
 * @returns {Promise<T>}
 */
export async function withDialogs(tabId, watcher, run) {
  const session = sessions.get(tabId);
  if (session?.open) meet(tabId, session, watcher);
  session?.watchers.add(watcher);
  try {
    return await run();
  } finally {
    session?.watchers.delete(watcher);
  }
}

/** @type {Set<{tabId: number, method: string, resolve: (came: boolean) => void}>} */
const expected = new Set();

/** @param {number} tabId @param {string} method @param {number} withinMs @returns {Promise<boolean>} whether it came */
export function nextEvent(tabId, method, withinMs) {
  return new Promise((resolve) => {
    const expectation = { tabId, method, resolve };
    expected.add(expectation);
    setTimeout(() => {
      expected.delete(expectation);
      resolve(false);
    }, withinMs);
  });
}

/** @type {Set<(tabId: number | undefined, method: string, params: any) => void>} */
const readers = new Set();

/** @param {number} tabId @param {string} method @param {(params: any) => void} handle @returns {() => void} ends it */
export function onEventOf(tabId, method, handle) {
  const read = (/** @type {number | undefined} */ of, /** @type {string} */ name, /** @type {any} */ params) => {
    if (of === tabId && name === method) handle(params);
  };
  readers.add(read);
  return () => void readers.delete(read);
}

/** @param {chrome.debugger.Debuggee} source @param {string} method @param {any} params */
export function handleEvent({ tabId }, method, params) {
  for (const one of expected) if (one.tabId === tabId && one.method === method) one.resolve(true);
  if (tabId !== undefined) openRequests.handleEvent(tabId, method, params);
  for (const read of readers) read(tabId, method, params);
  const session = tabId === undefined ? undefined : sessions.get(tabId);
  if (tabId === undefined || !session) return;
  if (method === 'Inspector.targetCrashed') noteCrash(tabId, session).catch(console.warn);
  if (method === 'Inspector.targetReloadedAfterCrash') noteRevival(tabId, session);
  // One that is not acknowledged is the last.
  if (method === 'Page.screencastFrame') cdp(tabId, 'Page.screencastFrameAck', { sessionId: params.sessionId }).catch(console.debug);
  if (method === 'Page.javascriptDialogClosed') {
    session.open = null;
    for (const watcher of session.watchers) watcher.onClosed?.(params.result);
  }
  if (method !== 'Page.javascriptDialogOpening') return;
  session.open = { type: params.type, message: params.message, defaultText: params.defaultPrompt ?? '', url: params.url ?? '' };
  for (const watcher of session.watchers) meet(tabId, session, watcher);
}

/** @param {number} tabId @param {DebuggerSession} session */
async function noteCrash(tabId, session) {
  session.hasCrashed = true;
  session.open = null;
  session.focus.isOn = false;
  // The browser sends the same event for a tab that it has put to sleep.
  const { discarded } = await chrome.tabs.get(tabId);
  if (discarded) session.hasCrashed = false;
  if (!session.hasCrashed) return;
  for (const reject of session.unanswered) reject(crashedTab(tabId));
}

/** @param {number} tabId @param {DebuggerSession} session */
function noteRevival(tabId, session) {
  session.hasCrashed = false;
  // A page that had crashed before the debugger was attached has never received it.
  cdp(tabId, 'Page.enable').catch(console.debug);
}

/** @param {chrome.debugger.Debuggee} source @param {string} reason */
export function handleDetach({ tabId }, reason) {
  if (tabId === undefined) return;
  const session = sessions.get(tabId);
  // Also the end of a tab: then it is not attached again.
  if (reason === 'target_closed' && session?.attaching === null && session.watchers.size > 0) regain(tabId, session);
  // While it is attached beside such frames, it is lost now and then.
  else if (reason === 'target_closed' && session?.attaching && session.setsAside) session.isLost = true;
  else forget(tabId);
  held.delete(tabId);
  debuggerNews.onLost(tabId);
  if (reason !== 'canceled_by_user') return;
  dismissed.add(tabId);
  rememberDismissed();
}

/** The browser has given a tab another id. @param {number} added @param {number} removed */
export function handleReplaced(added, removed) {
  forget(removed);
  held.delete(removed);
  if (!dismissed.delete(removed)) return;
  dismissed.add(added);
  rememberDismissed();
}

/** The person gives control back: the bar may be shown again. */
export function giveBack() {
  dismissed.clear();
  rememberDismissed();
}

/** The end of a worker is not the person's word. */
export async function restoreDismissed() {
  const stored = (await sessionItems(DISMISSED_KEY))[DISMISSED_KEY];
  for (const tabId of Array.isArray(stored) ? stored : []) dismissed.add(tabId);
}

function rememberDismissed() {
  chrome.storage.session.set({ [DISMISSED_KEY]: [...dismissed] }).catch(console.warn);
}

/** The debugger is still attached where the last worker attached it; taken over, it is let go when idle. */
export async function adoptAttached() {
  const targets = await chrome.debugger.getTargets();
  const tabIds = targets.filter(({ attached }) => attached).map(({ tabId }) => tabId);
  await Promise.all(tabIds.map((tabId) => tabId !== undefined && adopt(tabId).catch(console.debug)));
}

/** @param {number} tabId attached by somebody; only if it was us does a command work without attaching */
async function adopt(tabId) {
  // The browser answers this for a page without a process, too.
  await cdp(tabId, 'Inspector.enable');
  await attach(tabId, { setsAside: false });
}

/** @param {number} tabId @param {boolean} setsAside */
function newSession(tabId, setsAside) {
  /** @type {DebuggerSession} */
  const session = { attaching: null, setsAside, isLost: false, regained: new Set(), open: null, watchers: new Set(), idleTimer: undefined, hasCrashed: false, unanswered: new Set(),
    focus: { users: 0, timer: undefined, linger: undefined, isOn: false }, painted: new Set() };
  sessions.set(tabId, session);
  return session;
}

/** @param {number} tabId @param {boolean} setsAside */
function startSession(tabId, setsAside) {
  const session = newSession(tabId, setsAside);
  session.attaching = (setsAside ? openBeside(tabId, session) : open(tabId)).then(
    () => { session.attaching = null; },
    async (error) => {
      session.attaching = null;
      // It is attached, and is let go when idle.
      if (session.hasCrashed) return;
      forget(tabId);
      throw await attachError(tabId, error);
    },
  );
  return session;
}

/** @param {number} tabId */
async function open(tabId) {
  try {
    await chrome.debugger.attach({ tabId }, PROTOCOL);
  } catch (error) {
    // After a worker restart it may be ourselves who is attached: then commands work. In an act, the worker has put nothing
    // back: the person would get no file chooser and could drag nothing in this tab.
    if (!/already attached/.test(messageOf(error))) throw error;
    switchOff(tabId).catch(console.debug);
  }
  // The first makes the browser report an earlier crash of the page, which would never answer the second.
  const enabled = Promise.all([give(tabId, 'Inspector.enable', undefined), give(tabId, 'Page.enable', undefined)]);
  // From now on, so that a wait for an idle network knows of the requests that the act before it has begun.
  openRequests.count(tabId).catch(console.debug);
  await Promise.all([enabled, giveSize(tabId).catch(console.debug)]);
}

/**
 * Attaches, and sets frames of other extensions aside if they keep it out.
 * @param {number} tabId @param {DebuggerSession} session @param {() => Promise<unknown>} [restore] what has to be done once it is
 *   attached: the next frame may cut it off in there, too
 */
async function openBeside(tabId, session, restore) {
  for (let tries = 1; ; tries += 1) {
    let isSure = false;
    session.isLost = false;
    try {
      await open(tabId);
      if (asideFrames.has(tabId)) {
        await confirm(tabId);
        restLater(tabId);
        debuggerNews.onBeside(tabId);
      }
      await restore?.();
      if (!session.isLost) return;
    } catch (error) {
      // A debugger that was lost on the way may have been so for another reason, which the next try tells.
      if (error instanceof ActionError || !isLoss(messageOf(error)) || dismissed.has(tabId)) throw error;
      isSure = isOfForeignFrame(messageOf(error));
    }
    if (tries > ASIDE_TRIES) {
      asideFrames.giveUp(tabId);
      throw foreignFrame(await whoseFrames(tabId), { why: COMES_BACK });
    }
    await setAside(tabId, isSure);
  }
}

/** Attaching can succeed while a frame of another extension still loads, and is refused then. @param {number} tabId */
async function confirm(tabId) {
  const answer = chrome.debugger.sendCommand({ tabId }, 'Runtime.evaluate', { expression: '1' });
  await within(ASIDE_CONFIRM_MS, answer).catch((error) => { if (isLoss(messageOf(error))) throw error; });
}

/** @param {number} tabId @param {boolean} isSure the browser has said that it helps */
async function setAside(tabId, isSure) {
  // The person's own tools, such as a password manager, are needed there.
  if (debuggerNews.isHandedOver(tabId)) throw handedOver(`tab ${tabId}`, false);
  await asideFrames.setAside(tabId, { isOurs: isOurs(tabId), isSure });
  restLater(tabId);
}

/** @param {string} message of the browser, where a frame of another extension has kept the debugger out, or cut it off */
function isLoss(message) {
  return isOfForeignFrame(message) || /^(Detached while handling command|Debugger is not attached)/.test(message);
}

/** When we have typed or clicked in a tab. @type {Map<number, number>} */
const typedAt = new Map();

/** Whether it was us who used the keyboard or the pointer of a tab a moment ago. @param {number} tabId */
function isOurs(tabId) {
  return performance.now() - (typedAt.get(tabId) ?? -Infinity) < TYPED_MS;
}

/** Whether the person uses a tab now. @param {number} tabId @returns {Promise<boolean>} */
export function isPersonIn(tabId) {
  return asideFrames.isTyping(tabId, isOurs(tabId));
}

/**
 * Why the debugger stays out of a tab, if it is for frames of other extensions. Asked without attaching it.
 * @param {number} tabId @returns {Promise<{whose: string, why: string} | null>}
 */
export async function whyKeptOut(tabId) {
  return isAttached(tabId) ? null : asideFrames.whyLeft(tabId, isOurs(tabId));
}

/** Whether a command, or a burst of them, needs it. @param {DebuggerSession} session */
function isInUse({ watchers, focus, attaching }) {
  return attaching !== null || watchers.size > 0 || focus.users > 0;
}

/** Attaches again in the middle of a command. @param {number} tabId @param {DebuggerSession} session @returns {Promise<void>} */
function regain(tabId, session) {
  const again = async () => {
    // At the insertion of a frame, before the browser names it.
    await setAside(tabId, false);
    await openBeside(tabId, session, async () => {
      if (isWanted(session.focus)) await chrome.debugger.sendCommand({ tabId }, 'Emulation.setFocusEmulationEnabled', { enabled: true });
      // Not by way of `cdp`, which would wait until this is over.
      for (const [method, params] of session.regained) await chrome.debugger.sendCommand({ tabId }, method, params);
    });
  };
  const attaching = again().then(() => { session.attaching = null; }, async (error) => {
    session.attaching = null;
    if (sessions.get(tabId) === session) forget(tabId);
    throw await attachError(tabId, error);
  });
  session.attaching = attaching;
  attaching.catch(console.debug);
  return attaching;
}

/** Protocol commands that may be given twice. */
const REPEATABLE = /^(Emulation\.|Page\.(enable|setInterceptFileChooserDialog|getLayoutMetrics|captureScreenshot|startScreencast|stopScreencast|screencastFrameAck)|Network\.enable|Runtime\.(enable|disable)|Inspector\.enable|Target\.setAutoAttach|Overlay\.)/;

/**
 * After a command that was cut off by a frame of another extension. One that may have run is not given again.
 * @param {number} tabId @param {DebuggerSession} session @param {string} method @param {unknown} error @param {() => Promise<any>} send @returns {Promise<any>}
 */
async function afterLoss(tabId, session, method, error, send) {
  const hasRun = messageOf(error).startsWith('Detached while');
  // The person may have closed the bar, or the tab: the browser tells which.
  const end = performance.now() + LOST_MS;
  while (sessions.get(tabId) === session && !session.attaching && performance.now() < end) await pause(5);
  if (sessions.get(tabId) !== session) throw error;
  // Of some losses the browser tells nothing. Without a new attach every later command would fail like this one.
  const attaching = session.attaching ?? regain(tabId, session);
  const whose = await attaching.then(() => null, (/** @type {unknown} */ why) => why);
  // A tab that has gone, or shows a page that is closed to extensions, is told as such by the command that was cut off.
  if (whose !== null && !(whose instanceof ActionError && whose.code === 'foreign_extension_frame')) throw error;
  if (whose !== null) throw hasRun ? await cutOff(tabId) : whose;
  if (!hasRun || REPEATABLE.test(method)) return send();
  // Input goes to the page at once, and its effect is looked at afterwards.
  if (method.startsWith('Input.')) return {};
  throw await cutOff(tabId);
}

/** A frame has ended a command that had begun. @param {number} tabId @returns {Promise<ActionError>} */
export async function cutOff(tabId) {
  asideFrames.handleCutOff(tabId);
  return foreignFrame(await whoseFrames(tabId), { mayHaveRun: true, why: 'it appeared while the command ran' });
}

/** Of tabs where frames of other extensions are aside. @type {Map<number, ReturnType<typeof setInterval>>} */
const resting = new Map();

/** Puts frames of other extensions back once nothing needs the debugger there. @param {number} tabId */
function restLater(tabId) {
  if (resting.has(tabId)) return;
  debuggerNews.onAside(tabId);
  let keptAt = performance.now();
  resting.set(tabId, setInterval(() => {
    const session = sessions.get(tabId);
    const isNeeded = session && (isInUse(session) || session.focus.timer !== undefined || held.get(tabId)?.has('page_state'));
    if (!isNeeded) return void rest(tabId).catch(console.debug);
    if (performance.now() - keptAt < ASIDE_KEEP_AGAIN_MS) return;
    keptAt = performance.now();
    asideFrames.keep(tabId);
  }, ASIDE_REST_MS));
}

/** @param {number} tabId */
async function rest(tabId) {
  clearInterval(resting.get(tabId));
  resting.delete(tabId);
  const wasAttached = sessions.has(tabId);
  held.delete(tabId);
  forget(tabId);
  if (wasAttached) await chrome.debugger.detach({ tabId }).catch(console.debug);
  debuggerNews.onRest(tabId);
  // A command may have begun meanwhile.
  if (!sessions.has(tabId)) await asideFrames.putBack(tabId);
}

/** The person has come to a tab: a burst of commands there is over for its frames. @param {number} tabId */
export function handlePerson(tabId) {
  if (asideFrames.has(tabId)) endBurst(tabId).catch(console.debug);
}

/** The same for tabs that are closed to agents by now. @param {(tabId: number) => boolean} isClosed */
export function endBurstsBeside(isClosed) {
  for (const tabId of resting.keys()) if (isClosed(tabId)) handlePerson(tabId);
}

/**
 * Has a protocol command given each time that the debugger is attached again in the middle of a command.
 * @param {number} tabId @param {string} method @param {object} params @returns {() => void} ends it
 */
export function onRegained(tabId, method, params) {
  const session = sessions.get(tabId);
  /** @type {[string, object]} */
  const command = [method, params];
  session?.regained.add(command);
  return () => { session?.regained.delete(command); };
}

/** Puts back all that a former worker has left on. @param {number} tabId */
function switchOff(tabId) {
  return withFocus(tabId, async () => {
    for (const [method, params] of SWITCHED_OFF) cdp(tabId, method, params).catch(console.debug);
    await hasSize(() => cdp(tabId, 'Page.getLayoutMetrics'), () => sizeOfTab(tabId)).catch(console.debug);
  });
}

/**
 * A tab that was loaded anew in the background has a view without a size until it is shown: nothing in it could be seen or
 * clicked. It gets that of the tab beside it. @param {number} tabId
 */
async function giveSize(tabId) {
  const { width: own, windowId } = await chrome.tabs.get(tabId);
  if (own !== 0) return;
  const [shown] = await chrome.tabs.query({ active: true, windowId });
  const { width = 0, height = 0 } = shown ?? {};
  if (width > 0 && height > 0) await give(tabId, 'Emulation.setVisibleSize', { width, height });
}

/** @param {number} tabId @param {DebuggerSession} session */
function touch(tabId, session) {
  clearTimeout(session.idleTimer);
  if (held.has(tabId)) return;
  session.idleTimer = setTimeout(() => {
    forget(tabId);
    chrome.debugger.detach({ tabId }).catch(console.debug);
  }, DETACH_IDLE_MS);
}

/** @param {number} tabId */
function forget(tabId) {
  clearTimeout(sessions.get(tabId)?.idleTimer);
  clearTimeout(sessions.get(tabId)?.focus.timer);
  clearTimeout(sessions.get(tabId)?.focus.linger);
  sessions.delete(tabId);
  openRequests.forget(tabId);
}

/** @param {number} tabId @param {DebuggerSession} session @param {Watcher} watcher */
function meet(tabId, session, watcher) {
  if (!session.open) return;
  if (watcher.hold) return watcher.hold(session.open);
  const { type, message } = session.open;
  watcher.dialogs.push({ type, message });
  watcher.onDialog?.({ type, message });
  answerDialog(tabId, false).catch(console.debug);
}

/** @param {number} tabId @param {boolean} accept @param {string} [promptText] @returns {Promise<void>} */
export async function answerDialog(tabId, accept, promptText) {
  const session = sessions.get(tabId);
  // The next command may begin before the browser reports it closed.
  if (session) session.open = null;
  await cdp(tabId, 'Page.handleJavaScriptDialog', { accept, ...(promptText !== undefined && { promptText }) });
}

/** @param {number} tabId @param {unknown} error why attaching failed */
async function attachError(tabId, error) {
  if (error instanceof ActionError) return error;
  const message = messageOf(error);
  // The debugger also loses tabs that are open, to frames of other extensions.
  const isOpen = await chrome.tabs.get(tabId).then(() => true, () => false);
  if (!isOpen) return noSuchTab(`tab ${tabId} is not open`);
  if (isOfForeignFrame(message)) return foreignFrame(await whoseFrames(tabId));
  if (/Cannot (access|attach)|cannot be scripted/i.test(message)) return restrictedPage(`this page (${message})`);
  return new ActionError('debugger_unavailable', `the debugger cannot be attached (${message})`);
}

/** @param {number} tabId */
async function whoseFrames(tabId) {
  return extensionNames((await foreignFramesIn(tabId)).map(({ id }) => id));
}

/** @param {number} tabId whether the person closed its debugger bar */
export function isDismissed(tabId) {
  return dismissed.has(tabId);
}

/** @returns {number[]} the tabs whose debugger bar the person closed, also those that are closed by now */
export function dismissedTabs() {
  return [...dismissed];
}

/** Whether the person has closed the bar in any tab: one bar stands for all of them. */
export function isAnyDismissed() {
  return dismissed.size > 0;
}

function dismissedError() {
  return new ActionError('debugger_unavailable',
    'the person closed the debugger bar, which ends control of this tab', undefined,
    { hint: 'Ask the person to click "Give control back" in the Tabwire popup, or, for execute_js only, to switch on '
      + '"Allow User Scripts" in the details of Tabwire on chrome://extensions; then call again.' });
}

/**
 * Translates the failure of a protocol command for the command that sent it.
 * @param {unknown} error @param {number} tabId @param {boolean} tabOpen @returns {Promise<ActionError>}
 */
export async function commandError(error, tabId, tabOpen) {
  const message = messageOf(error);
  if (!tabOpen) return closedMeanwhile(tabId);
  if (dismissed.has(tabId)) return dismissedError();
  if (/navigated or closed|context (was )?destroyed|Cannot find context|Could not find (object|node)|No frame (for|with) given id/i.test(message)) {
    return navigationInterrupted();
  }
  const isCutOff = isLoss(message) && (asideFrames.has(tabId) || (await foreignFramesIn(tabId)).length > 0);
  if (isCutOff || isOfForeignFrame(message)) return cutOff(tabId);
  return new ActionError('debugger_unavailable', `the debugger failed: ${message}`);
}
