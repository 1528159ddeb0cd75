// @ts-check
// Tabs in private windows, where the person has let the extension in there. A browser has one private session for all of
// them, so only one owner has tabs there at a time, and none while the person has one. A private tab that no agent opened
// is the person's: for agents it is not there.

/** @import {CommandBody} from '../../types/protocol.js' */

import { ActionError, noSuchTab } from '../lib/errors.js';
import { once } from '../lib/once.js';
import { sessionItems } from '../lib/session_items.js';
import { recordsPerson } from '../policy/acts.js';
import { PRIVATE_LOOK_MS } from './limits.js';

const KEY = 'privateTabs';

/** Actions that keep something of a page outside of its tab. */
const LEAVES_A_TRACE = new Set(['draw_mode', 'set_permissions']);

export class PrivateTabs {
  /** Whether the extension sees private windows; undefined: not known yet. A change of it reloads the extension. @type {boolean | undefined} */
  #isAllowed;
  /** Whose tabs they are. @type {string | undefined} */
  #owner;
  /** The tabs that agents opened. @type {Set<number>} */
  #own = new Set();
  /** One after another, so that two owners cannot open the first tab at once. @type {Promise<unknown>} */
  #opening = Promise.resolve();
  /** The person has a private window now: commands in private tabs are over. @type {(error: ActionError) => void} */
  onPersonCame = () => {};

  /** Asks the browser, and reads what an earlier worker knew. */
  restore = once(async () => {
    const [isAllowed, stored] = await Promise.all([chrome.extension.isAllowedIncognitoAccess(), sessionItems(KEY)]);
    const { owner, tabs = [] } = /** @type {any} */ (stored[KEY] ?? {});
    this.#isAllowed = isAllowed;
    if (tabs.length > 0) this.#owner ??= owner;
    for (const tabId of tabs) this.#own.add(tabId);
  });

  /** Whether there is no private tab to look out for. */
  get isClosed() {
    return this.#isAllowed === false;
  }

  /** Whether agents have opened one that is still there. */
  get isAny() {
    return this.#own.size > 0;
  }

  /** @param {chrome.tabs.Tab} tab @returns {boolean} whether it is a private one that no agent opened */
  isPersons({ incognito, id }) {
    return incognito && !(id !== undefined && this.#own.has(id));
  }

  /** @param {number} tabId @returns {boolean} whether an agent opened it in a private window */
  isAgents(tabId) {
    return this.#own.has(tabId);
  }

  /** @param {Pick<CommandBody, 'private_owner'>} command @param {number} tabId @returns {boolean} whether a tab that is not the person's private one may be told to it */
  isFor({ private_owner }, tabId) {
    return !this.#own.has(tabId) || (private_owner !== undefined && private_owner === this.#owner);
  }

  /**
   * The browser is asked, since an agent may name any id. @param {CommandBody} command @param {number | undefined} tabId the tab that it is for
   * @throws {ActionError} it may not be used
   */
  async assertMayUse(command, tabId) {
    await this.restore();
    if (this.isClosed || tabId === undefined) return;
    const tab = await chrome.tabs.get(tabId).catch(() => null);
    if (!tab?.incognito) return;
    if (this.isPersons(tab) || !this.isFor(command, tabId)) throw noSuchTab(`tab ${command.tab_id} is not open`);
    if (LEAVES_A_TRACE.has(command.type) || recordsPerson(command.type, command.params)) throw leavesTrace(command.type);
    // To close it is right at any time.
    if (command.type !== 'tab_close' && await this.#isPersonThere()) throw inUse();
  }

  /** @param {string | undefined} owner @param {boolean} inFront @returns {Promise<number | undefined>} the new tab's id */
  open(owner, inFront) {
    const opened = this.#opening.then(() => this.#open(owner, inFront));
    this.#opening = opened.catch(() => {});
    return opened;
  }

  /** @param {string | undefined} owner @param {boolean} inFront */
  async #open(owner, inFront) {
    await this.restore();
    if (!await chrome.extension.isAllowedIncognitoAccess()) throw notAllowed();
    // Of a daemon that does not know whose it is.
    if (owner === undefined) throw leavesTrace('tab_open');
    const all = await chrome.tabs.query({});
    const isOthers = this.#own.size > 0 && this.#owner !== owner;
    if (isOthers || all.some((tab) => this.isPersons(tab))) throw inUse();
    const beside = all.find(({ id }) => id !== undefined && this.#own.has(id));
    const url = 'about:blank';
    const tab = beside ? await chrome.tabs.create({ url, windowId: beside.windowId, active: inFront }) : (await chrome.windows.create({ url, incognito: true, focused: inFront }))?.tabs?.[0];
    if (tab?.id === undefined) return undefined;
    this.#owner = owner;
    this.#add(tab.id);
    return tab.id;
  }

  async #isPersonThere() {
    const all = await chrome.tabs.query({});
    return all.some((tab) => this.isPersons(tab));
  }

  /** @param {chrome.tabs.Tab} tab that is new */
  handleCreated({ incognito }) {
    if (!incognito || this.#own.size === 0) return;
    // Which page has opened it, or that we have, the browser says a moment later.
    setTimeout(() => {
      this.#isPersonThere().then((isThere) => { if (isThere) this.onPersonCame(inUse()); }, console.debug);
    }, PRIVATE_LOOK_MS);
  }

  /**
   * The page of a tab has opened another tab. @param {number} sourceTabId @param {number} tabId
   * @returns {Promise<boolean>} whether agents may hear of it
   */
  async admitCreated(sourceTabId, tabId) {
    await this.restore();
    if (this.isClosed) return true;
    const [source, tab] = await Promise.all([sourceTabId, tabId].map((id) => chrome.tabs.get(id).catch(() => null)));
    if (!tab || !source) return false;
    if (!tab.incognito && !source.incognito) return true;
    if (!tab.incognito || !this.#own.has(sourceTabId)) return false;
    this.#add(tabId);
    return true;
  }

  /** It is the person's from now on. @param {number} tabId */
  handleKept(tabId) {
    this.#remove(tabId);
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    this.#remove(tabId);
  }

  /** The browser has given a tab another id. @param {number} added @param {number} removed */
  handleReplaced(added, removed) {
    if (!this.#own.has(removed)) return;
    this.#add(added);
    this.#remove(removed);
  }

  /** @param {number} tabId */
  #add(tabId) {
    this.#own.add(tabId);
    this.#store();
  }

  /** @param {number} tabId */
  #remove(tabId) {
    if (!this.#own.delete(tabId)) return;
    if (this.#own.size === 0) this.#owner = undefined;
    this.#store();
  }

  #store() {
    chrome.storage.session.set({ [KEY]: { owner: this.#owner, tabs: [...this.#own] } }).catch(console.warn);
  }
}

function notAllowed() {
  return new ActionError('private_not_allowed', 'the person has not let the extension into private windows', undefined, { mayHaveRun: false });
}

function inUse() {
  return new ActionError('private_in_use', 'the private windows of this browser are in use by the person or by another program, and share cookies and log-ins', undefined, { mayHaveRun: false });
}

/** @param {string} action */
function leavesTrace(action) {
  return new ActionError('not_in_private', `${action} would leave a trace of a page in a private window`, undefined, { mayHaveRun: false });
}
