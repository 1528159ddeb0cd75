// @ts-check
// Rules of an agent for the requests of a tab's pages. No rule is about a document: what a page is, its site decides.
// Pure but for the protocol's commands.

/** @import {PausedRequest, RequestPattern} from './interception.js' */

import { ActionError } from '../lib/errors.js';
import { cdp } from './debugger.js';
import { NETWORK_RULES_MAX, RULE_URL_MAX } from './limits.js';
import { urlMatcher } from './url_pattern.js';

/** @typedef {{url: string, matched: number, fits: (url: string) => boolean}} NetworkRule */

/** @param {unknown} rules of an action @returns {NetworkRule[]} */
export function checkedRules(rules) {
  if (!Array.isArray(rules) || rules.length > NETWORK_RULES_MAX) throw wrong(`rules must be a list of at most ${NETWORK_RULES_MAX}, each such as {"url": "**/*.png", "block": true}`);
  return rules.map((rule, at) => {
    const { url, block, ...more } = rule ?? {};
    const [other] = Object.keys(more);
    if (other !== undefined) throw wrong(`rules[${at}] takes no ${JSON.stringify(other)}: a rule has url and block`);
    if (typeof url !== 'string' || url.length < 2 || url.length > RULE_URL_MAX) throw wrong(`rules[${at}].url must be a part of an address, or a pattern with * and **, of 2 to ${RULE_URL_MAX} characters`);
    if (block !== true) throw wrong(`rules[${at}].block must be true`);
    return { url, matched: 0, fits: urlMatcher(url) };
  });
}

/** @param {NetworkRule[]} rules @returns {RequestPattern[]} at least their requests */
export function patternsOf(rules) {
  return rules.map(({ url }) => {
    const escaped = url.replace(/[?\\]/g, '\\$&');
    return { urlPattern: url.includes('*') ? escaped.replace(/\*+/g, '*') : `*${escaped}*` };
  });
}

/**
 * @param {number} tabId @param {NetworkRule[]} rules @param {PausedRequest} paused
 * @param {(url: string) => boolean} isTold whether agents may know that there was such a request @returns {Promise<boolean>} whether a rule has decided
 */
export async function decideByRules(tabId, rules, { requestId, request: { url }, resourceType }, isTold) {
  const rule = resourceType === 'Document' ? undefined : rules.find(({ fits }) => fits(url));
  if (!rule) return false;
  if (isTold(url)) rule.matched += 1;
  await cdp(tabId, 'Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' });
  return true;
}

/** @param {string} message */
function wrong(message) {
  return new ActionError('invalid_params', message, undefined, { mayHaveRun: false });
}
