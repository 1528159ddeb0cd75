// @ts-check
// Acts that need a word of their own on each site, whatever the rules for sites are: a use of stored values, rules that
// answer requests or change their headers, permissions of the site, and a recording of what the person does.

/** @import {CommandBody, ConsentNeed} from '../../types/protocol.js' */
/** @import {StepPage} from './step_pages.js' */

import { assertConsent, requireConsent } from '../lib/consent.js';
import { clip } from '../lib/clip.js';
import { ActionError } from '../lib/errors.js';
import { ownWord } from './acts.js';
import { DETAIL_MAX, DETAIL_VALUE_MAX } from './limits.js';
import { siteName } from './sites.js';
import { stepPages, stepsIn } from './step_pages.js';

/** @typedef {Pick<CommandBody, 'type' | 'params'>} NamedAct a command or a step of one */

/** @param {NamedAct} command @returns {boolean} whether it, or a step of it, needs a word of its own */
export function needsOwnWord({ type, params }) {
  return ownWord(type, params) !== null || type === 'batch' && stepsIn(params).some((step) => ownWord(step?.action, step) !== null);
}

/**
 * @param {CommandBody} command @param {string} url of the page in its tab
 * @param {{documentNow: () => Promise<string | undefined>, isStep?: boolean, isDenied?: (act: NamedAct, url: string) => boolean}} by as of
 *   `requireConsent`, which throws; `isDenied`: a rule forbids it there, so nobody is asked, and it is refused at its step
 */
export async function askForOwnWord(command, url, { documentNow, isStep, isDenied = () => false }) {
  for (const { isOpen, details, ...need } of needsOf(command, url, isDenied)) {
    const document = isOpen ? await documentNow().catch(() => undefined) : undefined;
    requireConsent(command, { ...need, detail: inOneLine(details), ...(document && { document }) }, { isStep });
  }
}

/**
 * In the middle of a command, about the page that it has really met.
 * @param {CommandBody} command or a step of one @param {string} url @param {{ran: boolean}} so whether it may have begun
 */
export function assertOwnWord(command, url, { ran }) {
  const kind = ownWord(command.type, command.params);
  if (kind === null) return;
  if (!isWebPage(url)) throw new ActionError('wrong_kind', `${command.type} is for pages of web sites`, undefined, { hint: 'Navigate to an http or https page first.', mayHaveRun: ran });
  assertConsent(command, kind, siteName(url), ran);
}

/** @param {NamedAct} command @param {string} url of the page in its tab @param {(act: NamedAct, url: string) => boolean} isDenied @returns {(Pick<ConsentNeed, 'kind' | 'site'> & {isOpen: boolean, details: string[]})[]} one for each kind and site */
function needsOf({ type, params }, url, isDenied) {
  /** @type {StepPage[]} */
  const here = [{ url, isOpen: true }];
  const acts = type === 'batch' ? stepPages(params, here).map(({ step, pages }) => ({ type: step.action, params: step, pages })) : [{ type, params, pages: here }];
  const needs = new Map();
  for (const act of acts) {
    const kind = ownWord(act.type, act.params);
    // Pages of no site are refused by the act.
    if (kind === null) continue;
    for (const page of act.pages.filter((one) => isWebPage(one.url) && !isDenied(act, one.url))) {
      const site = siteName(page.url);
      const need = needs.get(`${kind} ${site}`) ?? { kind, site, isOpen: page.isOpen, details: [] };
      needs.set(`${kind} ${site}`, need);
      need.details.push(...DETAILS[kind](act.params));
    }
  }
  return [...needs.values()];
}

/** @param {string} url */
export function isWebPage(url) {
  return /^https?:/.test(url);
}

/** The parts of an act, for the question. @type {Record<NonNullable<ReturnType<typeof ownWord>>, (params: any) => string[]>} */
const DETAILS = { values: (params) => [valueDetail(params)], requests: ruleDetails, settings: permissionDetails, watch: () => [WATCHED] };

/** The person reads it in the question. */
const WATCHED = 'your clicks, keys and choices in this tab, not the texts that you type';

/** @param {any} params of `set_permissions` @returns {string[]} */
function permissionDetails({ permissions }) {
  return Object.entries(permissions ?? {}).map(([name, word]) => `${short(word)} ${short(name)}`);
}

/** @param {any} params of `storage` */
function valueDetail({ operation, area, name, value }) {
  const which = name === undefined ? 'all of' : `${short(name)} in`;
  return `${short(operation)} ${which} ${short(area)}${value === undefined ? '' : `: ${short(value)}`}`;
}

/** @param {any} params of `network_rules` @returns {string[]} */
function ruleDetails({ rules }) {
  return rules.flatMap((/** @type {any} */ rule) => {
    if (rule?.answer !== undefined) return [`answer ${short(rule.url)}`];
    return rule?.headers === undefined ? [] : [`send ${short(Object.keys(rule.headers ?? {}).join(', '))} to ${short(rule.url)}`];
  });
}

/** @param {unknown} text of an agent */
function short(text) {
  return clip(String(text), DETAIL_VALUE_MAX);
}

/** As many as the person can be shown, and how many more there are. @param {string[]} details @returns {string} */
function inOneLine(details) {
  let line = '';
  for (const [index, detail] of details.entries()) {
    const next = line === '' ? detail : `${line}; ${detail}`;
    const left = details.length - index;
    if (next.length > DETAIL_MAX) return line === '' ? clip(next, DETAIL_MAX) : `${line}; and ${left} more`;
    line = next;
  }
  return line;
}
