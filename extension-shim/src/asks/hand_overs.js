// @ts-check
// Steps that a person does alone, such as a log-in, because an agent has asked them to. Each is done in a fresh tab: no
// script that an agent has put into a page reaches it, since it shares no group of pages with any other tab. From the
// request to its end every page of its site is closed to agents. Its tab is closed to them for as long as it lives.

/** @import {AskAnswer, OpenAsk} from '../../types/protocol.js' */
/** @import {FrontWindow} from '../browser/front_window.js' */
/** @import {Policy} from '../policy/policy.js' */

import { once } from '../lib/once.js';
import { sessionItems } from '../lib/session_items.js';
import { handedHost } from '../policy/handed_over.js';
import { isBrowserPage } from '../policy/pages.js';
import { HAND_OVERS_MS } from './limits.js';

const KEY = 'hand_overs';

/**
 * @typedef {object} HandOver
 * @property {number} tabId that the agent named
 * @property {string} url of its page when the agent asked
 * @property {string} client the agent's name for itself
 * @property {string[]} hosts where the person is, or was, and where they are to begin
 * @property {number} [stepTab] in which the person does it
 * @property {boolean} [isAnswered] the person has said how it went
 * @property {boolean} [isLeft] nobody waits for it any more, and the person may be in the middle of it
 *
 * @typedef {{tabId: number, client: string, isStep: boolean}} MarkedTab
 */

export class HandOvers {
  /** By the ids of their questions. @type {Map<string, HandOver>} */
  #open = new Map();
  /** The tabs of steps, those that these opened, and those of steps that are over. @type {Set<number>} */
  #tabs = new Set();
  /** Steps for which a tab is being opened. @type {Map<string, Promise<void>>} */
  #beginning = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #silence;
  /** Those among them of which it is not known yet whether a step's page has opened them. @type {Set<number>} */
  #guessed = new Set();
  /** Tabs of steps that the browser has not named yet. */
  #awaited = 0;
  #policy;
  #known;
  #show;
  #frontWindow;
  /** Tabs to mark, so that the person finds them. @type {(tabs: MarkedTab[]) => void} */
  onChange = () => {};

  /**
   * @param {Policy} policy @param {(tabId: number) => chrome.tabs.Tab | undefined} known a tab, as the events have it
   * @param {(tabId: number) => Promise<void>} show brings it to the front @param {Pick<FrontWindow, 'keepBehind'>} frontWindow
   */
  constructor(policy, known, show, frontWindow) {
    this.#policy = policy;
    this.#known = known;
    this.#show = show;
    this.#frontWindow = frontWindow;
  }

  /** Reads what an earlier worker knew. */
  restore = once(async () => {
    const { open = [], tabs = [] } = /** @type {any} */ ((await sessionItems(KEY))[KEY] ?? {});
    for (const [id, one] of open) if (!this.#open.has(id)) this.#open.set(id, one);
    for (const tabId of tabs) this.#tabs.add(tabId);
    this.#apply();
    for (const tabId of [...this.#tabs]) if (!await chrome.tabs.get(tabId).catch(() => null)) this.handleRemoved(tabId);
  });

  /** The daemon sends its questions after this, or has none. */
  handleReady() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.follow([]), HAND_OVERS_MS);
  }

  /** @param {OpenAsk[]} asks all that are open now */
  follow(asks) {
    clearTimeout(this.#silence);
    const wanted = asks.filter(({ kind }) => kind === 'hand_over');
    for (const { correlation_id, client, tab_id } of wanted) {
      const known = this.#open.get(correlation_id);
      if (known) known.isLeft = false;
      if (tab_id === undefined || known) continue;
      // As it is now: later the page may lead elsewhere.
      const url = this.#known(tab_id)?.url ?? '';
      this.#open.set(correlation_id, { tabId: tab_id, url, client, hosts: [handedHost(url)].filter((host) => host !== '') });
    }
    const over = [...this.#open.keys()].filter((id) => !wanted.some(({ correlation_id }) => correlation_id === id));
    for (const id of over) this.#end(id).catch(console.warn);
    this.#apply();
  }

  /** @param {string} id @returns {{hand_over: {site: string, is_begun: boolean}} | {}} of a question, for the popup */
  describe(id) {
    const one = this.#open.get(id);
    return one ? { hand_over: { site: handedHost(one.url), is_begun: one.stepTab !== undefined } } : {};
  }

  /** The person begins the step, or goes back to it. @param {string} id */
  async begin(id) {
    await this.restore();
    const stepTab = this.#open.get(id)?.stepTab;
    if (stepTab !== undefined) return this.#show(stepTab);
    const beginning = this.#beginning.get(id) ?? this.#openTab(id).finally(() => this.#beginning.delete(id));
    this.#beginning.set(id, beginning);
    await beginning;
  }

  /** @param {string} id */
  async #openTab(id) {
    const one = this.#open.get(id);
    if (!one) throw new Error('the agent does not wait for it any more');
    if (!/^https?:/i.test(one.url)) throw new Error('the tab showed no page of the web');
    const { windowId, index } = await chrome.tabs.get(one.tabId);
    // Opened by no page, so that none can reach into it. Empty at first: it is closed to agents before it goes anywhere.
    this.#awaited += 1;
    const opened = await chrome.tabs.create({ url: 'about:blank', active: true, windowId, index: index + 1 }).finally(() => { this.#awaited -= 1; });
    const stepTab = /** @type {number} */ (opened.id);
    this.#tabs.add(stepTab);
    one.stepTab = stepTab;
    this.#apply();
    await chrome.tabs.update(stepTab, { url: one.url, autoDiscardable: false });
    await this.#show(stepTab);
  }

  /**
   * The person says how it went: their tab goes when the daemon has taken that.
   * @param {string} id @param {AskAnswer} answer @returns {boolean} false: they have not begun what they say is done
   */
  answered(id, answer) {
    const one = this.#open.get(id);
    if (!one || (answer.kind !== 'done' && answer.kind !== 'cannot')) return answer.kind !== 'done';
    if (answer.kind === 'done' && one.stepTab === undefined) return false;
    one.isAnswered = true;
    this.#store();
    return true;
  }

  /** @param {string} id */
  async #end(id) {
    const one = this.#open.get(id);
    if (one?.stepTab !== undefined && !one.isAnswered) {
      // They may be in the middle of it, and the agent can end its request at any time: all stays closed until they have left
      // the tab, which stays theirs.
      one.isLeft = true;
      await this.#leave();
      return;
    }
    this.#open.delete(id);
    if (one?.stepTab === undefined) return;
    const step = await chrome.tabs.get(one.stepTab).catch(() => null);
    if (step?.active) await this.#show(one.tabId).catch(console.debug);
    if (step) await chrome.tabs.remove(one.stepTab);
  }

  /** Another tab comes to the front. */
  handleActivated() {
    this.restore().then(() => this.#leave()).catch(console.warn);
  }

  /** Forgets the steps for which nobody waits, and whose tabs are not in front. */
  async #leave() {
    for (const [id, one] of [...this.#open]) {
      if (!one.isLeft) continue;
      const step = one.stepTab === undefined ? null : await chrome.tabs.get(one.stepTab).catch(() => null);
      // Meanwhile a daemon that was slow may have said that it is waited for.
      if (one.isLeft && !step?.active) this.#open.delete(id);
    }
    this.#apply();
  }

  /** @param {chrome.tabs.Tab} tab that is new */
  handleCreated({ id, url, pendingUrl, openerTabId }) {
    if (id === undefined) return;
    const shown = pendingUrl || url || '';
    // The browser may tell of a step's tab before it answers.
    const isAwaited = this.#awaited > 0 && openerTabId === undefined && shown === 'about:blank';
    // As the opener it names the tab in front, and tells later which page has opened it. A new tab that the person opens
    // shows a page of the browser.
    const isGuessed = openerTabId !== undefined && this.#tabs.has(openerTabId) && !isBrowserPage(shown);
    if (!isAwaited && !isGuessed) return;
    if (isGuessed) this.#guessed.add(id);
    this.#tabs.add(id);
    this.#apply();
  }

  /** The page in a tab has opened another one. @param {number} opener @param {number} tabId */
  handleOpened(opener, tabId) {
    if (this.#open.size === 0 && this.#tabs.size === 0) return;
    const isSteps = this.#tabs.has(opener);
    if (this.#guessed.delete(tabId) && !isSteps) this.#tabs.delete(tabId);
    if (isSteps) this.#tabs.add(tabId);
    else this.#keepInFront(opener, tabId).catch(console.debug);
    this.#apply();
  }

  /**
   * A new tab comes to the front, and would get the keys that the person presses in their step.
   * @param {number} opener @param {number} over the new tab
   */
  async #keepInFront(opener, over) {
    for (const { stepTab } of this.#open.values()) {
      if (stepTab === undefined) continue;
      const [home, opened, step] = await Promise.all([opener, over, stepTab].map((tabId) => chrome.tabs.get(tabId)));
      if (opened.windowId !== step.windowId) {
        this.#frontWindow.keepBehind(opened.windowId, { home: home.windowId, isSeen: home.active });
        continue;
      }
      if (!opened.active) continue;
      const others = (await chrome.tabs.query({ windowId: step.windowId })).filter(({ id }) => id !== over);
      // They may have gone to another tab themselves.
      if (others.every(({ lastAccessed = 0 }) => lastAccessed <= (step.lastAccessed ?? 0))) await chrome.tabs.update(stepTab, { active: true });
    }
  }

  /** A tab goes to an address. @param {number} tabId @param {string} url */
  handleAddress(tabId, url) {
    // A new page takes the mark of its tab away.
    if ([...this.#open.values()].some((one) => one.stepTab === tabId || one.tabId === tabId)) this.#mark();
    if (!this.#tabs.has(tabId)) return;
    const host = handedHost(url);
    // Of which step a tab is that another one opened, is not kept: it counts for all.
    for (const one of this.#open.values()) {
      if (host === '' || one.stepTab === undefined || one.hosts.includes(host)) continue;
      one.hosts.push(host);
      this.#apply();
    }
  }

  /** @param {number} added @param {number} removed the same tab */
  handleReplaced(added, removed) {
    for (const one of this.#open.values()) {
      if (one.stepTab === removed) one.stepTab = added;
      if (one.tabId === removed) one.tabId = added;
    }
    if (!this.#tabs.delete(removed)) return;
    this.#guessed.delete(removed);
    this.#tabs.add(added);
    this.#apply();
  }

  /** The person has closed it. A step without its tab can be begun again. @param {number} tabId */
  handleRemoved(tabId) {
    if (!this.#tabs.delete(tabId)) return;
    this.#guessed.delete(tabId);
    for (const [id, one] of [...this.#open]) {
      if (one.stepTab !== tabId) continue;
      delete one.stepTab;
      if (one.isLeft) this.#open.delete(id);
    }
    this.#apply();
  }

  #apply() {
    const all = [...this.#open.values()];
    this.#policy.setHandedOver(all.flatMap(({ hosts }) => hosts), this.#tabs, all.some(({ stepTab }) => stepTab !== undefined));
    this.#mark();
    this.#store();
  }

  #mark() {
    this.onChange([...this.#open.values()].map(({ tabId, stepTab, client }) => ({ tabId: stepTab ?? tabId, client, isStep: stepTab !== undefined })));
  }

  #store() {
    chrome.storage.session.set({ [KEY]: { open: [...this.#open], tabs: [...this.#tabs] } }).catch(console.warn);
  }
}
