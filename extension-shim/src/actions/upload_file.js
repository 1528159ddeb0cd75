// @ts-check
// Gives files to a page: to a field, through the chooser that a click opens, or by a drop.

/** @import {CommandBody, Context, Outcome, UploadCopy} from '../../types/protocol.js' */
/** @import {ActPlace} from '../input/place.js' */
/** @import {InputSession} from '../input/session.js' */
/** @import {HandedElement} from '../browser/world_contexts.js' */
/** @import {ReadyTarget} from '../browser/targets.js' */

import { cdp } from '../browser/debugger.js';
import { handedElement } from '../browser/handed_element.js';
import { askDocument } from '../browser/page_world.js';
import { assertPage } from '../browser/site_guard.js';
import { policy } from '../browser/state.js';
import { parseTarget } from '../browser/target_query.js';
import { findTarget } from '../browser/targets.js';
import { worldContexts } from '../browser/world_contexts.js';
import { checkedFlag } from '../commands/params.js';
import { checkedPlace } from '../input/place.js';
import { clickTarget } from '../input/pointer.js';
import { withInput } from '../input/session.js';
import { acceptsFile } from '../lib/accept.js';
import { ActionError, messageOf, navigationInterrupted } from '../lib/errors.js';
import { UPLOAD_FILES_MAX } from '../policy/limits.js';
import { siteName } from '../policy/sites.js';
import { CHOOSER_MS } from './limits.js';

/** @typedef {{name: string, size: number, type: string}} PageFile */
/** @typedef {Pick<InputSession, 'tabId' | 'byScript'>} FileGiver */

const FRAMES = new Set(['iframe', 'frame', 'object', 'embed', 'fencedframe']);

/**
 * The page that is to get the files of a command, as far as that is known before it begins: that of a frame, if its target is in one.
 * @param {Pick<CommandBody, 'type' | 'params'>} command @param {chrome.tabs.Tab & {id: number}} tab @returns {Promise<string>} its URL
 */
export async function receivingPage({ type, params }, { id: tabId, url = '' }) {
  if (type !== 'upload_file') return url;
  try {
    const { document } = await findTarget({ tabId, signal: new AbortController().signal }, parseTarget(params?.target));
    // A frame without an address of its own gets files of open folders only.
    return /^https?:/i.test(document.url) ? document.url : url;
  } catch (error) {
    // It fails by itself, with better words, or comes later: then no other page than this one gets the files.
    console.debug(error);
    return url;
  }
}

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function upload_file({ target: wanted, paths, drop }, context) {
  const where = checkedPlace({ target: wanted });
  const isDrop = checkedFlag('drop', drop);
  const upload = new FileUpload(context, checkedPaths(paths));
  return withInput(context, { takesChooser: true }, async (input) => {
    if (isDrop) return upload.drop(input, await input.reach(where, { kind: 'hover' }));
    const target = await input.reach(where, { kind: 'file' });
    return upload.give(input, target, where);
  });
}

/**
 * Gives files to the field of a chooser that an earlier command has opened.
 * @param {number} tabId @param {{sessionId: string | undefined, frameId: string, backendNodeId?: number}} chosen @param {string[]} paths @param {Context} context
 */
export async function giveToChosen(tabId, { backendNodeId, ...chosen }, paths, context) {
  if (backendNodeId === undefined) throw new ActionError('wrong_kind', 'the chooser is no field of the page', undefined, { mayHaveRun: false });
  const byScript = (/** @type {() => Promise<any>} */ run) => {
    context.begin();
    return run();
  };
  const ready = async () => { await assertPage(tabId, { ran: true }); };
  await worldContexts.during(tabId, () => new FileUpload(context, paths).giveToChosen({ tabId, byScript }, { ...chosen, backendNodeId }, ready));
}

/** @param {unknown} paths @returns {string[]} */
export function checkedPaths(paths) {
  const isList = Array.isArray(paths) && paths.length > 0 && paths.every((path) => typeof path === 'string');
  if (!isList) throw new ActionError('invalid_params', 'paths must be a list of absolute paths, such as ["/home/ann/shop/cat.png"]');
  if (paths.length > UPLOAD_FILES_MAX) throw new ActionError('file_too_large', `paths has ${paths.length} files; at most ${UPLOAD_FILES_MAX} are given at once`);
  return paths;
}

class FileUpload {
  #context;
  #paths;

  /** @param {Context} context @param {string[]} paths */
  constructor(context, paths) {
    this.#context = context;
    this.#paths = paths;
  }

  /** @param {string} url of the document that gets the files @returns {Promise<UploadCopy[]>} */
  #copies(url) {
    return this.#context.requestFiles(this.#paths, siteName(url));
  }

  /** @param {InputSession} input @param {ReadyTarget} target @param {ActPlace} where */
  async give(input, target, where) {
    return worldContexts.during(input.tabId, async () => {
      if (target.tag === 'input' && target.type === 'file') return this.#giveTo(input, target, await handedElement(target));
      assertNoFrame(target);
      return this.#giveToChooser(input, await input.reach(where, { kind: 'click' }));
    });
  }

  /** @param {InputSession} input @param {ReadyTarget} target @param {HandedElement} field */
  async #giveTo(input, target, field) {
    const value = await this.#attach(input, field, target.document.url, () => input.ready(target));
    return { target, value: { attached_to: target.label, ...value } };
  }

  /** @param {InputSession} input @param {ReadyTarget} target a button */
  async #giveToChooser(input, target) {
    const manner = { button: /** @type {const} */ ('left'), count: 1, modifiers: 0, holdMs: 0 };
    const chosen = await worldContexts.chooserDuring(input.tabId, () => clickTarget(input, target, manner), CHOOSER_MS, input.signal);
    if (chosen?.backendNodeId === undefined) {
      const why = chosen ? 'opens a chooser that is no field of the page' : 'is no field for files, and a click on it opens no file chooser';
      throw new ActionError('wrong_kind', `${target.label} ${why}`, undefined, { hint: 'Give the field itself, such as input[type=file], which may be hidden; or drop the files onto their place with drop: true.', mayHaveRun: true });
    }
    const value = await this.giveToChosen(input, { ...chosen, backendNodeId: chosen.backendNodeId }, () => input.ready(target));
    return { target, value: { chosen_by: target.label, ...value } };
  }

  /** @param {FileGiver} input @param {{sessionId: string | undefined, frameId: string, backendNodeId: number}} chosen the field of a chooser @param {() => Promise<void>} ready asked right before */
  async giveToChosen(input, chosen, ready) {
    const url = await urlOfFrame(input.tabId, chosen);
    await policy.admit(url, { ran: true });
    const field = await worldContexts.resolve(input.tabId, chosen);
    if (!field) throw navigationInterrupted();
    return this.#attach(input, field, url, ready);
  }

  /** @param {FileGiver} input @param {HandedElement} field @param {string} url of its document @param {() => Promise<void>} ready asked right before */
  async #attach(input, field, url, ready) {
    const { isMultiple, isFolder, accept } = await worldContexts.ask(input.tabId, field, 'fileField');
    if (isFolder) throw new ActionError('wrong_kind', 'the field takes whole folders only', undefined, { hint: 'Tabwire gives single files; look for another field.' });
    if (!isMultiple && this.#paths.length > 1) throw new ActionError('wrong_kind', `the field takes one file, not ${this.#paths.length}`, undefined, { hint: 'Give one path; some pages take further files after the first.' });
    const copies = await this.#copies(url);
    await ready();
    await worldContexts.ask(input.tabId, field, 'watchFiles');
    await input.byScript(() => setFiles(input.tabId, field, copies));
    const seen = await worldContexts.ask(input.tabId, field, 'seenFiles').catch(() => null);
    return told(copies, seen, accept);
  }

  /** @param {InputSession} input @param {ReadyTarget} target */
  async drop(input, target) {
    assertNoFrame(target);
    const copies = await this.#copies(target.document.url);
    const data = { items: [], files: copies.map(({ path }) => path), dragOperationsMask: 1 };
    const drag = (/** @type {string} */ type) => ({ method: 'Input.dispatchDragEvent', type, .../** @type {{x: number, y: number}} */ (target.point), data });
    await input.ready(target);
    await askDocument(input.tabId, target.document, 'armDrop');
    let isOver = true;
    try {
      await input.send(drag('dragEnter'), drag('dragOver'));
      const { takes } = await askDocument(input.tabId, target.document, 'dragged', target.id);
      // A page that takes no drop would be left for the file.
      if (!takes) throw new ActionError('wrong_kind', `${target.label} takes no dropped files`, undefined, { hint: 'Drop them onto the element that says so, or give the field for files without drop.', mayHaveRun: true });
      await input.ready(target);
      isOver = false;
      await input.send(drag('drop'));
    } finally {
      if (isOver) await input.letGo(drag('dragCancel'));
    }
    // Gone: the drop has taken the page elsewhere.
    const seen = await askDocument(input.tabId, target.document, 'dragged', target.id).catch(() => null);
    if (seen && !seen.isDropped) throw new ActionError('wrong_kind', `${target.label} has got no drop: the page has changed meanwhile`, undefined, { hint: 'Take a snapshot, then drop the files again.', mayHaveRun: true });
    return { target, value: { dropped_on: target.label, ...told(copies, seen?.files ?? null, '') } };
  }
}

/** Files for a frame would go to whichever page it shows. @param {ReadyTarget} target */
function assertNoFrame({ tag = '', label }) {
  if (!FRAMES.has(tag)) return;
  throw new ActionError('wrong_kind', `${label} is a frame`, undefined, { hint: 'Give an element in the frame: a snapshot shows those that agents may use.' });
}

/** @param {number} tabId @param {HandedElement} field @param {UploadCopy[]} copies */
async function setFiles(tabId, { objectId, context }, copies) {
  try {
    await cdp(tabId, 'DOM.setFileInputFiles', { objectId, files: copies.map(({ path }) => path) }, context.sessionId);
  } catch (error) {
    if (!/not a file input/i.test(messageOf(error))) throw error;
    throw new ActionError('wrong_kind', 'the page has made another kind of field of it meanwhile', undefined, { hint: 'Take a snapshot, and look for the field for files.' });
  }
}

/** The browser's word on where a frame is. @param {number} tabId @param {{sessionId: string | undefined, frameId: string}} frame @returns {Promise<string>} */
async function urlOfFrame(tabId, { sessionId, frameId }) {
  const { frameTree } = await cdp(tabId, 'Page.getFrameTree', {}, sessionId);
  const find = (/** @type {any} */ { frame, childFrames = [] }) => (frame.id === frameId ? frame.url : childFrames.map(find).find(Boolean));
  const url = find(frameTree);
  if (url === undefined) throw navigationInterrupted();
  return url;
}

/** @param {UploadCopy[]} copies @param {PageFile[] | null} seen as the page sees them; null: it is gone @param {string} accept */
function told(copies, seen, accept) {
  const files = seen?.length ? seen : copies.map(({ name, size }) => ({ name, size }));
  const unread = seen?.length ? copies.find((copy) => !seen.some(({ name, size }) => name === copy.name && size === copy.size)) : undefined;
  if (unread) {
    throw new ActionError('file_unreadable', `the browser cannot read the copy of ${unread.name}`, undefined, { hint: 'A browser in a sandbox (Snap, Flatpak) sees no folders behind a dot: ask the person to set TABWIRE_HOME to a folder that it can read.', mayHaveRun: true });
  }
  const others = accept === '' ? [] : copies.filter(({ name }) => !acceptsFile(accept, name, seen?.find((one) => one.name === name)?.type ?? '')).map(({ name }) => name);
  return { files, ...(others.length > 0 && { not_accepted: others, accept }) };
}
