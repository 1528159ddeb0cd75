// @ts-check
// Other extensions that put frames into pages. The browser keeps the debugger of an extension out of a tab that holds
// such a frame.

import { ARRIVED_MAX } from './limits.js';

/** Names are told by no API without a further permission: these are the ids of those that insert frames for many people. */
const NAMES = new Map(Object.entries({
  aeblfdkhhhdcdjpifhhbdiojplfjncoa: '1Password', nngceckbapebfimnlniiiahkandclblb: 'Bitwarden', hdokiejnpimakedhajhdlcegeplioahd: 'LastPass',
  fdjamakpfbbddfjaooikfcpapjohcfmg: 'Dashlane', bfogiafebfohielmmehodmfbbebbbpei: 'Keeper', fooolghllnmhmmndgjiamiiodkpenpbb: 'NordPass',
  ghmbeldphafepmbegfdlkpapadhbakde: 'Proton Pass', pnlccmojcmeohlpggmfnbbiapkmbliob: 'RoboForm', pejdijmoenmkgeppbflobdenhhabjlaj: 'iCloud Passwords',
  didegimhafipceonhjepacocaffmoppf: 'Passbolt', oboonakemofpalcgghocfoadofidjkkk: 'KeePassXC', kbfnbcaeplbcioakkpcpgfkobkghlhen: 'Grammarly',
}));

/** The browser's own viewers are no strangers: the debugger may be where they are. */
const VIEWERS = new Set(['mhjfbmdgcfjbbpaeojofohoefgiehjai']);

/**
 * The id of another extension whose page it is. Only what can be an id: pages choose the addresses of their frames, and a person
 * reads the id. @param {string} url @returns {string | null}
 */
export function foreignIdOf(url) {
  const [, id] = /^chrome-extension:\/\/([a-p]{32})\//.exec(url) ?? [];
  return id === undefined || id === chrome.runtime.id || VIEWERS.has(id) ? null : id;
}

/** @param {string} id of an extension @returns {string} for people and agents */
export function extensionName(id) {
  return NAMES.get(id) ?? `the extension ${id}`;
}

/** @param {Iterable<string>} ids @returns {string} */
export function extensionNames(ids) {
  return [...new Set(ids)].map(extensionName).sort().join(', ') || 'another extension';
}

/** The browser's words where the debugger may not be for a frame of another extension. @param {string} message */
export function isOfForeignFrame(message) {
  return /chrome-extension:\/\/ URL of different extension/i.test(message);
}

/** @typedef {{frameId: number, parentFrameId: number, parentDocumentId?: string, url: string, id: string, isListed?: true}} ForeignFrame `id`: of its extension; `isListed`: it is there now */

/** Frames that came without a `src` are in no list of the browser: only their arrival is told. @type {Map<number, Map<number, ForeignFrame>>} */
const arrived = new Map();

/** @param {{tabId: number, frameId: number, parentFrameId: number, parentDocumentId?: string, url: string}} details */
export function handleForeignCommitted({ tabId, frameId, parentFrameId, parentDocumentId, url }) {
  if (frameId === 0) return void arrived.delete(tabId);
  const id = foreignIdOf(url);
  const frames = arrived.get(tabId) ?? new Map();
  frames.delete(frameId);
  if (id !== null) frames.set(frameId, { frameId, parentFrameId, ...(parentDocumentId && { parentDocumentId }), url, id });
  const [oldest] = frames.keys();
  if (frames.size > ARRIVED_MAX) frames.delete(oldest);
  if (frames.size > 0) arrived.set(tabId, frames);
  else arrived.delete(tabId);
}

/** @param {number} tabId that was closed */
export function forgetForeign(tabId) {
  arrived.delete(tabId);
}

/** @param {number} tabId @returns {Promise<ForeignFrame[]>} the frames of other extensions that a tab shows, the oldest first */
export async function foreignFramesIn(tabId) {
  const all = await chrome.webNavigation.getAllFrames({ tabId }).catch(() => null) ?? [];
  const found = new Map(arrived.get(tabId));
  for (const frame of all) {
    const id = frame.frameId === 0 ? null : foreignIdOf(frame.url);
    if (id === null) found.delete(frame.frameId);
    else found.set(frame.frameId, { ...frame, id, isListed: true });
  }
  return [...found.values()].sort((a, b) => a.frameId - b.frameId);
}
