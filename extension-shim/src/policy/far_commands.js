// @ts-check
// Commands of programs on another machine. They open, read and act on sites for which the person has given a word, and
// are told nothing of other sites; local files are closed to them whichever folders are open.

/** @import {CommandBody} from '../../types/protocol.js' */
/** @import {StepPage} from './step_pages.js' */

import { hasConsent, requireConsent } from '../lib/consent.js';
import { ActionError } from '../lib/errors.js';
import { KEPT_FROM_MAX } from './limits.js';
import { fileIn, isEmptyPage, siteName } from './sites.js';
import { stepPages } from './step_pages.js';

/** Actions that bring a page to a tab, or need none: the page that is there is neither read nor acted on. */
const NEEDS_NO_PAGE = new Set(['tab_list', 'tab_close', 'tab_activate', 'back', 'forward']);
/** Actions whose results tell nothing of the page that is there: tab_activate leaves out what is hidden. */
const TELLS_NO_PAGE = new Set(['tab_list', 'tab_close', 'tab_activate']);
const OPENING = new Set(['navigate', 'tab_open']);

/** @typedef {Pick<CommandBody, 'far' | 'consents' | 'allowed'>} FarCommand as far as the person's words go */

/** The commands of programs on another machine that run now, and the tabs of each. */
export class FarCommands {
  /** @type {Map<CommandBody, Set<number>>} */
  #tabs = new Map();
  /** Pages that commands have led to and were kept from, by `sameness`. @type {Map<string, string>} */
  #keptFrom = new Map();

  /** @param {CommandBody} command that begins @returns {() => void} called at its end */
  begin(command) {
    if (!command.far) return () => {};
    this.#tabs.set(command, new Set(command.tab_id === undefined ? [] : [command.tab_id]));
    return () => { this.#tabs.delete(command); };
  }

  /** It has opened a tab. @param {CommandBody} command @param {number} tabId */
  addTab(command, tabId) {
    this.#tabs.get(command)?.add(tabId);
  }

  /** Whether one runs. */
  get isAny() {
    return this.#tabs.size > 0;
  }

  /** @param {number} tabId @param {string} url @returns {boolean} whether the command in this tab may not be told of a page */
  hides(tabId, url) {
    return this.#in(tabId).some((command) => hidesPage(command, url));
  }

  /**
   * @param {number} tabId @param {string | null} url of its page, or of what it loads; null: not known @param {{ran?: boolean}} [so] `ran`:
   *   the command in this tab may have begun
   * @throws {ActionError} it may not be told of that
   */
  assert(tabId, url, so) {
    for (const command of this.#in(tabId)) assertTold(command, url, so);
  }

  /** @param {number} tabId @returns {boolean} whether one runs in this tab */
  isIn(tabId) {
    return this.#in(tabId).length > 0;
  }

  /**
   * The command in this tab has led it to a page without the person's word, which was not loaded. Given again it is asked about.
   * @param {number} tabId @param {string} url @returns {ActionError}
   */
  keepFrom(tabId, url) {
    if (fileIn(url) !== null) return closedFile(true);
    const kept = this.#in(tabId).filter((command) => hidesPage(command, url));
    for (const command of kept) {
      this.#keptFrom.delete(sameness(command));
      this.#keptFrom.set(sameness(command), url);
      if (this.#keptFrom.size > KEPT_FROM_MAX) this.#keptFrom.delete([...this.#keptFrom.keys()][0]);
    }
    const opens = kept.some(({ type }) => OPENING.has(type));
    return new ActionError('consent_needed', 'this leads to a site that agents on another machine use only with the user\'s word; it was stopped before anything was loaded there', undefined, {
      hint: opens ? 'Call navigate with the same URL: the user is asked first.' : 'Call the same command again: the user is asked first.', mayHaveRun: true,
    });
  }

  /** @param {CommandBody} command @returns {string | undefined} the page that one like it was kept from */
  keptFrom(command) {
    return command.far ? this.#keptFrom.get(sameness(command)) : undefined;
  }

  /** @param {number} tabId */
  #in(tabId) {
    return [...this.#tabs].filter(([, tabs]) => tabs.has(tabId)).map(([command]) => command);
  }
}

/** @param {CommandBody} command @returns {string} the same for another one that does the same; a page may be opened in another tab */
function sameness({ type, params, tab_id }) {
  return OPENING.has(type) ? `open ${params?.url}` : `${type} ${tab_id} ${JSON.stringify(params)}`;
}

/** @param {string} type of a command @returns {boolean} whether its result is the same on each page */
export function tellsNoPage(type) {
  return TELLS_NO_PAGE.has(type);
}

/** @param {FarCommand} command @param {string} url @returns {boolean} whether it may not be told of a page */
export function hidesPage(command, url) {
  if (!command.far || url === '' || url === 'null' || isEmptyPage(url)) return false;
  return fileIn(url) !== null || !hasConsent(command, 'use', siteName(url));
}

/**
 * @param {FarCommand} command @param {string | null} url of a page that it meets; null: not known @param {{ran?: boolean}} [so]
 * @throws {ActionError} it may not be told of the page
 */
export function assertTold(command, url, { ran = false } = {}) {
  if (!command.far || (url !== null && !hidesPage(command, url))) return;
  if (url !== null && fileIn(url) !== null) throw closedFile(ran);
  throw new ActionError('consent_needed', 'the page is on a site that agents on another machine use only with the user\'s word', undefined, {
    hint: 'Call the next command for this tab: the user is asked first. Or go elsewhere with navigate.', mayHaveRun: ran,
  });
}

/**
 * Before it begins.
 * @param {CommandBody} command @param {string[]} urls of the page in its tab
 * @param {{isStep?: boolean, documentNow?: () => Promise<string | undefined>, leadsTo?: string}} [so] as of `Policy.check`; `leadsTo`: the page
 *   that one like it was kept from; throws as `requireConsent` does
 */
export async function askAboutSites(command, urls, { isStep, documentNow, leadsTo } = {}) {
  const next = leadsTo === undefined ? [] : [{ url: leadsTo, isOpen: false }];
  for (const { url, isOpen } of [...usedPages(command, urls), ...next]) {
    if (!hidesPage(command, url)) continue;
    if (fileIn(url) !== null) throw closedFile(false);
    const document = isOpen ? await documentNow?.() : undefined;
    requireConsent(command, { kind: 'use', site: siteName(url), ...(document && { document }) }, { isStep });
  }
  await assertSamePage(command, { isStep, documentNow });
}

/** A word for once is for the page that was there. @param {CommandBody} command @param {{isStep?: boolean, documentNow?: () => Promise<string | undefined>}} so */
async function assertSamePage(command, { isStep, documentNow }) {
  const given = (command.allowed ?? []).filter(({ kind, document }) => kind === 'use' && document !== undefined);
  for (const need of isStep ? [] : given) requireConsent(command, { ...need, document: await documentNow?.() });
}

/** @param {CommandBody} command @param {string[]} urls of the page in its tab @returns {StepPage[]} the pages that it opens, reads or acts on */
function usedPages({ type, params }, urls) {
  const here = urls.map((url) => ({ url, isOpen: true }));
  if (type === 'batch') return stepPages(params, here).flatMap(({ step, pages }) => (NEEDS_NO_PAGE.has(step.action) ? [] : pages));
  if (OPENING.has(type)) return typeof params?.url === 'string' ? [{ url: params.url, isOpen: false }] : [];
  return NEEDS_NO_PAGE.has(type) ? [] : here;
}

/** @param {boolean} ran */
function closedFile(ran) {
  return new ActionError('blocked_by_policy', 'local files are closed to agents on another machine, whichever folders are open', undefined, {
    hint: 'Use a page of the web.', mayHaveRun: ran,
  });
}
