// @ts-check
// The open tabs. Kept up to date from events, so that no command waits for chrome.tabs.

/** @import {BrowserTab} from '../../types/protocol.js' */
/** @import {Policy} from '../policy/policy.js' */

import { noSuchTab } from '../lib/errors.js';
import { handedOver } from '../policy/handed_over.js';
import { ownPage } from '../policy/own_pages.js';
import { drawnTab, originOf } from '../policy/pages.js';
import { fileIn, hidesOwner } from '../policy/sites.js';
import { TABS_DEBOUNCE_MS } from './limits.js';
import { PrivateTabs } from './private_tabs.js';
import { ReplacedTabs } from './replaced_tabs.js';

export class Tabs {
  /** @type {Map<number, chrome.tabs.Tab>} in the order of windows and tab strips */
  #tabs = new Map();
  /** @type {number} */
  #focusedWindow = chrome.windows.WINDOW_ID_NONE;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #lastTold = '';
  /** Whether more has changed than what the events about single tabs have told. */
  #asks = false;
  /** Questions to the browser that are under way: an answer may be older than an event that comes before it. */
  #asking = 0;
  /** @type {(tabs: BrowserTab[]) => void} */
  onChange = () => {};
  #policy;
  #prefixOf;
  #replaced;
  #private;

  /** @param {Policy} policy @param {(tabId: number) => string | undefined} prefixOf the letters of the refs of a tab's elements @param {ReplacedTabs} replaced @param {PrivateTabs} privateTabs */
  constructor(policy, prefixOf = () => undefined, replaced = new ReplacedTabs(), privateTabs = new PrivateTabs()) {
    this.#policy = policy;
    this.#prefixOf = prefixOf;
    this.#replaced = replaced;
    this.#private = privateTabs;
  }

  /** Asks the browser for all of it. */
  async load() {
    const [all, focused] = await this.#whileAsking(() => Promise.all([chrome.tabs.query({}), lastFocusedWindow()]));
    this.#focusedWindow = focused.incognito ? this.#windowBehind(all) : focused.id ?? chrome.windows.WINDOW_ID_NONE;
    this.#tabs = new Map(all.map((tab) => [/** @type {number} */ (tab.id), tab]));
  }

  /** @template T @param {() => Promise<T>} ask @returns {Promise<T>} */
  async #whileAsking(ask) {
    this.#asking += 1;
    try {
      return await ask();
    } finally {
      this.#asking -= 1;
    }
  }

  /** Nobody is to notice that the person is in a private window. @param {chrome.tabs.Tab[]} all @returns {number} the window for which they take it */
  #windowBehind(all) {
    const others = all.filter(({ incognito }) => !incognito).map(({ windowId }) => windowId);
    return others.includes(this.#focusedWindow) ? this.#focusedWindow : others[0] ?? chrome.windows.WINDOW_ID_NONE;
  }

  /** The window in which a new tab opens that is not private. */
  get openWindow() {
    return this.#focusedWindow;
  }

  /** @returns {BrowserTab[]} */
  list() {
    const all = [...this.#tabs.values()];
    const active = new Set(all.filter((tab) => tab.active).map((tab) => drawnTab(tab) ?? tab.id));
    return all.filter((tab) => !this.#isPersons(tab)).map((tab) => this.#entry(tab, active.has(tab.id)));
  }

  /** The list, remembered as it was sent: only a different one is sent again. */
  listToTell() {
    const list = this.list();
    this.#lastTold = JSON.stringify(list);
    return list;
  }

  /** Something changed; many events of one page load make one frame. */
  handleChange() {
    this.#asks = true;
    this.#tellSoon();
  }

  #tellSoon() {
    this.#timer ??= setTimeout(() => this.#tell(), TABS_DEBOUNCE_MS);
  }

  /** The event has all of the tab: a page that loads makes several of them, and none makes the browser list its tabs. @param {chrome.tabs.Tab} tab */
  handleUpdated(tab) {
    if (tab.id === undefined) return;
    if (!this.#tabs.has(tab.id) || this.#asking > 0) this.#asks = true;
    this.#tabs.set(tab.id, tab);
    this.#tellSoon();
  }

  /** The browser has given a tab another id, since it has unloaded its page. @param {number} added @param {number} removed */
  handleReplaced(added, removed) {
    const tab = this.#tabs.get(removed);
    this.#tabs.delete(removed);
    if (tab) this.#tabs.set(added, { ...tab, id: added, discarded: true, status: 'unloaded' });
    this.handleChange();
  }

  /** Its window shows this tab from now on. @param {{tabId: number, windowId: number}} shown */
  handleActivated({ tabId, windowId }) {
    for (const [id, tab] of this.#tabs) if (tab.windowId === windowId) this.#tabs.set(id, { ...tab, active: id === tabId });
    this.handleChange();
  }

  /** @param {number} tabId @returns {number | undefined} the tab that its window shows, as the events have it */
  activeBeside(tabId) {
    const windowId = this.#tabs.get(tabId)?.windowId;
    return [...this.#tabs.values()].find((tab) => tab.active && tab.windowId === windowId)?.id;
  }

  /** @param {number} tabId @returns {number | undefined} the window that shows it now, as the events have it */
  shownIn(tabId) {
    const tab = this.#tabs.get(tabId);
    return tab?.active ? tab.windowId : undefined;
  }

  /** It has come into another window. @param {number} tabId @param {number} windowId */
  handleAttached(tabId, windowId) {
    const tab = this.#tabs.get(tabId);
    if (tab) this.#tabs.set(tabId, { ...tab, windowId });
    this.handleChange();
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    this.#tabs.delete(tabId);
    this.handleChange();
  }

  /**
   * The tab that a command is meant for. @param {number | undefined} tabId absent: where the person is
   * @returns {Promise<chrome.tabs.Tab & {id: number}>}
   */
  async target(tabId) {
    const cached = this.known(tabId);
    return hasId(cached) ? cached : this.fresh(tabId);
  }

  /**
   * The same, asking the browser: some facts come late by events, or not at all. @param {number | undefined} tabId
   * @returns {Promise<chrome.tabs.Tab & {id: number}>}
   */
  async fresh(tabId) {
    const named = tabId === undefined ? undefined : await this.#asked(this.#replaced.now(tabId));
    // To ask for all of them takes several times as long.
    if (hasId(named)) this.#tabs.set(named.id, named);
    else await this.load();
    const tab = this.known(tabId);
    if (hasId(tab)) return tab;
    const meant = tabId === undefined ? this.#activeTab() : this.#tabs.get(this.#replaced.now(tabId));
    if (meant && this.#private.isPersons(meant)) throw noSuchTab(absence(tabId));
    if (meant && this.#isOwn(meant)) throw ownPage(false);
    if (this.#policy.handed.hasTab(tabId === undefined ? this.#activeTab()?.id : this.#replaced.now(tabId))) throw handedOver(tabId === undefined ? 'the tab in front' : `tab ${tabId}`, false);
    throw noSuchTab(absence(tabId));
  }

  /** @param {number} tabId @returns {Promise<chrome.tabs.Tab | undefined>} */
  async #asked(tabId) {
    try {
      // Of the number of no tab the browser says so before it gives a promise.
      return await this.#whileAsking(() => chrome.tabs.get(tabId));
    } catch {
      return undefined;
    }
  }

  /** Shows a tab to the person: in its window, and its window before all others. @param {number} tabId */
  async bringToFront(tabId) {
    const tab = await chrome.tabs.update(tabId, { active: true });
    if (tab) await chrome.windows.update(tab.windowId, { focused: true });
  }

  /** @returns {Promise<number | undefined>} the tab that the person sees, pop-up windows included */
  async inFront() {
    const window = await chrome.windows.getLastFocused({ windowTypes: ['normal', 'popup', 'app'] }).catch(() => null);
    if (window?.id === undefined) return undefined;
    const [tab] = await chrome.tabs.query({ active: true, windowId: window.id });
    return tab?.id;
  }

  /** @param {number} tabId whether it is open now, as the browser has it */
  async isOpen(tabId) {
    return chrome.tabs.get(this.#replaced.now(tabId)).then(() => true, () => false);
  }

  /**
   * The tab that a command is meant for, as the events have it. A tab that a person draws in, or does a step in, is theirs
   * alone: agents have the one that it came from. So is a tab with a page of Tabwire.
   * @param {number | undefined} tabId absent: where the person is @returns {chrome.tabs.Tab | undefined}
   */
  known(tabId) {
    const tab = tabId === undefined ? this.#activeTab() : this.#tabs.get(this.#replaced.now(tabId));
    return tab && !this.#isPersons(tab) ? tab : undefined;
  }

  /** @param {chrome.tabs.Tab} tab whether it is for the person alone */
  #isPersons(tab) {
    return drawnTab(tab) !== undefined || this.#private.isPersons(tab) || this.#isOwn(tab) || this.#policy.handed.hasTab(tab.id);
  }

  /** @param {chrome.tabs.Tab} tab whether it shows a page of Tabwire that is not for drawing */
  #isOwn(tab) {
    return drawnTab(tab) === undefined && this.#policy.own.hasTab(tab);
  }

  #activeTab() {
    const active = [...this.#tabs.values()].find((tab) => tab.active && tab.windowId === this.#focusedWindow);
    const drawn = active && drawnTab(active);
    return drawn === undefined ? active : this.#tabs.get(drawn);
  }

  /** @param {number | undefined} tabId @returns {string} its title, for the person */
  titleOf(tabId) {
    const tab = tabId === undefined ? undefined : this.#tabs.get(tabId);
    return tab?.title || tab?.url || (tabId === undefined ? 'the browser' : `tab ${tabId}`);
  }

  /** The daemon has the letters of a tab before it gets a report with a ref of them. */
  handleNewPrefix() {
    if (this.#lastTold === '') return this.handleChange();
    this.onChange(this.listToTell());
  }

  /** The daemon has every change before this resolves. */
  async tellNow() {
    clearTimeout(this.#timer);
    this.#asks = true;
    await this.#tell();
  }

  async #tell() {
    this.#timer = undefined;
    const asks = this.#asks;
    this.#asks = false;
    if (asks) await this.load();
    const before = this.#lastTold;
    const list = this.listToTell();
    if (this.#lastTold !== before) this.onChange(list);
  }

  /** @param {chrome.tabs.Tab} tab @param {boolean} active @returns {BrowserTab} */
  #entry(tab, active) {
    const url = tab.url || tab.pendingUrl || '';
    // Not even the title of a closed page is sent. A page whose URL does not name its maker may be
    // of a closed site, too: page_info asks the page, and then gives its title.
    const isBlocked = this.#policy.blocks(url);
    const prefix = this.#prefixOf(tab.id ?? chrome.tabs.TAB_ID_NONE);
    const formerIds = this.#replaced.formerIds(tab.id ?? chrome.tabs.TAB_ID_NONE);
    const isNamed = !isBlocked && !hidesOwner(url) && !this.#policy.blocks(tab.pendingUrl ?? '');
    return {
      tab_id: tab.id ?? chrome.tabs.TAB_ID_NONE,
      window_id: tab.windowId,
      url: isBlocked ? siteOf(url) : url,
      title: isNamed ? tab.title ?? '' : '',
      active,
      focused: tab.windowId === this.#focusedWindow,
      ...(prefix && { ref_prefix: prefix }),
      ...(tab.discarded && { discarded: true }),
      ...(isFrozen(tab) && { frozen: true }),
      ...(formerIds.length > 0 && { former_ids: formerIds }),
      ...(tab.incognito && { private: true }),
    };
  }
}

/** @param {chrome.tabs.Tab} tab whose page the browser has stopped; browsers before 132 do not tell */
export function isFrozen(tab) {
  return /** @type {{frozen?: boolean}} */ (tab).frozen === true && !tab.discarded;
}

/** @param {string} url @returns {string} enough of it to know which rule is about it */
function siteOf(url) {
  if (fileIn(url) !== null) return 'file://';
  const origin = originOf(url) ?? 'null';
  return origin === 'null' ? '' : origin;
}

/** Pop-ups and developer tools do not count: a person works in a normal window. @returns {Promise<{id?: number, incognito?: boolean}>} */
async function lastFocusedWindow() {
  return chrome.windows.getLastFocused({ windowTypes: ['normal'] }).catch(() => ({}));
}

/** @param {number | undefined} tabId */
function absence(tabId) {
  if (tabId === undefined) return 'no tab is active';
  const isFormer = tabId === chrome.tabs.TAB_ID_NONE;
  return isFormer ? 'the browser was started anew and the tab is not open any more' : `tab ${tabId} is not open`;
}

/** @param {chrome.tabs.Tab | undefined} tab @returns {tab is chrome.tabs.Tab & {id: number}} */
function hasId(tab) {
  return tab?.id !== undefined && tab.id !== chrome.tabs.TAB_ID_NONE;
}
