// @ts-check
// The wrapper that runs around the user's script inside the page. Sent as text, as the encoder is. A page can redefine
// every function used here, so every failure becomes an answer: the wrapper itself never rejects or throws.

import { CLIP, headOf } from '../lib/clip.js';
import { Encoder } from './encoder.js';

/**
 * The page's answer. Without a prototype: a page that puts a `then` on Object.prototype
 * must not get to speak in our place.
 * @typedef {{type: string, value: any} | {threw: {message: string, stack?: string}} | {full: true}} PageAnswer
 */

/**
 * @param {() => unknown} run @param {number} room
 * @returns {Promise<PageAnswer>} never rejects
 */
export async function runInPage(run, room) {
  /** @type {Encoder | undefined} */
  let encoder;
  try {
    let value;
    try {
      value = await run();
    } catch (thrown) {
      return /** @type {any} */ ({ __proto__: null, threw: describeThrown(thrown) });
    }
    // Most values are these. They do without the encoder, whose definition alone takes the page 0.4 ms.
    if (typeof value === 'boolean' || (typeof value === 'string' && value.length < room)) {
      return /** @type {any} */ ({ __proto__: null, type: typeof value, value });
    }
    encoder = makeEncoder(room);
    return /** @type {any} */ ({ __proto__: null, ...encoder.encode(value) });
  } catch (error) {
    if (encoder?.full) return /** @type {any} */ ({ __proto__: null, full: true });
    return /** @type {any} */ ({ __proto__: null, threw: describeUnread(error) });
  }
}

/** Scripts throw anything, and what they throw may throw when it is looked at. @param {any} thrown */
export function describeThrown(thrown) {
  try {
    if (thrown instanceof Error) {
      const message = thrown.message ? `${thrown.name}: ${thrown.message}` : `${thrown.name}`;
      return { __proto__: null, message, stack: `${thrown.stack ?? ''}` };
    }
    const kind = thrown === null ? 'null' : typeof thrown;
    if (kind === 'null' || kind === 'undefined') return { __proto__: null, message: `threw ${kind}, which is no Error` };
    let text = '';
    try {
      text = kind === 'object' ? JSON.stringify(thrown) : String(thrown);
    } catch {
      text = Object.prototype.toString.call(thrown);
    }
    return { __proto__: null, message: `threw the ${kind} ${headOf(text, 1000)}, which is no Error` };
  } catch {
    return { __proto__: null, message: 'threw a value that cannot be described' };
  }
}

/** @param {unknown} error */
export function describeUnread(error) {
  try {
    return { __proto__: null, message: `the result cannot be read: ${error}` };
  } catch {
    return { __proto__: null, message: 'the result cannot be read' };
  }
}

/** @param {number} room */
function makeEncoder(room) {
  return new Encoder(room);
}

/**
 * An expression whose value is `runInPage`. Its own `makeEncoder` defines the encoder only when it is called. Strict, so
 * that functions of the page that are called from here do not get hold of it.
 */
export const RUN_IN_PAGE = `(()=>{'use strict';${CLIP};function makeEncoder(room){return new(${Encoder})(room)}`
  + `${describeThrown};${describeUnread};${runInPage};return runInPage})()`;
