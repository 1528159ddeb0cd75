// @ts-check
// The one way to read chrome.storage.session. The browser empties it when the extension is loaded anew. Before a reload of our
// own its items are handed on in chrome.storage.local, and no part of the next worker reads before they are back.

import { HANDED_ON_MS } from './limits.js';
import { once } from './once.js';

const KEY = 'handed_on';

/** @typedef {{at: number, windows: (number | undefined)[], items: Record<string, unknown>}} HandedOn */

/** @param {string | null} key null: all @returns {Promise<Record<string, any>>} */
export async function sessionItems(key) {
  await putBack();
  return chrome.storage.session.get(key);
}

/** Keeps the items for the worker after a reload. */
export async function handOn() {
  const [items, windows] = await Promise.all([sessionItems(null), chrome.windows.getAll()]);
  /** @type {HandedOn} */
  const handedOn = { at: Date.now(), windows: windows.map(({ id }) => id), items };
  await chrome.storage.local.set({ [KEY]: handedOn });
}

/** There is no reload after all. */
export async function keepHere() {
  await chrome.storage.local.remove(KEY);
}

/** @returns {Promise<boolean>} whether this is the first worker after a reload of our own: what earlier ones put into pages is dead */
export async function isAfterReload() {
  await putBack();
  return isBack;
}

let isBack = false;
const putBack = once(async () => {
  const handedOn = /** @type {HandedOn | undefined} */ ((await chrome.storage.local.get(KEY))[KEY]);
  if (!handedOn) return;
  const [windows, newer] = await Promise.all([chrome.windows.getAll(), chrome.storage.session.get(null)]);
  // If the browser itself was started anew, its tabs have other ids.
  const isThisRun = Date.now() - handedOn.at < HANDED_ON_MS && windows.some(({ id }) => handedOn.windows.includes(id));
  if (isThisRun) await chrome.storage.session.set({ ...handedOn.items, ...newer });
  isBack = isThisRun;
  // Not before they are back: a worker that ends in between would have neither.
  await keepHere();
});
