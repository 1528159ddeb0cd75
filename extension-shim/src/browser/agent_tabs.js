// @ts-check
// The tabs that agents opened. The daemon decides when one is closed; here is known what the person does with it.

/** @import {AgentTab} from '../../types/protocol.js' */
/** @import {Policy} from '../policy/policy.js' */
/** @import {AgentGroups} from './agent_groups.js' */
/** @import {TabDownloads} from './downloads.js' */

import { asksBeforeClosing, tellInput } from '../injected/leftover.js';
import { isAfterReload, sessionItems } from '../lib/session_items.js';
import { BROUGHT_MS, CLOSED_BESIDE_MS, CLOSING_MS, LIST_MS, UNLOAD_ASK_MS } from './limits.js';

const [SESSION_KEY, SWITCH_KEY] = ['agent_tabs', 'keep_agent_tabs'];

export class AgentTabs {
  /** As the daemon has them. @type {Map<number, AgentTab>} */
  #opened = new Map();
  /** All that agents opened, also before the daemon has heard of one and those that they want kept. @type {Set<number>} */
  #agents = new Set();
  /** The person's from now on; the daemon was not there to be told. @type {Set<number>} */
  #kept = new Set();
  /** Until when a tab that comes to the front does so for an agent. @type {Map<number, number>} */
  #brought = new Map();
  /** In front without the person's doing, or held: the person's keys and clicks are listened for. @type {Set<number>} */
  #watched = new Set();
  /** Tabs of the person that agents hold. @type {Set<number>} */
  #borrowed = new Set();
  /** Tabs in which frames of other extensions are aside, whoever holds or opened them. @type {Set<number>} */
  #beside = new Set();
  /** The window in which a tab was closed last, and when. @type {{windowId: number, at: number}} */
  #closed = { windowId: -1, at: 0 };
  #keepsAll = false;
  /** Whether the daemon that is connected has sent its list. */
  #isHeard = false;
  #policy;
  #downloads;
  #groups;
  /** @type {(text: string) => boolean} false: no daemon is connected */
  send = () => false;
  /** @type {() => Promise<void>} */
  tellTabs = async () => {};
  /** @type {(opened: AgentTab[]) => void} */
  onChange = () => {};
  /** The person uses a tab that an agent holds or has opened. @type {(tabId: number) => void} */
  onInput = () => {};
  /** A tab is the person's. @type {(tabId: number) => void} */
  onKept = () => {};

  /** @param {Policy} policy @param {TabDownloads} downloads @param {AgentGroups} groups */
  constructor(policy, downloads, groups) {
    this.#policy = policy;
    this.#downloads = downloads;
    this.#groups = groups;
  }

  /** Reads what an earlier worker knew. */
  async restore() {
    const [session, local] = await Promise.all([sessionItems(SESSION_KEY), chrome.storage.local.get(SWITCH_KEY)]);
    const { opened = [], kept = [], agents = [] } = /** @type {any} */ (session[SESSION_KEY] ?? {});
    this.#opened = new Map(opened.map((/** @type {AgentTab} */ tab) => [tab.tab_id, tab]));
    this.#kept = new Set(kept);
    for (const tabId of agents) this.#agents.add(tabId);
    await this.#groups.restore();
    this.#keepsAll = local[SWITCH_KEY] === true;
    if (await isAfterReload()) for (const tabId of this.#opened.keys()) this.#watch(tabId);
  }

  /** The daemon that has just connected sends its list if it has any. */
  handleReady() {
    for (const tabId of this.#kept) this.#tell(tabId);
    // It sends none if there are none, and groups are not to fall apart and be made again.
    this.#isHeard = false;
    setTimeout(() => { if (!this.#isHeard) this.#set([]); }, LIST_MS);
    this.#tellRestored().catch(console.warn);
  }

  /** The browser brings tabs back at its start, or when the person has it do so. */
  async #tellRestored() {
    const restored = await this.#groups.findRestored();
    if (restored.length === 0) return;
    // It knows a tab before it is told more of it.
    await this.tellTabs();
    if (!this.send(JSON.stringify({ type: 'restored_tabs', restored }))) this.#groups.doubt(restored);
  }

  /** @param {AgentTab[]} opened all of them */
  handleList(opened) {
    this.#isHeard = true;
    this.#set(opened.filter(({ tab_id }) => !this.#kept.has(tab_id)));
  }

  /** @returns {AgentTab[]} */
  get list() {
    return [...this.#opened.values()];
  }

  /** An agent has opened a tab. @param {number} tabId */
  noteOpened(tabId) {
    this.#agents.add(tabId);
    this.#store();
  }

  #store() {
    chrome.storage.session.set({ [SESSION_KEY]: { opened: this.list, kept: [...this.#kept], agents: [...this.#agents] } }).catch(console.warn);
  }

  /** The browser has given a tab another id. @param {number} added @param {number} removed */
  handleReplaced(added, removed) {
    if (this.#agents.delete(removed)) this.noteOpened(added);
  }

  /** @param {number | undefined} tabId @returns {boolean} whether an agent opened it, and the person has not made it their own */
  isAgents(tabId) {
    return tabId !== undefined && (this.#opened.has(tabId) || this.#agents.has(tabId));
  }

  /** Whether the person keeps every tab that agents open. */
  get keepsAll() {
    return this.#keepsAll;
  }

  /** @param {boolean} keepsAll */
  async setKeepsAll(keepsAll) {
    await chrome.storage.local.set({ [SWITCH_KEY]: keepsAll });
    this.#keepsAll = keepsAll;
    if (keepsAll) return;
    // The daemon has asked for them already, and would ask again only later.
    const due = this.list.filter(({ closes_at }) => closes_at !== undefined && Date.parse(closes_at) <= Date.now());
    this.handleClose(due.map(({ tab_id }) => tab_id)).catch(console.warn);
  }

  /** The tab is the person's from now on. @param {number} tabId @returns {boolean} false: no daemon is connected */
  keep(tabId) {
    this.onKept(tabId);
    if (this.#agents.delete(tabId)) this.#store();
    if (!this.#opened.has(tabId)) return true;
    this.#kept.add(tabId);
    const isTold = this.#tell(tabId);
    this.#set(this.list.filter(({ tab_id }) => tab_id !== tabId));
    return isTold;
  }

  /** @param {number} tabId */
  #tell(tabId) {
    const isTold = this.send(JSON.stringify({ type: 'keep_tab', tab_id: tabId }));
    if (isTold) this.#kept.delete(tabId);
    return isTold;
  }

  /** @param {AgentTab[]} opened */
  #set(opened) {
    this.#opened = new Map(opened.map((tab) => [tab.tab_id, tab]));
    this.#store();
    this.#groups.follow(opened);
    this.onChange(opened);
  }

  /** An agent brings a tab to the front. @param {number} tabId @param {{isNew?: boolean}} [tab] */
  bring(tabId, { isNew = false } = {}) {
    this.#brought.set(tabId, Date.now() + BROUGHT_MS);
    // The person's tabs are none of this.
    if (isNew || this.#opened.has(tabId)) this.#watch(tabId);
  }

  /** The person's own input ends the hold of their tab. @param {number[]} held all tabs that agents hold */
  handleHeld(held) {
    const borrowed = held.filter((tabId) => !this.isAgents(tabId));
    for (const tabId of borrowed) if (!this.#borrowed.has(tabId)) this.#watch(tabId);
    this.#borrowed = new Set(borrowed);
  }

  /** Frames of other extensions are aside in a tab from now on, or back: the person's own input has them come back. @param {number} tabId @param {boolean} areAside */
  handleAside(tabId, areAside) {
    if (!areAside) return void this.#beside.delete(tabId);
    this.#beside.add(tabId);
    this.#watch(tabId);
  }

  /** @param {number} tabId */
  #watch(tabId) {
    this.#watched.add(tabId);
    chrome.scripting.executeScript({ target: { tabId, allFrames: true }, func: tellInput }).catch(console.debug);
  }

  /** @param {{tabId: number, windowId: number}} shown */
  handleActivated({ tabId, windowId }) {
    if ((this.#brought.get(tabId) ?? 0) > Date.now()) return;
    if (!this.#opened.has(tabId)) return;
    // The browser shows a neighbour of a closed tab: nobody has chosen it.
    const isNeighbour = this.#closed.windowId === windowId && Date.now() - this.#closed.at < CLOSED_BESIDE_MS;
    if (isNeighbour) this.#watch(tabId);
    else this.keep(tabId);
  }

  /** @param {number} tabId @param {number} windowId */
  handleRemoved(tabId, windowId) {
    this.#closed = { windowId, at: Date.now() };
    this.#brought.delete(tabId);
    this.#watched.delete(tabId);
    this.#beside.delete(tabId);
    if (this.#agents.delete(tabId)) this.#store();
    this.#kept.delete(tabId);
    this.#groups.handleRemoved(tabId);
  }

  /** The person has moved it, in its window or to another one. @param {number} tabId */
  handleMoved(tabId) {
    if (!this.#groups.isOwnMove(tabId)) this.keep(tabId);
  }

  /** @param {number} tabId @param {{pinned?: boolean, groupId?: number, url?: string}} change */
  handleUpdated(tabId, change) {
    const { pinned, groupId, url } = change;
    if (pinned || (groupId !== undefined && !this.#groups.isOwnMove(tabId))) this.keep(tabId);
    this.#groups.handleUpdated(tabId, change);
    // Its group comes a moment after the tab.
    if (url !== undefined || groupId !== undefined) this.#tellRestored().catch(console.warn);
  }

  /** @param {{tabId: number, frameId: number, transitionQualifiers?: string[]}} details */
  handleCommitted({ tabId, frameId, transitionQualifiers = [] }) {
    if (frameId === 0 && transitionQualifiers.includes('from_address_bar')) this.keep(tabId);
    else if (this.#borrowed.has(tabId) || this.#beside.has(tabId) || this.#watched.has(tabId) && this.#opened.has(tabId)) this.#watch(tabId);
  }

  /** @param {any} message @param {chrome.runtime.MessageSender} sender @returns {boolean} whether it was for this part */
  handleMessage(message, { tab }) {
    if (message?.agent_tab !== 'input') return false;
    // A key that an agent presses is an event of the browser as well.
    if (tab?.id === undefined || this.#downloads.isActing(tab.id)) return true;
    this.onInput(tab.id);
    this.keep(tab.id);
    if (this.#borrowed.has(tab.id)) this.#tell(tab.id);
    return true;
  }

  /** Their agents have ended a while ago. The daemon asks again for one that stays open. @param {number[]} tabIds */
  async handleClose(tabIds) {
    for (const tabId of tabIds) await this.#close(tabId).catch(console.warn);
  }

  /** @param {number} tabId */
  async #close(tabId) {
    const known = this.#opened.get(tabId);
    if (!known || this.#keepsAll || this.#policy.isStopped) return;
    const tab = await chrome.tabs.get(tabId).catch(() => null);
    if (!tab) return;
    if (tab.pinned) return void this.keep(tabId);
    if (await isLookedAt(tab) || await isLast(tab) || await this.#downloads.isDownloading(known.client_id)) return;
    const asks = await asksFirst(tab);
    if (asks) return void this.keep(tabId);
    // The person may have come to it meanwhile.
    if (asks === undefined || !this.#opened.has(tabId)) return;
    // A group that ends with its window would stay for ever as a saved one.
    if ((tab.groupId ?? -1) !== -1) await this.#groups.release(tabId);
    await chrome.tabs.remove(tabId);
    await new Promise((resolve) => { setTimeout(resolve, CLOSING_MS); });
    if (await chrome.tabs.get(tabId).catch(() => null)) this.keep(tabId);
  }
}

/** Whether the person has it before their eyes. @param {chrome.tabs.Tab} tab */
async function isLookedAt({ active, windowId }) {
  if (!active) return false;
  const window = await chrome.windows.get(windowId).catch(() => null);
  return window?.focused === true;
}

/** Whether the browser would end with it. @param {chrome.tabs.Tab} tab */
async function isLast({ id }) {
  const windows = await chrome.windows.getAll({ populate: true });
  return windows.flatMap(({ tabs = [] }) => tabs).every((tab) => tab.id === id);
}

/** @param {chrome.tabs.Tab} tab @returns {Promise<boolean | undefined>} undefined: it does not say */
async function asksFirst({ id: tabId = -1, discarded, ...tab }) {
  // It has no page, or one that does not run: neither can ask, and neither is woken for this.
  if (discarded || /** @type {any} */ (tab).frozen) return false;
  // A page that loads without end would else never be asked.
  const asked = chrome.scripting.executeScript({ target: { tabId, allFrames: true }, func: asksBeforeClosing, injectImmediately: true });
  /** @type {Promise<undefined>} */
  const silence = new Promise((resolve) => { setTimeout(() => resolve(undefined), UNLOAD_ASK_MS); });
  // A page of the browser itself has nothing to ask.
  return Promise.race([asked.then((frames) => frames.some(({ result }) => result === true), () => false), silence]);
}
