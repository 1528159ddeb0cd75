// @ts-check
// The pictures of the pages that agents ask about. In the memory of the browser: the worker writes them there, the
// popup shows them, and no page reads them.

import { sessionItems } from '../lib/session_items.js';

/** @typedef {{picture: string} | {trouble: string}} AskPicture `picture`: a data URL; `trouble`: why there is none */

const PREFIX = 'ask:picture:';

/** @param {string} correlationId @param {AskPicture} picture */
export async function keepAskPicture(correlationId, picture) {
  await chrome.storage.session.set({ [PREFIX + correlationId]: picture });
}

/** @param {string} correlationId @returns {Promise<AskPicture | undefined>} */
export async function keptAskPicture(correlationId) {
  const key = PREFIX + correlationId;
  return /** @type {AskPicture | undefined} */ ((await sessionItems(key))[key]);
}

/** Drops the pictures of all other questions. @param {string[]} correlationIds @returns {Promise<string[]>} those that have one */
export async function dropOtherAskPictures(correlationIds) {
  const keys = Object.keys(await sessionItems(null)).filter((key) => key.startsWith(PREFIX));
  const kept = keys.map((key) => key.slice(PREFIX.length));
  const over = kept.filter((id) => !correlationIds.includes(id));
  await Promise.all(over.map((id) => chrome.storage.session.remove(PREFIX + id)));
  return kept.filter((id) => correlationIds.includes(id));
}
