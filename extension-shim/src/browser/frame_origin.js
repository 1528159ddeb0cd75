// @ts-check
// The site of a document, which its URL need not show: an empty document belongs to the site that has opened it.

import { ActionError } from '../lib/errors.js';
import { cdp } from './debugger.js';

/** In it the page's own scripts cannot answer. */
const WORLD = 'tabwire';

/**
 * Local files have an origin that is written as that of a sandbox is. Unlike a sandbox they have storage.
 * Runs in pages: it may use only globals that every page has.
 * @returns {string} "null": of no site; "file:///": of some local file
 */
export function ownOrigin() {
  if (self.origin !== 'null') return self.origin;
  try {
    return self.localStorage ? 'file:///' : 'null';
  } catch {
    return 'null';
  }
}

/** @param {number} tabId to which the debugger is attached @param {string} frameId @returns {Promise<string>} as of `ownOrigin` */
export async function originOfFrame(tabId, frameId) {
  const { executionContextId: contextId } = await cdp(tabId, 'Page.createIsolatedWorld', { frameId, worldName: WORLD });
  const { result } = await cdp(tabId, 'Runtime.evaluate', { expression: `(${ownOrigin})()`, contextId });
  if (typeof result.value !== 'string') throw new ActionError('internal', 'the page does not name its origin');
  return result.value;
}
