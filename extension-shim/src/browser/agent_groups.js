// @ts-check
// The tabs that agents opened as groups of the browser, if the person wants that, and which of them the browser has
// brought back. A group that ends with its window is saved by the browser for ever, so no tab is closed in a group.

/** @import {AgentTab} from '../../types/protocol.js' */

import { clip } from '../lib/clip.js';
import { sessionItems } from '../lib/session_items.js';
import { FORMER_MS, GROUP_TITLE_MAX, OWN_MOVE_MS } from './limits.js';

/**
 * @typedef {{tab_id: number, url: string, title?: string, color?: string}} LastSeenTab as it was last; without a title it stood in no group of ours
 * @typedef {{former: number, tab_id: number}} RestoredTab
 */

const [GROUPS_KEY, TABS_KEY, SWITCH_KEY] = ['agent_groups', 'agent_tabs_last_seen', 'group_agent_tabs'];
/** @type {chrome.permissions.Permissions} */
export const GROUPS_PERMISSION = { permissions: ['tabGroups'] };
const COLORS = ['blue', 'red', 'yellow', 'green', 'pink', 'purple', 'cyan', 'orange'];
const NO_GROUP = -1;

export class AgentGroups {
  #isOn = false;
  /** By window and client. @type {Map<string, number>} */
  #groups = new Map();
  /** Until when a move of a tab is our own. @type {Map<number, number>} */
  #moves = new Map();
  /** @type {AgentTab[]} */
  #opened = [];
  /** Those of the browser's former run that were not found again. @type {LastSeenTab[]} */
  #former = [];
  /** Until when they are looked for. */
  #lookUntil = 0;
  #noted = '';
  /** Open tabs that may be one of those. @type {Set<number>} */
  #doubtful = new Set();
  /** One after the other. @type {Promise<void>} */
  #work = Promise.resolve();

  /** Reads what an earlier worker knew. In a new run of the browser that is what its former run had. */
  async restore() {
    const [session, local] = await Promise.all([sessionItems(GROUPS_KEY), chrome.storage.local.get([SWITCH_KEY, TABS_KEY])]);
    this.#isOn = local[SWITCH_KEY] === true;
    /** @type {any} */
    const known = session[GROUPS_KEY];
    this.#groups = new Map(known?.groups ?? []);
    this.#former = known ? known.former : local[TABS_KEY] ?? [];
    this.#lookUntil = known?.lookUntil ?? Date.now() + FORMER_MS;
    this.#doubtful = new Set(known?.doubtful ?? []);
    this.#save();
  }

  get isOn() {
    return this.#isOn;
  }

  /** @param {boolean} isOn */
  async setOn(isOn) {
    await chrome.storage.local.set({ [SWITCH_KEY]: isOn });
    this.#isOn = isOn;
    await this.follow(this.#opened);
  }

  /** Whether a move of a tab, or its change of groups, is our own. @param {number} tabId */
  isOwnMove(tabId) {
    return (this.#moves.get(tabId) ?? 0) > Date.now();
  }

  /** @param {number} tabId */
  #move(tabId) {
    this.#moves.set(tabId, Date.now() + OWN_MOVE_MS);
  }

  /** Takes a tab out of its group. @param {number} tabId */
  async release(tabId) {
    this.#move(tabId);
    await chrome.tabs.ungroup(tabId);
  }

  /** Groups these tabs, and no others. @param {AgentTab[]} opened @returns {Promise<void>} */
  follow(opened) {
    const before = this.#opened;
    this.#opened = opened;
    if (before.length === 0 && opened.length === 0) return this.#work;
    const isOpened = new Set(opened.map(({ tab_id }) => tab_id));
    this.#work = this.#work.then(async () => {
      const isAllowed = this.#isOn && await chrome.permissions.contains(GROUPS_PERMISSION);
      for (const { tab_id } of isAllowed ? before : [...before, ...opened]) if (!isAllowed || !isOpened.has(tab_id)) await this.#leaveOurs(tab_id);
      if (isAllowed) for (const tab of opened) await this.#group(tab);
      await this.#note();
    }).catch(console.warn);
    return this.#work;
  }

  /** @param {AgentTab} opened */
  async #group({ tab_id, client, client_id }) {
    const tab = await chrome.tabs.get(tab_id).catch(() => null);
    if (!tab || tab.pinned || tab.incognito || tab.groupId !== NO_GROUP) return;
    const key = `${tab.windowId} ${client_id}`;
    this.#move(tab_id);
    const known = this.#groups.get(key);
    const joined = known !== undefined && await chrome.tabs.group({ tabIds: tab_id, groupId: known }).then(() => true, () => false);
    if (joined) return;
    // The known one has ended with its last tab.
    const groupId = await chrome.tabs.group({ tabIds: tab_id, createProperties: { windowId: tab.windowId } });
    this.#groups.set(key, groupId);
    this.#save();
    await chrome.tabGroups.update(groupId, /** @type {any} */ (faceOf(client, client_id)));
  }

  /** @param {number} tabId */
  async #leaveOurs(tabId) {
    if (this.#groups.size === 0) return;
    const tab = await chrome.tabs.get(tabId).catch(() => null);
    if (tab && [...this.#groups.values()].includes(tab.groupId)) await this.release(tabId);
  }

  /** Notes how the tabs look, for the browser's next run. */
  async #note() {
    const seen = await Promise.all(this.#opened.map(async ({ tab_id, client, client_id }) => {
      const tab = await chrome.tabs.get(tab_id).catch(() => null);
      if (!tab?.url?.startsWith('http') || tab.incognito) return [];
      const isOurs = [...this.#groups.values()].includes(tab.groupId);
      return [{ tab_id, url: tab.url, ...(isOurs && faceOf(client, client_id)) }];
    }));
    const noted = JSON.stringify(seen.flat());
    if (noted === this.#noted) return;
    await chrome.storage.local.set({ [TABS_KEY]: seen.flat() });
    this.#noted = noted;
  }

  #save() {
    const state = { groups: [...this.#groups], former: this.#former, lookUntil: this.#lookUntil, doubtful: [...this.#doubtful] };
    chrome.storage.session.set({ [GROUPS_KEY]: state }).catch(console.warn);
  }

  /** @param {number} tabId @param {{url?: string}} change */
  handleUpdated(tabId, { url }) {
    if (url !== undefined && this.#opened.some(({ tab_id }) => tab_id === tabId)) this.follow(this.#opened);
  }

  /** Tabs of agents that the browser has brought back and that nobody has touched. @returns {Promise<RestoredTab[]>} */
  async findRestored() {
    if (this.#former.length === 0 || Date.now() > this.#lookUntil) return [];
    const open = (await chrome.tabs.query({})).filter(({ incognito }) => !incognito);
    // After a reload of the extension they are all still there.
    this.#former = this.#former.filter(({ tab_id, url }) => !open.some((tab) => tab.id === tab_id && tab.url === url));
    const faces = await groupFaces();
    /** @type {RestoredTab[]} */
    const restored = [];
    for (const former of this.#former) {
      const alike = open.filter((tab) => (tab.url || tab.pendingUrl) === former.url && !this.#opened.some(({ tab_id }) => tab_id === tab.id));
      const ours = alike.filter(({ groupId, active }) => former.title !== undefined && !active && faces.get(groupId) === `${former.color} ${former.title}`);
      const [found] = ours;
      // Two that look the same may be the person's copy.
      if (ours.length === 1 && alike.length === 1 && found?.id !== undefined) {
        restored.push({ former: former.tab_id, tab_id: found.id });
        this.#move(found.id);
      } else for (const { id } of alike) if (id !== undefined) this.#doubtful.add(id);
    }
    const found = new Set(restored.map(({ former }) => former));
    this.#former = this.#former.filter(({ tab_id }) => !found.has(tab_id));
    for (const { tab_id } of restored) this.#doubtful.delete(tab_id);
    for (const { tab_id } of restored) this.#adopt(open.find(({ id }) => id === tab_id));
    this.#save();
    return restored;
  }

  /** @param {chrome.tabs.Tab | undefined} tab in a group of ours of the browser's former run */
  #adopt(tab) {
    if (tab && tab.groupId !== NO_GROUP) this.#groups.set(`${tab.windowId} restored ${tab.groupId}`, tab.groupId);
  }

  /** Open tabs that may be agents' of the browser's former run. They stay. @returns {number[]} */
  get doubtful() {
    return [...this.#doubtful];
  }

  /** The daemon was not told of them. @param {RestoredTab[]} restored */
  doubt(restored) {
    for (const { tab_id } of restored) this.#doubtful.add(tab_id);
    this.#save();
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    this.#moves.delete(tabId);
    if (this.#doubtful.delete(tabId)) this.#save();
  }
}

/** @param {string} client @param {string} clientId */
function faceOf(client, clientId) {
  const sum = [...clientId].reduce((all, letter) => (all * 31 + letter.charCodeAt(0)) % 9_973, 0);
  return { title: clip(client || 'Agent', GROUP_TITLE_MAX), color: COLORS[sum % COLORS.length] };
}

/** @returns {Promise<Map<number, string>>} colour and title of each group; none without the permission */
async function groupFaces() {
  if (!await chrome.permissions.contains(GROUPS_PERMISSION)) return new Map();
  const groups = await chrome.tabGroups.query({});
  return new Map(groups.map(({ id, color, title }) => [id, `${color} ${title}`]));
}
