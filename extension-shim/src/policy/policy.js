// @ts-check
// The limits that the person sets for agents in this browser: sites, local files, and Stop. Kept in
// chrome.storage.local, so that a worker that restarts enforces them before the daemon connects.

/** @import {CommandBody, SiteRulesFrame} from '../../types/protocol.js' */
/** @import {SiteRules} from './sites.js' */

import { assertConsent, requireConsent } from '../lib/consent.js';
import { ActionError } from '../lib/errors.js';
import { once } from '../lib/once.js';
import { askAboutSites, assertTold, FarCommands } from './far_commands.js';
import { HandedOver, handedOver } from './handed_over.js';
import { LocalFiles } from './local_files.js';
import { actKind, isAskedFirst } from './acts.js';
import { OwnPages, ownPage } from './own_pages.js';
import { isBrowserPage } from './pages.js';
import { actBlockOf, askedSite, blockOf, fileIn, hidesOwner, isOpen } from './sites.js';
import { stepPages, stepsIn } from './step_pages.js';

const KEY = 'policy';
/** Actions that open a URL. */
const OPENING = new Set(['navigate', 'tab_open']);

/**
 * @typedef {{url?: string, pendingUrl?: string, owner?: string | null}} ShownPage the page that a tab shows, and the next one;
 *   `owner`: of an empty page, see `blocksPage`
 */

export class Policy {
  /** Null until the daemon has sent them once. @type {SiteRules | null} */
  #rules = null;
  #stopped = false;
  files = new LocalFiles();
  handed = new HandedOver();
  far = new FarCommands();
  own = new OwnPages();
  /** Why the person's last change of the rules does not count. */
  problem = '';
  /** Rules, or whether all is stopped, are others now. */
  onChange = () => {};

  /** Reads the state of an earlier worker. Must be done before the first decision. */
  restore = once(() => this.#restore());

  async #restore() {
    // Content scripts, even under foreign control, must not write here.
    await chrome.storage.local.setAccessLevel({ accessLevel: 'TRUSTED_CONTEXTS' });
    const { rules, stopped } = /** @type {any} */ ((await chrome.storage.local.get(KEY))[KEY] ?? {});
    // Rules that the daemon has sent meanwhile are newer than the stored ones.
    this.#rules ??= rules ?? null;
    // A stop that came while the storage was read counts as well.
    this.#stopped ||= stopped === true;
  }

  /** @param {SiteRulesFrame} frame */
  handleRules({ allow, deny, agent_deny = [], read = [], deny_actions = [], ask = [], default: other = 'allow', problem = '' }) {
    this.#rules = { allow, deny, agent_deny, read, deny_actions, ask, default: other };
    this.problem = problem;
    this.#store().catch(console.warn);
    this.onChange();
  }

  /** The person stops everything, or lets agents go on. Kept when this resolves. @param {boolean} stopped */
  async setStopped(stopped) {
    // A stop waits for nothing. A release waits for the stored state, which would undo it, or be lost, if it came later.
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
   * @param {CommandBody} command @param {ShownPage | undefined} tab the one that it is for, as far as that is known
   */
  isOpenFor({ params, far }, tab) {
    if (far) return false;
    const urls = [...urlsIn(params), ...stepUrls(params), tab?.url, tab?.pendingUrl];
    const mayBeClosed = urls.some((url) => typeof url === 'string' && (fileIn(url) !== null || this.own.covers(url))) || hidesOwner(tab?.url ?? '');
    return !this.#stopped && this.#hasNoRules && !mayBeClosed;
  }

  /** Whether a page of the web need not be looked at. Local files and Tabwire's own pages are closed all the same. */
  get allowsEverySite() {
    return this.#hasNoRules && !this.far.isAny;
  }

  get #hasNoRules() {
    return this.#rules !== null && isOpen(this.#rules) && !this.handed.isAny;
  }

  /** Where the person does steps alone is closed to agents meanwhile. @param {Parameters<HandedOver['set']>} closed */
  setHandedOver(...closed) {
    if (this.handed.set(...closed)) this.onChange();
  }

  /** For the popup. @returns {SiteRules | null} null: no daemon has sent them yet */
  get rules() {
    return this.#rules;
  }

  /**
   * Whether a command may begin, as far as the browser knows where its tab is.
   * @param {CommandBody} command @param {() => Promise<ShownPage>} look at the tab that it is for
   * @param {{isStep?: boolean, documentNow?: () => Promise<string | undefined>}} [so] `isStep`: of a command that has begun;
   *   `documentNow`: the document in the tab
   */
  async check(command, look, { isStep, documentNow } = {}) {
    const { type, params, tab_id } = command;
    if (this.#stopped) throw stoppedByUser();
    if (this.#rules === null) throw notHeard();
    if (OPENING.has(type)) await this.admitAll(urlsIn(params));
    if (type === 'batch') await this.admitAll(stepUrls(params));
    if (['tab_open', 'tab_list'].includes(type)) return this.#askAboutSites(command, [], { isStep, documentNow });
    // One that is not there fails by itself, with better words.
    const tab = await look().catch(() => null);
    // The browser keeps extensions out of its own pages; from there agents may go where they may go.
    if (!tab) return console.debug('tabwire: no such tab', tab_id);
    if (this.own.hasTab(tab)) throw ownPage(false);
    const isBrowsers = isBrowserPage(tab.url ?? '');
    await this.admitTab(isBrowsers ? { pendingUrl: tab.pendingUrl } : tab);
    const owner = typeof tab.owner === 'string' && tab.owner !== 'null' ? tab.owner : '';
    const urls = [isBrowsers ? '' : tab.url ?? '', owner];
    for (const url of urls) this.assertActRules(command, url);
    // One word on a site is for all that a program on another machine does there.
    if (command.far) await this.#askAboutSites(command, urls, { isStep, documentNow });
    else await this.#askFirst(command, urls, { isStep, documentNow });
  }

  /**
   * @param {CommandBody} command @param {string[]} urls of the page in its tab @param {{isStep?: boolean, documentNow?: () => Promise<string | undefined>}} so as of `check`
   */
  async #askAboutSites(command, urls, so) {
    await askAboutSites(command, urls, { ...so, leadsTo: this.far.keptFrom(command) });
  }

  /**
   * @param {CommandBody} command @param {string[]} urls of the page in its tab @param {{isStep?: boolean, documentNow?: () => Promise<string | undefined>}} so as of `check`
   */
  async #askFirst(command, urls, { isStep, documentNow }) {
    for (const { url, isOpen } of actedPages(command, urls)) {
      const site = this.#rules && askedSite(this.#rules, url);
      if (!site) continue;
      const document = isOpen ? await documentNow?.() : undefined;
      requireConsent(command, { kind: 'act', site, ...(document && { document }) }, { isStep });
    }
  }

  /**
   * Whether it may be done on a page of this address, as far as rules about acts go.
   * @param {CommandBody} command or a step of one @param {string} url @param {{ran?: boolean}} [so] as of `assertUrl`
   */
  assertAct(command, url, { ran = false } = {}) {
    this.assertActRules(command, url, { ran });
    if (command.far) return assertTold(command, url, { ran });
    const site = this.#rules && isAskedFirst(command.type, command.params) ? askedSite(this.#rules, url) : null;
    if (site) assertConsent(command, 'act', site, ran);
  }

  /**
   * The same, without the question whether the person is to be asked first.
   * @param {Pick<CommandBody, 'type' | 'params'>} command @param {string} url @param {{ran?: boolean}} [so]
   */
  assertActRules({ type, params }, url, { ran = false } = {}) {
    if (this.#rules === null) throw notHeard();
    const block = actBlockOf(this.#rules, actKind(type, params), url);
    if (block) throw blocked(`agents may not ${type} on ${block.host}, by ${block.rule}`, ran);
  }

  /** @param {Pick<CommandBody, 'type' | 'params'>} act a command or a step of one @param {string} url @returns {boolean} whether a rule about acts forbids it there */
  denies({ type, params }, url) {
    return this.#rules === null || actBlockOf(this.#rules, actKind(type, params), url) !== null;
  }

  /** @param {string} url @returns {string | null} its site, if the person is asked first there */
  askedSite(url) {
    return this.#rules && askedSite(this.#rules, url);
  }

  /** @param {string} url @returns {boolean} whether its site may not be used */
  blocks(url) {
    return this.#rules === null || this.own.covers(url) || this.handed.covers(url) || this.#isClosedFile(url) || blockOf(this.#rules, url) !== null;
  }

  /**
   * @param {string} url @param {string | null} owner the origin of the page: its opener's, if the page
   *   is empty. "null": of no site; null: not known
   * @returns {boolean} whether its site may not be used
   */
  blocksPage(url, owner) {
    if (this.blocks(url)) return true;
    if (!hidesOwner(url) || owner === 'null') return false;
    return owner === null ? !this.#hasNoRules : this.blocks(owner);
  }

  /** @param {number} tabId @param {string} url @returns {boolean} whether agents may not use its site, or the command in this tab may not be told of it */
  blocksIn(tabId, url) {
    return this.blocks(url) || this.far.hides(tabId, url);
  }

  /** @param {number} tabId @param {string} url @param {{ran?: boolean}} [so] rejects if it may not be used, or if the command in this tab may not be told of it */
  async admitIn(tabId, url, so) {
    await this.admit(url, so);
    this.far.assert(tabId, url, so);
  }

  /** @param {ShownPage} tab rejects if its site may not be used, or the one that it is on its way to */
  async admitTab({ url = '', pendingUrl = '', owner = 'null' }) {
    await this.admitAll([url, pendingUrl]);
    await this.admitOwner(owner);
  }

  /** @param {string | null} owner as of `blocksPage` @param {{ran?: boolean}} [so] rejects if their pages may not be used */
  async admitOwner(owner, { ran = false } = {}) {
    if (owner === null && !this.#hasNoRules) throw blocked('agents may not use an empty page whose opener is unknown', ran);
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
    if (this.own.covers(url)) throw ownPage(ran);
    if (this.handed.covers(url)) throw handedOver('this site', ran);
    if (this.#isClosedFile(url)) throw closedFile(ran);
    const block = blockOf(this.#rules, url);
    if (block) throw blocked(`agents may not use ${block.host}, by ${block.rule}`, ran);
  }
}

/** @param {string} message @param {boolean} ran */
function blocked(message, ran) {
  return new ActionError('blocked_by_policy', message, undefined, { mayHaveRun: ran });
}

/** @param {boolean} ran */
function closedFile(ran) {
  return new ActionError('blocked_by_policy', 'agents may not use local files, except in folders that the person has opened', undefined, {
    hint: 'Use a web page, or ask the person to open the folder: `tabwire sites files allow DIR`.',
    mayHaveRun: ran,
  });
}

function notHeard() {
  return blocked('the daemon has not sent the rules for sites yet', false);
}

function stoppedByUser() {
  return new ActionError('stopped_by_user', 'the person has stopped all agents in this browser', undefined, { mayHaveRun: false });
}

/** @param {any} params of a command @returns {string[]} URLs that it names */
function urlsIn(params) {
  return [params?.url].filter((url) => typeof url === 'string');
}

/**
 * The pages that a command acts on, as far as that is known before it begins.
 * @param {CommandBody} command @param {string[]} urls of the page that is there @returns {import('./step_pages.js').StepPage[]}
 */
function actedPages({ type, params }, urls) {
  const here = urls.map((url) => ({ url, isOpen: true }));
  if (type !== 'batch') return isAskedFirst(type, params) ? here : [];
  return stepPages(params, here).flatMap(({ step, pages }) => (isAskedFirst(step.action, step) ? pages : []));
}

/** @param {any} params of a batch @returns {string[]} URLs that its steps open; one that has an earlier result in it is known only at its step */
function stepUrls(params) {
  return stepsIn(params).filter((step) => OPENING.has(step?.action)).flatMap(urlsIn).filter((url) => !url.includes('{{'));
}
