// @ts-check
// Checks the answer that a script's page gives: a page can redefine every function that makes the answer.

/** @import {PageAnswer} from '../injected/run.js' */

/** The types that the encoder gives. */
const TYPES = new Set([
  'null', 'undefined', 'boolean', 'number', 'string', 'array', 'object', 'nan', 'infinity', 'negative_infinity', 'negative_zero',
  'bigint', 'symbol', 'function', 'date', 'regexp', 'map', 'set', 'error', 'promise', 'node', 'typed_array', 'array_buffer',
  'window', 'cycle', 'truncated',
]);

/** @param {any} answer @returns {PageAnswer} with each field of its proper type */
export function checkedAnswer(answer) {
  if (answer?.full === true) return { full: true };
  const { message, stack } = answer?.threw ?? {};
  if (typeof message === 'string') return { threw: { message, ...(typeof stack === 'string' && { stack }) } };
  if (TYPES.has(answer?.type) && 'value' in answer) return { type: answer.type, value: answer.value };
  return { threw: { message: 'the page kept the result of the script from being read' } };
}
