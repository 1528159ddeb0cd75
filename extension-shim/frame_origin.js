// @ts-check
// Of which site a document is, whatever its URL says: an empty one is of the site that has opened it.

import { cdp } from './debugger.js';
import { ActionError } from './errors.js';

/** In it the page's own scripts cannot answer. */
const WORLD = 'tabwire';

/** @param {number} tabId to which the debugger is attached @param {string} frameId @returns {Promise<string>} "null": of no site */
export async function originOfFrame(tabId, frameId) {
  const { executionContextId: contextId } = await cdp(tabId, 'Page.createIsolatedWorld', { frameId, worldName: WORLD });
  const { result } = await cdp(tabId, 'Runtime.evaluate', { expression: 'self.origin', contextId });
  if (typeof result.value !== 'string') throw new ActionError('internal', 'the page does not say of which site it is');
  return result.value;
}
