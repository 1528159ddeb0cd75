// @ts-check
// Words for an element that outlive its document, as steps name it: the first of the page's own that finds it and no
// other, by the same search as every act.

/** @import {LastingTarget} from './step_recordings.js' */
/** @import {ReadyTarget} from './targets.js' */

import { askDocument } from './page_world.js';
import { parseTarget } from './target_query.js';
import { findTarget } from './targets.js';

/** @param {ReadyTarget} target @returns {Promise<LastingTarget>} */
export async function lastingTarget({ tabId, document, id }) {
  const { found } = await askDocument(tabId, document, 'lasting', { id }) ?? {};
  if (!found) return { target: null, isSecret: true, called: '', kind: 'textbox' };
  const { names, ...more } = found;
  for (const name of names) {
    if (await isOnly(name, { tabId, document, id })) return { target: name, ...more };
  }
  return { target: null, ...more };
}

/** @param {string} name @param {Pick<ReadyTarget, 'tabId' | 'document' | 'id'>} target */
async function isOnly(name, { tabId, document, id }) {
  try {
    const one = await findTarget({ tabId, signal: new AbortController().signal }, parseTarget(name));
    return one.id === id && one.document.documentId === document.documentId;
  } catch {
    return false;
  }
}
