// @ts-check
// What runs around the user's script inside the page. Sent as text, as the encoder is.

import { Encoder } from './encoder.js';

/**
 * What comes back from the page. Without a prototype: a page that puts a `then` on Object.prototype
 * must not get to speak in our place.
 * @typedef {{origin: string} & (
 *   {type: string, value: any} | {threw: {message: string, stack?: string}} | {full: true})} PageAnswer
 */

/**
 * @param {() => unknown} run @param {number} room
 * @returns {Promise<PageAnswer>} never rejects: what rejects is then surely not the script
 */
export async function runInPage(run, room) {
  const { origin } = location;
  let value;
  try {
    value = await run();
  } catch (thrown) {
    return /** @type {any} */ ({ __proto__: null, origin, threw: describeThrown(thrown) });
  }
  // Most values are these. They do without the encoder, whose definition alone takes the page 0.4 ms.
  if (typeof value === 'boolean' || (typeof value === 'string' && value.length < room)) {
    return /** @type {any} */ ({ __proto__: null, origin, type: typeof value, value });
  }
  const encoder = makeEncoder(room);
  try {
    return /** @type {any} */ ({ __proto__: null, origin, ...encoder.encode(value) });
  } catch (error) {
    if (encoder.full) return /** @type {any} */ ({ __proto__: null, origin, full: true });
    const threw = { message: `the result cannot be read: ${error}` };
    return /** @type {any} */ ({ __proto__: null, origin, threw });
  }
}

/** Scripts throw anything. @param {any} thrown */
export function describeThrown(thrown) {
  if (thrown instanceof Error) {
    const message = thrown.message ? `${thrown.name}: ${thrown.message}` : String(thrown.name);
    return { __proto__: null, message, stack: String(thrown.stack ?? '') };
  }
  const kind = thrown === null ? 'null' : typeof thrown;
  if (kind === 'null' || kind === 'undefined') return { __proto__: null, message: `threw ${kind}, which is no Error` };
  let text = '';
  try {
    text = kind === 'object' ? JSON.stringify(thrown) : String(thrown);
  } catch {
    text = Object.prototype.toString.call(thrown);
  }
  return { __proto__: null, message: `threw the ${kind} ${text.slice(0, 1000)}, which is no Error` };
}

/** @param {number} room */
function makeEncoder(room) {
  return new Encoder(room);
}

/** An expression whose value is `runInPage`. Its own `makeEncoder` defines the encoder only when it is called. */
export const RUN_IN_PAGE = `(()=>{function makeEncoder(room){return new(${Encoder})(room)}${describeThrown};${runInPage};return runInPage})()`;
