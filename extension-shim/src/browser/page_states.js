// @ts-check
// What agents have changed about tabs rather than in their pages, such as an emulated screen. It lasts until its client
// puts it back or ends, the person puts it back or stops agents, or the tab goes where agents may not. The debugger stays
// attached for as long: letting it go would put it back. A worker that is killed leaves it on; the next one puts it back
// when it takes the debugger over, and keeps no record for that.

/** @import {Context, PageState} from '../../types/protocol.js' */
/** @import {Policy} from '../policy/policy.js' */
/** @import {BrowserIdentity, Emulation, ProtocolCommand} from './emulation.js' */
/** @import {Interceptor} from './interception.js' */
/** @import {NetworkRule, RuleDeed} from './network_rules.js' */
/** @import {PageSize} from './page_size.js' */
/** @import {PermissionWords, SitePermissions, SiteSettings} from './site_settings.js' */

import { ActionError, messageOf } from '../lib/errors.js';
import { siteName } from '../policy/sites.js';
import { cdp, debuggerNews, hold, letGo, openRequests, withFocus } from './debugger.js';
import { emulationChange, networkOf, ownIdentity } from './emulation.js';
import { interception } from './interception.js';
import { STATES_ALONE_MS } from './limits.js';
import { decideByRules, patternsOf } from './network_rules.js';
import { hasSize, sizeOfTab } from './page_size.js';

/**
 * @typedef {{clientId: string, client: string, emulation: Emulation, rules: NetworkRule[], interceptor: Interceptor | null, permissions: SitePermissions | null, allowedOn: string | null, page: StatedPage | null}} TabState `interceptor`: of its
 *   rules; `allowedOn`: the site on which the person was asked first and has allowed it; `page`: of rules that do more than block
 * @typedef {{site: string, frameId: string}} StatedPage the page whose requests the person lets a client answer and change
 * @typedef {PageState & {client: string, emulation: Emulation, rules: {url: string, deed: RuleDeed}[], permissions: SitePermissions | null}} StateRow for the popup
 */

/** @type {ProtocolCommand} */
const BYPASS_OFF = ['Network.setBypassServiceWorker', { bypass: false }];
const SCREEN = /DeviceMetricsOverride$/;

export class PageStates {
  /** @type {Map<number, TabState>} */
  #tabs = new Map();
  #policy;
  #settings;
  /** @type {BrowserIdentity} */
  #own = { userAgent: '', metadata: {} };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #aloneTimer;
  /** Tells the daemon. @type {(states: PageState[]) => void} */
  onChange = () => {};
  /** A rule of an agent answers a request of a page of this site. @type {(site: string) => void} */
  onAnswer = () => {};

  /** @param {Policy} policy @param {SiteSettings} settings */
  constructor(policy, settings) {
    this.#policy = policy;
    this.#settings = settings;
    debuggerNews.onLost = (tabId) => this.#forget(tabId);
    debuggerNews.onNetworkOff = (tabId) => this.#emulateNetworkAgain(tabId);
  }

  /** @returns {PageState[]} */
  list() {
    return [...this.#tabs].map(([tab_id, { clientId }]) => ({ tab_id, client_id: clientId }));
  }

  /** @returns {StateRow[]} */
  rows() {
    return [...this.#tabs].map(([tab_id, { clientId, client, emulation, rules, permissions }]) => ({ tab_id, client_id: clientId, client, emulation, permissions, rules: rules.map(({ url, deed }) => ({ url, deed })) }));
  }

  /** @param {number} tabId @param {Context} context @returns {Emulation} what the client emulates there; throws if another one does */
  emulationOf(tabId, { clientId }) {
    const state = this.#tabs.get(tabId);
    if (state && state.clientId !== clientId) throw taken(state);
    return state?.emulation ?? {};
  }

  /** @param {number} tabId @returns {string} the screen that is emulated there; empty: none is */
  screenOf(tabId) {
    const { viewport = '', device = '' } = this.#tabs.get(tabId)?.emulation ?? {};
    return `${viewport} ${device}`.trim();
  }

  /** @param {number} tabId @param {Context} context @returns {NetworkRule[]} the client's rules there; throws if another one has changed the tab */
  rulesOf(tabId, { clientId }) {
    const state = this.#tabs.get(tabId);
    if (state && state.clientId !== clientId) throw taken(state);
    return state?.rules ?? [];
  }

  /** @param {number} tabId @param {Context} context @returns {PermissionWords} what the client has set there; throws if another one has changed the tab */
  permissionsOf(tabId, { clientId }) {
    const state = this.#tabs.get(tabId);
    if (state && state.clientId !== clientId) throw taken(state);
    return state?.permissions?.words ?? {};
  }

  /** @param {number} tabId @param {Context} context @param {Emulation} wanted all of it */
  async emulate(tabId, context, wanted) {
    if (Object.keys(wanted).length > 0 && this.#own.userAgent === '') this.#own = await ownIdentity();
    const state = await this.#stateOf(tabId, context);
    const before = state.emulation;
    state.emulation = wanted;
    this.#tell();
    try {
      await change(tabId, emulationChange(before, wanted, this.#own));
    } catch (error) {
      // What came in the meantime stands.
      if (state.emulation !== wanted) throw error;
      state.emulation = before;
      await change(tabId, emulationChange(wanted, before, this.#own)).catch(console.debug);
      throw /Invalid|override/i.test(messageOf(error)) ? new ActionError('invalid_params', `the browser refused it: ${messageOf(error)}`, undefined, { hint: 'Nothing is changed. Leave out the part that it names.' }) : error;
    } finally {
      this.#letGoUnchanged(tabId);
    }
  }

  /** @param {number} tabId @param {Context} context @param {NetworkRule[]} rules all of them @param {StatedPage | null} page if they do more than block */
  async setRules(tabId, context, rules, page) {
    const state = await this.#stateOf(tabId, context);
    const before = state.interceptor;
    Object.assign(state, { rules, page });
    const scope = { isTold: (/** @type {string} */ url) => !this.#policy.blocks(url), onAnswer: this.onAnswer, site: page?.site ?? null, isOfPage: (/** @type {string} */ frameId) => shows(tabId, page, frameId) };
    state.interceptor = rules.length === 0 ? null : { patterns: patternsOf(rules), decide: (paused) => decideByRules(tabId, rules, paused, scope) };
    this.#tell();
    try {
      // The new ones first: between the two no request goes by.
      if (state.interceptor) await interception.begin(tabId, state.interceptor);
      if (before) await interception.end(tabId, before);
      // A page's own service worker would answer in place of the network.
      await cdp(tabId, 'Network.setBypassServiceWorker', { bypass: rules.length > 0 });
    } finally {
      this.#letGoUnchanged(tabId);
    }
  }

  /** @param {number} tabId @param {Context} context @param {PermissionWords} words all of them @param {string | null} site null: there are none */
  async setPermissions(tabId, context, words, site) {
    // What a site may use is the same in all tabs.
    const other = [...this.#tabs.values()].find(({ clientId, permissions }) => clientId !== context.clientId && permissions?.site === site);
    if (other) throw taken(other);
    const state = await this.#stateOf(tabId, context);
    const before = state.permissions;
    state.permissions = site === null ? null : { site, words };
    this.#tell();
    try {
      await this.#applyPermissions();
    } catch (error) {
      state.permissions = before;
      await this.#applyPermissions().catch(console.debug);
      throw error;
    } finally {
      this.#letGoUnchanged(tabId);
    }
  }

  #applyPermissions() {
    return this.#settings.apply([...this.#tabs.values()].flatMap(({ permissions }) => permissions ?? []));
  }

  /** The state that a client may change. @param {number} tabId @param {Context} context @returns {Promise<TabState>} */
  async #stateOf(tabId, { clientId, client, begin }) {
    begin();
    const [tab] = await Promise.all([chrome.tabs.get(tabId), hold(tabId, 'page_state')]);
    // Another one may have come meanwhile.
    const state = this.#tabs.get(tabId) ?? { clientId, client, emulation: {}, rules: [], interceptor: null, permissions: null, allowedOn: null, page: null };
    if (state.clientId !== clientId) throw taken(state);
    // The command has the person's word for this page, or it had not begun.
    state.allowedOn = this.#policy.askedSite(tab.url ?? '');
    this.#tabs.set(tabId, state);
    return state;
  }

  /** @param {number} tabId */
  #letGoUnchanged(tabId) {
    const state = this.#tabs.get(tabId);
    if (state && (Object.keys(state.emulation).length > 0 || state.rules.length > 0 || state.permissions)) return;
    if (state) {
      this.#tabs.delete(tabId);
      this.#tell();
    }
    letGo(tabId, 'page_state');
  }

  /** Puts all back. @param {number} tabId */
  async end(tabId) {
    const state = this.#tabs.get(tabId);
    if (!state) return;
    this.#tabs.delete(tabId);
    this.#tell();
    const { emulation, interceptor, permissions } = state;
    const ends = [change(tabId, emulationChange(emulation, {}, this.#own))];
    if (permissions) ends.push(this.#applyPermissions());
    if (interceptor) ends.push(interception.end(tabId, interceptor), send(tabId, [BYPASS_OFF]));
    await Promise.all(ends.map((end) => end.catch(console.debug)));
    // A new one may have begun meanwhile.
    if (!this.#tabs.has(tabId)) letGo(tabId, 'page_state');
  }

  /** @param {(state: PageState) => boolean} [isIt] */
  async endAll(isIt = () => true) {
    await Promise.all(this.list().filter(isIt).map(({ tab_id }) => this.end(tab_id)));
  }

  /** The daemon knows that these have ended. @param {PageState[]} over */
  handleOver(over) {
    const isOver = (/** @type {PageState} */ { tab_id, client_id }) => over.some((one) => one.tab_id === tab_id && one.client_id === client_id);
    this.endAll(isOver).catch(console.warn);
  }

  /** The person may have set other limits. */
  async handleRules() {
    if (this.#policy.isStopped) return this.endAll();
    for (const tabId of this.#tabs.keys()) {
      const tab = await chrome.tabs.get(tabId).catch(() => null);
      this.handleAddress(tabId, tab?.url ?? '');
    }
  }

  /** A tab goes to an address, or is there. @param {number} tabId @param {string} url */
  handleAddress(tabId, url) {
    const state = this.#tabs.get(tabId);
    if (state && !this.#isAdmitted(state, url)) this.end(tabId).catch(console.warn);
  }

  /** @param {TabState} state @param {string} url */
  #isAdmitted({ allowedOn, rules, permissions, page }, url) {
    if ([page, permissions].some((one) => one && siteName(url) !== one.site)) return false;
    const asked = this.#policy.askedSite(url);
    if (this.#policy.isStopped || this.#policy.blocks(url) || (asked !== null && asked !== allowedOn)) return false;
    try {
      const params = { rules: rules.map(({ deed }) => deed) };
      for (const type of ['emulate', 'network_rules', 'set_permissions']) this.#policy.assertActRules({ type, params }, url);
      return true;
    } catch {
      return false;
    }
  }

  /** Without a daemon no agent can put anything back. @param {boolean} connected */
  handleLink(connected) {
    if (connected) this.#aloneTimer = void clearTimeout(this.#aloneTimer);
    else this.#aloneTimer ??= setTimeout(() => { this.endAll().catch(console.warn); }, STATES_ALONE_MS);
  }

  /** The tab is closed, or the debugger is not attached any more, which has put all back. @param {number} tabId */
  #forget(tabId) {
    const state = this.#tabs.get(tabId);
    if (!this.#tabs.delete(tabId)) return;
    if (state?.permissions) this.#applyPermissions().catch(console.warn);
    interception.forget(tabId);
    this.#tell();
  }

  /** @param {number} tabId */
  #emulateNetworkAgain(tabId) {
    const again = networkOf(this.#tabs.get(tabId)?.emulation ?? {});
    // Only while the source is on the browser holds requests back. Nobody reads their bodies.
    if (again) send(tabId, [['Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }], again]).catch(console.debug);
  }

  #tell() {
    this.onChange(this.list());
  }
}

/** @param {number} tabId @param {ProtocolCommand[]} commands of an emulation */
async function change(tabId, commands) {
  if (commands.some(([, params]) => params && 'offline' in params)) await openRequests.count(tabId);
  const screen = commands.find(([method]) => SCREEN.test(method));
  if (!screen) return send(tabId, commands);
  await withFocus(tabId, async () => {
    await send(tabId, commands);
    const size = /** @type {PageSize | undefined} */ (screen[1]);
    await hasSize(() => cdp(tabId, 'Page.getLayoutMetrics'), async () => size ?? sizeOfTab(tabId));
  });
}

/** The browser carries out the commands of a tab in their order. @param {number} tabId @param {ProtocolCommand[]} commands */
async function send(tabId, commands) {
  const sent = await Promise.allSettled(commands.map(([method, params]) => cdp(tabId, method, params)));
  const failed = sent.find(({ status }) => status === 'rejected');
  if (failed) throw /** @type {PromiseRejectedResult} */ (failed).reason;
}

/** The browser's word on what a tab shows. @param {number} tabId @param {StatedPage | null} page @param {string} frameId of a request */
async function shows(tabId, page, frameId) {
  if (page?.frameId !== frameId) return false;
  const shown = await chrome.webNavigation.getFrame({ tabId, frameId: 0 });
  return shown !== null && siteName(shown.url) === page.site;
}

/** @param {TabState} state */
function taken({ client }) {
  return new ActionError('tab_in_use', `${client || 'another agent'} has changed this tab or its site by emulate, network_rules or set_permissions`, undefined, { mayHaveRun: false });
}
