// @ts-check
// Asks the documents of a tab, in the isolated world of our own content scripts: no debugger is needed,
// and the page's scripts share nothing with it but the document.

import { ActionError, messageOf, navigationInterrupted } from '../lib/errors.js';
import { within } from '../lib/within.js';
import { hidesOwner } from '../policy/sites.js';
import { FRAME_ANSWER_MS } from './limits.js';
import { admitDocument } from './site_guard.js';
import { policy } from './state.js';

/** Classic scripts, in the order in which they need each other. */
const FILES = ['secrets', 'page_dom', 'words', 'accessible', 'tree', 'refs', 'snapshot', 'targets', 'watch', 'files', 'code_addresses', 'readiness', 'scripted_events', 'scrolling', 'page_reader', 'waits', 'page_tools', 'fields', 'scripted_text', 'form_reader', 'lasting_names', 'selection', 'clipboard_guard', 'person_input', 'entry']
  .map(scriptOf);
/** Loaded on request, into documents that come later before their own scripts. */
export const INPUT_LISTENERS = scriptOf('input_listeners');
/** Loaded on request: they are larger than all others. */
const AUDIT_FILES = ['third_party/axe-core/axe.min.js', scriptOf('audit')];

/**
 * @typedef {object} SeenDocument a document of a tab that agents may see
 * @property {number} frameId 0: the page itself
 * @property {number} parentFrameId
 * @property {string} documentId
 * @property {string} url
 * @property {SeenDocument} [around] of a frame: the document that it is in
 *
 * @typedef {object} TabDocuments
 * @property {string} url of the page
 * @property {SeenDocument[]} seen the page itself first
 * @property {Set<number>} denied the frames that have frames in them which agents may not see
 *
 * @typedef {object} DocumentAnswer the answer of one document
 * @property {SeenDocument} document
 * @property {any} value
 */

/** Runs in the document. @param {string} name @param {any} argument */
async function askWorld(name, argument) {
  if (!Object.hasOwn(globalThis, 'tabwireWorld')) return { isAbsent: true };
  try {
    return { value: await /** @type {any} */ (globalThis).tabwireWorld(name, argument), origin: self.origin };
  } catch (error) {
    return { error: String(/** @type {any} */ (error)?.message ?? error) };
  }
}

/**
 * The documents of a tab that agents may see. Refused if the page itself may not be seen.
 * @param {number} tabId @returns {Promise<TabDocuments>}
 */
export async function documentsOf(tabId) {
  const all = await chrome.webNavigation.getAllFrames({ tabId }) ?? [];
  // Pages that are loaded in advance, and those that are kept for going back, are not shown.
  const frames = all.filter(({ documentLifecycle = 'active' }) => documentLifecycle === 'active').sort((a, b) => a.frameId - b.frameId);
  const { url } = await admitDocument(tabId, frames.find(({ frameId }) => frameId === 0));
  /** @type {TabDocuments} */
  const documents = { url, seen: [], denied: new Set() };
  const open = new Set();
  for (const { documentId, frameId, parentFrameId, url: shown, errorOccurred } of frames) {
    // The frames of one that may not be seen are not seen either.
    if (frameId !== 0 && !open.has(parentFrameId)) continue;
    if (frameId !== 0 && policy.blocksIn(tabId, shown)) documents.denied.add(parentFrameId);
    else if (documentId && !errorOccurred) {
      open.add(frameId);
      const around = frameId === 0 ? undefined : documents.seen.find((one) => one.frameId === parentFrameId);
      documents.seen.push({ frameId, parentFrameId, documentId, url: shown, ...(around && { around }) });
    }
  }
  onlyDocuments.delete(tabId);
  if (isOnly(documents, documents.seen[0]?.documentId)) onlyDocuments.set(tabId, documents.seen[0]);
  return documents;
}

/** @param {TabDocuments} documents @param {string | undefined} documentId @returns {boolean} whether it is the only one of its tab */
export function isOnly({ seen, denied }, documentId) {
  return seen.length === 1 && denied.size === 0 && seen[0].documentId === documentId;
}

/** @param {SeenDocument} document @returns {string} the address by which rules about acts judge it: of an empty frame that of the document around it */
export function judgedAddress({ url, around }) {
  return around && hidesOwner(url) ? judgedAddress(around) : url;
}

/** Of tabs whose page had no frames at the last look, the page. @type {Map<number, SeenDocument>} */
const onlyDocuments = new Map();

/** @param {number} tabId that was closed */
export function forgetDocuments(tabId) {
  onlyDocuments.delete(tabId);
}

/**
 * The documents of a tab, and at the same time the answer of its only one. A document is of one site for as long as it
 * lives: the one of the last look may be asked before it is known whether the tab still shows it. The answer counts
 * only if it does, without frames.
 * @param {number} tabId @param {{name: string, argument: any, documentId?: string} | null} question `documentId`: only this one is asked
 * @returns {Promise<{documents: TabDocuments, answer?: {value: any}}>} without an answer the question is still to be asked
 */
export async function documentsAsking(tabId, question) {
  const known = onlyDocuments.get(tabId);
  const isAsked = known && question && (question.documentId ?? known.documentId) === known.documentId && /^https?:/.test(known.url) && !policy.blocksIn(tabId, known.url);
  // The second asking tells why the first has failed.
  const early = isAsked ? askDocument(tabId, known, question.name, question.argument).then((value) => ({ value }), () => undefined) : undefined;
  const documents = await documentsOf(tabId);
  const answer = isOnly(documents, known?.documentId) ? await early : undefined;
  return { documents, ...(answer && { answer }) };
}

/** @param {SeenDocument[]} documents @param {SeenDocument} outer @returns {SeenDocument[]} it and those of the frames in it */
export function withInner(documents, outer) {
  const found = new Set([outer.frameId]);
  return documents.filter(({ frameId, parentFrameId }) => {
    const isIn = found.has(frameId) || (frameId !== 0 && found.has(parentFrameId));
    if (isIn) found.add(frameId);
    return isIn;
  }).sort((a, b) => Number(b.frameId === outer.frameId) - Number(a.frameId === outer.frameId));
}

/**
 * The documents of a part of a page: the one that the part is in, and those of the frames in the part.
 * @param {number} tabId @param {SeenDocument[]} documents @param {{document: SeenDocument, id: number}} [root] absent: all of them
 * @returns {Promise<SeenDocument[]>}
 */
export async function documentsWithin(tabId, documents, root) {
  if (!root) return documents;
  const [outer, ...inner] = withInner(documents, root.document);
  const { found: inside = [] } = await askDocument(tabId, outer, 'framesWithin', { id: root.id });
  if (inside.length === 0) return [outer];
  const places = await askFrames(tabId, inner.filter(({ parentFrameId }) => parentFrameId === outer.frameId), 'place');
  return [outer, ...places.filter(({ value }) => inside.includes(value)).flatMap(({ document }) => withInner(documents, document))];
}

/**
 * Asks one document, which must answer. @param {number} tabId @param {SeenDocument} document @param {string} name @param {any} [argument]
 * @returns {Promise<any>}
 */
export async function askDocument(tabId, document, name, argument) {
  // An error page of the browser is no document of a site.
  if (!document) throw new ActionError('navigation_failed', 'the tab shows an error page of the browser: its page did not load');
  const [answer] = await askTogether(tabId, [document], name, argument);
  if (!answer) throw navigationInterrupted();
  return answer.value;
}

/**
 * Asks several documents. Frames that do not answer soon, or not at all, are left out: only the page itself must.
 * @param {number} tabId @param {SeenDocument[]} documents @param {string} name @param {any} [argument] @returns {Promise<DocumentAnswer[]>}
 */
export async function askDocuments(tabId, documents, name, argument) {
  const [page, ...frames] = documents;
  if (!page) return [];
  const [own, inner] = await Promise.all([askTogether(tabId, [page], name, argument), askFrames(tabId, frames, name, argument)]);
  return [...own, ...inner];
}

/** @param {number} tabId @param {SeenDocument[]} frames none of which must answer @param {string} name @param {any} [argument] @returns {Promise<DocumentAnswer[]>} */
export async function askFrames(tabId, frames, name, argument) {
  if (frames.length === 0) return [];
  try {
    return await within(FRAME_ANSWER_MS, askTogether(tabId, frames, name, argument));
  } catch (error) {
    if (frames.length === 1) return ignoreFrame(error);
  }
  // One frame that hangs, or that the browser keeps extensions out of, fails the call for all.
  const asked = frames.map((frame) => within(FRAME_ANSWER_MS, askTogether(tabId, [frame], name, argument)).catch(ignoreFrame));
  return (await Promise.all(asked)).flat();
}

/** @param {unknown} error @returns {DocumentAnswer[]} */
function ignoreFrame(error) {
  console.debug('tabwire: a frame is not read', error);
  return [];
}

/** @param {number} tabId @param {SeenDocument[]} documents @param {string} name @param {any} [argument] @returns {Promise<DocumentAnswer[]>} */
async function askTogether(tabId, documents, name, argument) {
  const ask = (/** @type {string[]} */ ids) => inject(tabId, ids, { func: askWorld, args: argument === undefined ? [name] : [name, argument] });
  const first = await ask(documents.map(({ documentId }) => documentId));
  const absent = first.flatMap(({ documentId, result }) => (result?.isAbsent ? [documentId] : []));
  if (absent.length > 0) await inject(tabId, absent, { files: FILES });
  const second = absent.length > 0 ? await ask(absent) : [];
  const results = new Map([...first, ...second].map(({ documentId, result }) => [documentId, result]));
  // The browser answers in no order.
  return documents.flatMap((document) => {
    const result = results.get(document.documentId);
    if (!result || result.isAbsent) return [];
    if (result.error !== undefined) throw new ActionError('internal', `the page cannot be read: ${result.error}`);
    // Only the frame itself knows whose an empty frame is.
    const isDenied = document.frameId !== 0 && hidesOwner(document.url) && (policy.blocksPage(document.url, result.origin) || policy.far.hides(tabId, result.origin ?? ''));
    return isDenied ? [] : [{ document, value: result.value }];
  });
}

/** @param {number} tabId @param {SeenDocument[]} documents whose input is listened to from now on */
export async function listenForInput(tabId, documents) {
  if (documents.length > 0) await inject(tabId, documents.map(({ documentId }) => documentId), { files: [INPUT_LISTENERS] });
}

/** Loads axe-core into our world in a document, once. @param {number} tabId @param {SeenDocument} document */
export async function loadAudit(tabId, document) {
  if (!await askDocument(tabId, document, 'hasAudit')) await inject(tabId, [document.documentId], { files: AUDIT_FILES });
}

/** @param {string} name */
function scriptOf(name) {
  return `src/injected/world/${name}.js`;
}

/** @param {number} tabId @param {string[]} documentIds @param {object} script @returns {Promise<any[]>} */
async function inject(tabId, documentIds, script) {
  try {
    return await chrome.scripting.executeScript(/** @type {any} */ ({ target: { tabId, documentIds }, injectImmediately: true, ...script }));
  } catch (error) {
    if (/No document with id|No frame with id|was removed|Frame .* removed/i.test(messageOf(error))) throw navigationInterrupted();
    throw error;
  }
}
