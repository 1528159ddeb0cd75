// @ts-check
// An element that was found in a page, for the debugger.

/** @import {ReadyTarget} from './targets.js' */
/** @import {HandedElement} from './world_contexts.js' */

import { navigationInterrupted } from '../lib/errors.js';
import { askDocument } from './page_world.js';
import { worldContexts } from './world_contexts.js';

/** To be called while `worldContexts.during` lasts. @param {ReadyTarget} target @returns {Promise<HandedElement>} */
export async function handedElement({ tabId, document, id }) {
  const secret = crypto.randomUUID();
  const isKept = await askDocument(tabId, document, 'handOver', { id, secret });
  const element = isKept ? await worldContexts.fetch(tabId, secret) : null;
  if (!element) throw navigationInterrupted();
  return element;
}
