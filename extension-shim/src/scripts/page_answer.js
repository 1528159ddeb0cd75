// @ts-check
// What a script's page has said of it, judged: a page can redefine all that its answer is made with.

/** @import {PageAnswer} from '../injected/run.js' */

/** What the encoder says that a value is. */
const TYPES = new Set([
  'null', 'undefined', 'boolean', 'number', 'string', 'array', 'object', 'nan', 'infinity', 'negative_infinity', 'negative_zero',
  'bigint', 'symbol', 'function', 'date', 'regexp', 'map', 'set', 'error', 'promise', 'node', 'typed_array', 'array_buffer',
  'window', 'cycle', 'truncated',
]);

/** @param {any} said @returns {PageAnswer} in which each field is what it should be */
export function checkedAnswer(said) {
  if (said?.full === true) return { full: true };
  const { message, stack } = said?.threw ?? {};
  if (typeof message === 'string') return { threw: { message, ...(typeof stack === 'string' && { stack }) } };
  if (TYPES.has(said?.type) && 'value' in said) return { type: said.type, value: said.value };
  return { threw: { message: 'the page kept the result of the script from being read' } };
}
