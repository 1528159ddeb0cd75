// @ts-check
// Reads a page from an isolated world, which shares with the page's scripts only the document.

import { cdp } from '../browser/debugger.js';
import { Look } from '../injected/look.js';
import { secretsSource } from '../injected/secrets.js';
import { CLIP } from '../lib/clip.js';
import { ActionError } from '../lib/errors.js';

/** How much of a page an analysis visits: more takes the page seconds, and no model reads it. */
const LOOK_NODES = 100_000;
/** How long the page may be kept busy by it. */
const LOOK_MS = 1_500;

/** Named, so that each look at a page uses the same world. */
const WORLD = 'tabwire';

/**
 * Evaluates an expression. The value comes as JSON text: the protocol's own serialisation would sort the keys.
 * @param {number} tabId @param {string} expression whose value may be a promise
 * @param {string} [inFrame] absent: in the page itself
 * @returns {Promise<any>}
 */
export async function readIsolated(tabId, expression, inFrame) {
  const { value } = await evaluateIsolated(tabId, `(async()=>JSON.stringify(await ${expression}))()`, inFrame);
  return JSON.parse(value);
}

/**
 * @param {number} tabId @param {string} expression whose value may be a promise
 * @param {string} [inFrame] absent: in the page itself
 * @returns {Promise<any>} the protocol's description of the value
 */
export async function evaluateIsolated(tabId, expression, inFrame) {
  const frameId = inFrame ?? (await cdp(tabId, 'Page.getFrameTree')).frameTree.frame.id;
  const params = { frameId, worldName: WORLD };
  const { executionContextId: contextId } = await cdp(tabId, 'Page.createIsolatedWorld', params);
  const { result, exceptionDetails: failed } = await cdp(tabId, 'Runtime.evaluate', { expression, contextId, awaitPromise: true });
  if (failed) throw new ActionError('internal', `the page cannot be read: ${failed.exception?.description ?? failed.text}`);
  return result;
}

/** An expression with a `look` in it. @param {string} expression */
export function withLook(expression) {
  return `(()=>{${CLIP};const look=new(${Look})({nodes:${LOOK_NODES},ms:${LOOK_MS}},${secretsSource()});return ${expression}})()`;
}

/** @param {string} selector */
export function wrongSelector(selector) {
  return new ActionError('invalid_params', `${JSON.stringify(selector)} is no CSS selector; write one such as form input[name="q"]`);
}
