// @ts-check
// What the person lets agents do in this browser: on which sites, in which local files, and whether anything at all. Kept in
// chrome.storage.local, so that a worker that restarts enforces it before it hears from the daemon.

/** @import {Command, SiteRulesFrame} from '../../types/protocol.js' */
/** @import {SiteRules} from './sites.js' */

import { ActionError } from '../lib/errors.js';
import { once } from '../lib/once.js';
import { LocalFiles } from './local_files.js';
import { isBrowserPage } from './pages.js';
import { blockOf, fileIn, hidesOwner, isOpen } from './sites.js';

const KEY = 'policy';

/**
 * @typedef {{url?: string, pendingUrl?: string, owner?: string | null}} ShownPage what a tab shows, and what it is about to;
 *   `owner`: of an empty page, see `blocksPage`
 */

export class Policy {
  /** Null until the daemon has told them once. @type {SiteRules | null} */
  #rules = null;
  #stopped = false;
  files = new LocalFiles();
  /** Why the person's last change of the rules does not count. */
  problem = '';
  /** Rules, or whether all is stopped, are others now. */
  onChange = () => {};

  /** What an earlier worker knew. Must be done before anything is decided here. */
  restore = once(() => this.#restore());

  async #restore() {
    // Scripts in pages, whoever has got hold of them, are not to write here.
    await chrome.storage.local.setAccessLevel({ accessLevel: 'TRUSTED_CONTEXTS' });
    const { rules, stopped } = /** @type {any} */ ((await chrome.storage.local.get(KEY))[KEY] ?? {});
    this.#rules ??= rules ?? null;
    this.#stopped ||= stopped === true;
  }

  /** @param {SiteRulesFrame} frame */
  handleRules({ allow, deny, agent_deny = [], problem = '' }) {
    this.#rules = { allow, deny, agent_deny };
    this.problem = problem;
    this.#store().catch(console.warn);
    this.onChange();
  }

  /** The person stops everything, or lets agents go on. Kept when this resolves. @param {boolean} stopped */
  async setStopped(stopped) {
    // A stop waits for nothing; but what an earlier worker kept is neither to undo a release nor to be lost.
    if (!stopped) await this.restore();
    this.#stopped = stopped;
    this.onChange();
    await this.restore();
    await this.#store();
  }

  #store() {
    return chrome.storage.local.set({ [KEY]: { rules: this.#rules, stopped: this.#stopped } });
  }

  get isStopped() {
    return this.#stopped;
  }

  /**
   * Whether there is nothing to look out for.
   * @param {Command} command @param {ShownPage | undefined} tab the one that it is for, as far as that is known
   */
  isOpenFor({ params }, tab) {
    const urls = [params?.url, tab?.url, tab?.pendingUrl];
    const mayBeFile = urls.some((url) => typeof url === 'string' && fileIn(url) !== null) || hidesOwner(tab?.url ?? '');
    return !this.#stopped && this.allowsEverySite && !mayBeFile;
  }

  /** Whether there are no rules for sites. Local files are closed all the same. */
  get allowsEverySite() {
    return this.#rules !== null && isOpen(this.#rules);
  }

  /** For the popup. @returns {SiteRules | null} null: no daemon has told them yet */
  get rules() {
    return this.#rules;
  }

  /**
   * Whether a command may begin, as far as the browser knows where its tab is.
   * @param {Command} command @param {() => Promise<ShownPage>} look at the tab that it is for
   */
  async check({ type, params, tab_id }, look) {
    if (this.#stopped) throw stoppedByUser();
    if (this.#rules === null) throw notHeard();
    if (['navigate', 'tab_open'].includes(type) && typeof params.url === 'string') await this.admit(params.url);
    if (['tab_open', 'tab_list'].includes(type)) return;
    // One that is not there fails by itself, with better words.
    const tab = await look().catch(() => null);
    // The browser keeps extensions out of its own pages; from there agents may go where they may go.
    if (tab) await this.admitTab(isBrowserPage(tab.url ?? '') ? { pendingUrl: tab.pendingUrl } : tab);
    else console.debug('tabwire: no such tab', tab_id);
  }

  /** @param {string} url @returns {boolean} whether its site may not be used */
  blocks(url) {
    return this.#rules === null || this.#isClosedFile(url) || blockOf(this.#rules, url) !== null;
  }

  /**
   * @param {string} url @param {string | null} owner the origin of the page: that of whoever has opened it, if the page
   *   is empty. "null": of no site; null: not known
   * @returns {boolean} whether its site may not be used
   */
  blocksPage(url, owner) {
    if (this.blocks(url)) return true;
    if (!hidesOwner(url) || owner === 'null') return false;
    return owner === null ? !this.allowsEverySite : this.blocks(owner);
  }

  /** @param {ShownPage} tab rejects if its site may not be used, or the one that it is on its way to */
  async admitTab({ url = '', pendingUrl = '', owner = 'null' }) {
    await this.admitAll([url, pendingUrl]);
    await this.admitOwner(owner);
  }

  /** @param {string | null} owner as of `blocksPage` @param {{ran?: boolean}} [so] rejects if their pages may not be used */
  async admitOwner(owner, { ran = false } = {}) {
    if (owner === null && !this.allowsEverySite) throw blocked('an empty page that does not say who has opened it may not be used by agents', ran);
    if (owner !== null && owner !== 'null') await this.admit(owner, { ran });
  }

  /** @param {string} url @param {{ran?: boolean}} [so] rejects if it may not be used. Of local files the daemon is asked anew */
  async admit(url, so) {
    await this.admitAll([url], so);
  }

  /** @param {string[]} urls @param {{ran?: boolean}} [so] rejects if one of them may not be used */
  async admitAll(urls, so) {
    await this.files.learn(urls);
    for (const url of urls) this.assertUrl(url, so);
  }

  /** @param {string} url */
  #isClosedFile(url) {
    const file = fileIn(url);
    return file !== null && !this.files.admits(file);
  }

  /**
   * @param {string} url @param {{ran?: boolean}} [so] `ran`: the command may have begun
   * @throws {ActionError} it may not be used; of local files, by the daemon's last answer
   */
  assertUrl(url, { ran = false } = {}) {
    if (this.#rules === null) throw notHeard();
    if (this.#isClosedFile(url)) throw closedFile(ran);
    const block = blockOf(this.#rules, url);
    if (block) throw blocked(`${block.host} may not be used by agents, by ${block.rule}`, ran);
  }
}

/** @param {string} message @param {boolean} ran */
function blocked(message, ran) {
  return new ActionError('blocked_by_policy', message, undefined, { mayHaveRun: ran });
}

/** @param {boolean} ran */
function closedFile(ran) {
  return new ActionError('blocked_by_policy', 'local files may not be used by agents, except in folders that the person has opened', undefined, {
    hint: 'Use a web page, or ask the person to open the folder: `tabwire sites files allow DIR`.',
    mayHaveRun: ran,
  });
}

function notHeard() {
  return blocked('the daemon has not said yet which sites agents may use', false);
}

function stoppedByUser() {
  return new ActionError('stopped_by_user', 'the person has stopped everything that agents do in this browser', undefined, { mayHaveRun: false });
}
