// @ts-check
// How an agent names an element: one text in several forms.

import { ActionError } from '../lib/errors.js';

const REF = /^(?:@|ref=)?([a-z]{1,3}[1-9]\d{0,8})$/;
const HEADING = /^h[1-6]$/;
const FORMS = 'Give a ref of a snapshot (b12), a CSS selector, text=Save, role=button[name="Save"], label=Email, placeholder=Search or testid=save.';

/**
 * @param {unknown} target @returns {{ref: string} | {query: TargetQuery}}
 * @throws {ActionError} it is none
 */
export function parseTarget(target) {
  if (typeof target !== 'string' || target.trim() === '' || target.length > 2_000) throw wrongTarget('target must be a text');
  const text = target.trim();
  const ref = REF.exec(text)?.[1];
  if (ref && !HEADING.test(text)) return { ref };
  const [, kind, rest] = /^(css|text|role|label|placeholder|testid|data-testid)=([\s\S]+)$/.exec(text) ?? [];
  if (kind === undefined) return { query: { css: text } };
  if (kind === 'css') return { query: { css: rest } };
  if (kind === 'role') return { query: roleQuery(rest.trim()) };
  const { words, isQuoted } = unquoted(rest.trim());
  if (kind === 'testid' || kind === 'data-testid') return { query: { testid: words } };
  return { query: { [kind]: words, ...(isQuoted && { exact: true }) } };
}

/** @param {string} text such as button[name="Save"] @returns {TargetQuery} */
function roleQuery(text) {
  const [, role, named, words, flag] = /^([a-z-]+)(\[\s*name\s*=\s*((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\]"']+?))\s*([is])?\s*\])?$/i.exec(text) ?? [];
  if (role === undefined) throw wrongTarget(`role=${text} is not understood`);
  if (named === undefined) return { role: role.toLowerCase() };
  return { role: role.toLowerCase(), name: unquoted(words).words, ...(flag === 's' && { exact: true }) };
}

/** @param {string} text */
function unquoted(text) {
  const isQuoted = text.length > 1 && /^(["']).*\1$/s.test(text);
  return { words: isQuoted ? text.slice(1, -1).replace(/\\(["'\\])/g, '$1') : text, isQuoted };
}

/** @param {string} message */
function wrongTarget(message) {
  return new ActionError('invalid_params', message, undefined, { hint: FORMS });
}

/** @param {TargetQuery} query @returns {string} in words, for errors */
export function queryInWords({ css, text, role, name, label, placeholder, testid }) {
  const parts = [
    css !== undefined && `the selector ${JSON.stringify(css)}`, role !== undefined && `role ${role}`, name !== undefined && `name ${JSON.stringify(name)}`,
    text !== undefined && `text ${JSON.stringify(text)}`, label !== undefined && `label ${JSON.stringify(label)}`,
    placeholder !== undefined && `placeholder ${JSON.stringify(placeholder)}`, testid !== undefined && `test id ${JSON.stringify(testid)}`,
  ];
  return parts.filter(Boolean).join(' and ');
}

/**
 * A selector that reaches into frames: its part for a frame and the rest, at each space outside of brackets and quotes.
 * @param {string} css @returns {[string, string][]}
 */
export function selectorSplits(css) {
  /** @type {[string, string][]} */
  const splits = [];
  let depth = 0;
  let quote = '';
  for (let at = 0; at < css.length; at += 1) {
    const sign = css[at];
    if (sign === '\\') at += 1;
    else if (quote) quote = sign === quote ? '' : quote;
    else if (sign === '"' || sign === "'") quote = sign;
    else if ('[('.includes(sign)) depth += 1;
    else if ('])'.includes(sign)) depth -= 1;
    else if (sign === ' ' && depth === 0) {
      const [outer, inner] = [css.slice(0, at).trim(), css.slice(at).trim()];
      if (outer && inner && !/[>+~,]$/.test(outer) && !/^[>+~,]/.test(inner)) splits.push([outer, inner]);
    }
  }
  return splits;
}
