// @ts-check
// Results of earlier steps in the parameters of a later one: `{{name}}`, `{{name.part.0}}`. Results hold words of pages: they
// are put in once, as data, and never read for further templates. Pure.

import { ActionError } from '../lib/errors.js';
import { readRefLine } from '../lib/ref_line.js';
import { STEP_TEXT_MAX } from './limits.js';

const TEMPLATE = /\{\{\s*([A-Za-z_][\w-]*)((?:\.[\w-]+|\[\d+\])*)\s*\}\}/g;
/** Parameters that are run as scripts. */
const SCRIPTS = new Set(['execute_js script', 'wait_for function']);

/**
 * The parameters of a step of this action.
 * @param {string} action @param {Record<string, unknown>} params @param {Map<string, unknown>} results @param {Set<string>} names as of `withResults`
 * @returns {Record<string, any>}
 */
export function filledParams(action, params, results, names) {
  const filled = Object.entries(params).map(([name, value]) =>
    [name, SCRIPTS.has(`${action} ${name}`) && typeof value === 'string' ? scriptWith(value, results, names) : withResults(value, results, names)]);
  return Object.fromEntries(filled);
}

/**
 * The parameters of a step with the results in their places. A text that is one template alone becomes the result itself.
 * @param {any} value @param {Map<string, unknown>} results of the steps so far, by name @param {Set<string>} names of all steps
 * @returns {any}
 */
export function withResults(value, results, names) {
  if (typeof value === 'string') return textWith(value, results, names);
  if (Array.isArray(value)) return value.map((one) => withResults(one, results, names));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withResults(one, results, names)]));
}

/** @param {string} text @param {Map<string, unknown>} results @param {Set<string>} names */
function textWith(text, results, names) {
  const matches = [...text.matchAll(TEMPLATE)].filter(([, name]) => names.has(name));
  if (matches.length === 1 && matches[0][0] === text.trim()) return resultAt(matches[0], results);
  let filled = '';
  let from = 0;
  for (const match of matches) {
    const found = resultAt(match, results);
    filled += text.slice(from, match.index) + (typeof found === 'string' ? found : JSON.stringify(found));
    from = match.index + match[0].length;
    if (filled.length > STEP_TEXT_MAX) throw wrongTemplate(match[0], `makes a text of more than ${STEP_TEXT_MAX} characters`);
  }
  return filled + text.slice(from);
}

/**
 * In a script each template is an expression that gives the result. Nothing of the result is code, also where the template
 * stands in quotes: of all signs it has letters, digits and those that URLs have.
 * @param {string} script @param {Map<string, unknown>} results @param {Set<string>} names
 */
function scriptWith(script, results, names) {
  return script.replace(TEMPLATE, (template, name, path) => {
    if (!names.has(name)) return template;
    const json = encodeURIComponent(JSON.stringify(resultAt([template, name, path], results))).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
    return `(JSON.parse(decodeURIComponent(/${json}/.source)))`;
  });
}

/** @param {ArrayLike<string> & Iterable<string>} match @param {Map<string, unknown>} results @returns {unknown} */
function resultAt([template, name, path], results) {
  if (!results.has(name)) throw wrongTemplate(template, `: the step named ${name} comes later`);
  let found = results.get(name);
  let at = name;
  for (const [, key, place] of path.matchAll(/\.([\w-]+)|\[(\d+)\]/g)) {
    const part = key ?? place;
    const next = partOf(found, part);
    if (next === undefined) throw wrongTemplate(template, `: ${at} has no ${part}${knownParts(found)}`);
    found = next;
    at = `${at}.${part}`;
  }
  return found;
}

/** Own parts alone: an inherited property is no result. @param {unknown} found @param {string} part @returns {unknown} undefined: there is none */
function partOf(found, part) {
  if (typeof found === 'string') {
    const refs = part === 'ref' || part === 'refs' ? found.split('\n').flatMap((line) => readRefLine(line)?.ref ?? []) : [];
    return part === 'ref' ? refs[0] : part === 'refs' ? refs : undefined;
  }
  if (found === null || typeof found !== 'object' || part === 'length' || !Object.hasOwn(found, part)) return undefined;
  return /** @type {any} */ (found)[part];
}

/** @param {unknown} found */
function knownParts(found) {
  if (typeof found === 'string') return '; it is a text, which has ref and refs if there are refs in it';
  if (found === null || typeof found !== 'object') return `; it is ${JSON.stringify(found)}`;
  return `; it has ${Object.keys(found).slice(0, 10).join(', ') || 'nothing'}`;
}

/** @param {string} template @param {string} why */
function wrongTemplate(template, why) {
  return new ActionError('invalid_params', `${template}${why.startsWith(':') ? '' : ' '}${why}`, undefined, {
    mayHaveRun: false, hint: 'Name a step before this one, and a part that its result has.',
  });
}
