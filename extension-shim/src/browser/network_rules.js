// @ts-check
// Rules of an agent for the requests of a tab's pages. No rule is about a document: what a page is, its site decides.
// Rules that answer, or change headers, hold for requests of the page's own document, where the person has allowed them.
// Pure but for the protocol's commands.

/** @import {PausedRequest, RequestPattern} from './interception.js' */

import { base64Of } from '../lib/base64.js';
import { ActionError } from '../lib/errors.js';
import { siteName } from '../policy/sites.js';
import { cdp } from './debugger.js';
import { NETWORK_RULES_MAX, RULE_ANSWER_MAX, RULE_HEADER_MAX, RULE_HEADERS_MAX, RULE_URL_MAX } from './limits.js';
import { urlMatcher } from './url_pattern.js';

/**
 * @typedef {{body: string, type: string, status: number}} RuleAnswer
 * @typedef {{block: true} | {answer: RuleAnswer} | {headers: Record<string, string>}} RuleDeed
 * @typedef {{url: string, matched: number, fits: (url: string) => boolean, deed: RuleDeed}} NetworkRule
 *
 * @typedef {object} RuleScope
 * @property {(url: string) => boolean} isTold whether agents may know that there was such a request
 * @property {string | null} site that the person lets the client answer and change requests of
 * @property {(site: string) => void} onAnswer a page of this site gets an answer of the agent's, which may be a script
 * @property {(frameId: string) => Promise<boolean>} isOfPage whether the page's own document has this id, and is of that site now
 */

const DEEDS = ['block', 'answer', 'headers'];
const EXAMPLE = 'each such as {"url": "**/*.png", "block": true}, {"url": "/api/cart", "answer": {"body": "[]"}} or {"url": "/api/", "headers": {"X-Variant": "b"}}';
/** Kinds of requests that a rule may answer. Documents, workers and all kinds to come are the site's own word. */
const ANSWERABLE = new Set(['Stylesheet', 'Image', 'Media', 'Font', 'Script', 'XHR', 'Fetch']);
/** Headers that say who asks, from where and how, and those that the browser counts on. */
const CLOSED_HEADER = new RegExp([
  '^(?:proxy-|sec-|access-control-|cross-origin-|content-security-|x-http-method|x-method-)', 'auth|cookie|csrf|xsrf|token|session|api-?key|secret|password',
  '^(?:accept-charset|accept-encoding|connection|content-encoding|content-length|date|expect|forwarded|host|keep-alive|origin|permissions-policy|referer|referrer-policy|service-worker|strict-transport-security|te|trailer|transfer-encoding|upgrade|upgrade-insecure-requests|via|x-content-type-options|x-frame-options|x-xss-protection)$',
].join('|'), 'i');

/** @param {unknown} rules of an action @returns {NetworkRule[]} */
export function checkedRules(rules) {
  if (!Array.isArray(rules) || rules.length > NETWORK_RULES_MAX) throw wrong(`rules must be a list of at most ${NETWORK_RULES_MAX}, ${EXAMPLE}`);
  return rules.map((rule, at) => {
    const { url, ...deeds } = rule ?? {};
    const names = Object.keys(deeds);
    const other = names.find((name) => !DEEDS.includes(name));
    if (other !== undefined) throw wrong(`rules[${at}] takes no ${JSON.stringify(other)}: a rule has url and one of ${DEEDS.join(', ')}`);
    if (typeof url !== 'string' || url.length < 2 || url.length > RULE_URL_MAX) throw wrong(`rules[${at}].url must be a part of an address, or a pattern with * and **, of 2 to ${RULE_URL_MAX} characters`);
    if (names.length !== 1) throw wrong(`rules[${at}] must have one of ${DEEDS.join(', ')}`);
    return { url, matched: 0, fits: urlMatcher(url), deed: checkedDeed(deeds, `rules[${at}]`) };
  });
}

/** @param {any} deeds one of them @param {string} name of the rule @returns {RuleDeed} */
function checkedDeed({ block, answer, headers }, name) {
  if (answer !== undefined) return { answer: checkedAnswer(answer, `${name}.answer`) };
  if (headers !== undefined) return { headers: checkedHeaders(headers, `${name}.headers`) };
  if (block !== true) throw wrong(`${name}.block must be true`);
  return { block };
}

/** @param {any} answer @param {string} name @returns {RuleAnswer} */
function checkedAnswer(answer, name) {
  const { body, type = 'application/json', status = 200, ...more } = answer ?? {};
  const [other] = Object.keys(more);
  if (other !== undefined) throw wrong(`${name} takes no ${JSON.stringify(other)}: an answer has body, type and status`);
  if (typeof body !== 'string' || body.length > RULE_ANSWER_MAX) throw wrong(`${name}.body must be a text of at most ${RULE_ANSWER_MAX} characters`);
  if (typeof type !== 'string' || !/^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type)) throw wrong(`${name}.type must be a media type, such as application/json`);
  const isStatus = Number.isInteger(status) && status >= 200 && status <= 599 && Math.trunc(status / 100) !== 3;
  if (!isStatus) throw wrong(`${name}.status must be from 200 to 299 or from 400 to 599`);
  return { body, type, status };
}

/** @param {any} headers @param {string} name @returns {Record<string, string>} */
function checkedHeaders(headers, name) {
  const all = headers !== null && typeof headers === 'object' && !Array.isArray(headers) ? Object.entries(headers) : [];
  if (all.length === 0 || all.length > RULE_HEADERS_MAX) throw wrong(`${name} must have 1 to ${RULE_HEADERS_MAX} headers, such as {"X-Variant": "b"}`);
  for (const [header, value] of all) {
    if (!/^[\w!#$%&'*+.^`|~-]{1,100}$/.test(header)) throw wrong(`${name} has ${JSON.stringify(header)}, which is no name of a header`);
    if (CLOSED_HEADER.test(header)) throw wrong(`${name} cannot change ${header}: headers of security, cookies and authorization stay as they are`);
    if (typeof value !== 'string' || value.length > RULE_HEADER_MAX || !/^[\x20-\x7e]*$/.test(value)) throw wrong(`${name}.${header} must be a text of at most ${RULE_HEADER_MAX} printable ASCII characters`);
  }
  return Object.fromEntries(all);
}

/** @param {NetworkRule} rule @returns {boolean} whether it only refuses requests, which needs no word of the person */
export function isBlock({ deed }) {
  return 'block' in deed;
}

/** @param {NetworkRule[]} rules @returns {RequestPattern[]} at least their requests */
export function patternsOf(rules) {
  return rules.map(({ url }) => {
    const escaped = url.replace(/[?\\]/g, '\\$&');
    return { urlPattern: url.includes('*') ? escaped.replace(/\*+/g, '*') : `*${escaped}*` };
  });
}

/**
 * The first rule that fits and may decide about a request does.
 * @param {number} tabId @param {NetworkRule[]} rules @param {PausedRequest} paused @param {RuleScope} scope
 * @returns {Promise<boolean>} whether a rule has decided
 */
export async function decideByRules(tabId, rules, paused, scope) {
  if (paused.resourceType === 'Document') return false;
  const { url } = paused.request;
  for (const rule of rules) {
    if (!rule.fits(url) || !isBlock(rule) && !await mayChange(rule, paused, scope)) continue;
    if (scope.isTold(url)) rule.matched += 1;
    if ('answer' in rule.deed && scope.site !== null) scope.onAnswer(scope.site);
    await carryOut(tabId, rule, paused);
    return true;
  }
  return false;
}

/** @param {NetworkRule} rule @param {PausedRequest} paused @param {RuleScope} scope */
async function mayChange({ deed }, { request: { url, headers = {} }, resourceType, frameId = '' }, { site, isOfPage }) {
  // A worker of the site outlives the page.
  const isForWorker = Object.keys(headers).some((name) => /^service-worker$/i.test(name));
  const may = 'answer' in deed ? ANSWERABLE.has(resourceType) && !isForWorker : siteName(url) === site;
  return site !== null && may && isOfPage(frameId);
}

/** @param {number} tabId @param {NetworkRule} rule @param {PausedRequest} paused */
async function carryOut(tabId, { deed }, { requestId, request: { headers = {} } }) {
  if ('headers' in deed) return cdp(tabId, 'Fetch.continueRequest', { requestId, headers: headersWith(headers, deed.headers) });
  if ('block' in deed) return cdp(tabId, 'Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' });
  const { body, type, status } = deed.answer;
  const responseHeaders = [{ name: 'Content-Type', value: `${type}; charset=utf-8` }, { name: 'Cache-Control', value: 'no-store' }];
  return cdp(tabId, 'Fetch.fulfillRequest', { requestId, responseCode: status, responseHeaders, body: base64Of(new TextEncoder().encode(body)) });
}

/** @param {Record<string, string>} before @param {Record<string, string>} changed @returns {{name: string, value: string}[]} */
function headersWith(before, changed) {
  const names = new Set(Object.keys(changed).map((name) => name.toLowerCase()));
  const kept = Object.entries(before).filter(([name]) => !names.has(name.toLowerCase()));
  return [...kept, ...Object.entries(changed)].map(([name, value]) => ({ name, value }));
}

/** @param {string} message */
function wrong(message) {
  return new ActionError('invalid_params', message, undefined, { mayHaveRun: false });
}
