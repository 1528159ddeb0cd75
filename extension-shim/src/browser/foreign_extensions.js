// @ts-check
// Other extensions that put frames into pages. The browser keeps the debugger of an extension out of a tab that holds
// such a frame.

/** Names are told by no API without a further permission: these are the ids of those that insert frames for many people. */
const NAMES = new Map(Object.entries({
  aeblfdkhhhdcdjpifhhbdiojplfjncoa: '1Password', nngceckbapebfimnlniiiahkandclblb: 'Bitwarden', hdokiejnpimakedhajhdlcegeplioahd: 'LastPass',
  fdjamakpfbbddfjaooikfcpapjohcfmg: 'Dashlane', bfogiafebfohielmmehodmfbbebbbpei: 'Keeper', fooolghllnmhmmndgjiamiiodkpenpbb: 'NordPass',
  ghmbeldphafepmbegfdlkpapadhbakde: 'Proton Pass', pnlccmojcmeohlpggmfnbbiapkmbliob: 'RoboForm', pejdijmoenmkgeppbflobdenhhabjlaj: 'iCloud Passwords',
  didegimhafipceonhjepacocaffmoppf: 'Passbolt', oboonakemofpalcgghocfoadofidjkkk: 'KeePassXC', kbfnbcaeplbcioakkpcpgfkobkghlhen: 'Grammarly',
}));

/** The browser's own viewers are no strangers: the debugger may be where they are. */
const VIEWERS = new Set(['mhjfbmdgcfjbbpaeojofohoefgiehjai']);

/** @param {string} url @returns {string | null} the id of another extension whose page it is */
export function foreignIdOf(url) {
  const [, id] = /^chrome-extension:\/\/([^/]+)\//.exec(url) ?? [];
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

/** @typedef {{frameId: number, parentFrameId: number, parentDocumentId?: string, url: string, id: string}} ForeignFrame `id`: of its extension */

/** @param {number} tabId @returns {Promise<ForeignFrame[]>} the frames of other extensions that a tab shows */
export async function foreignFramesIn(tabId) {
  const all = await chrome.webNavigation.getAllFrames({ tabId }).catch(() => null) ?? [];
  return all.flatMap((frame) => {
    const id = frame.frameId === 0 ? null : foreignIdOf(frame.url);
    return id === null ? [] : [{ ...frame, id }];
  });
}
