// @ts-check
// The common part of the actions that read a page: no debugger, the site rules before and after, and a target.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {SeenDocument} from '../browser/page_world.js' */
/** @import {FoundElement} from '../browser/targets.js' */

import { meetDialogs } from '../browser/dialogs.js';
import { askDocument, askFrames, documentsOf } from '../browser/page_world.js';
import { readingNotes } from '../browser/scripted_way.js';
import { documentNow } from '../browser/site_guard.js';
import { tabs } from '../browser/state.js';
import { parseTarget } from '../browser/target_query.js';
import { findTarget, goneError } from '../browser/targets.js';
import { endWait } from '../browser/unstick.js';
import { headOf } from '../lib/clip.js';
import { assertReachable, originOf } from '../policy/pages.js';
import { TEXT_MAX } from './limits.js';

/**
 * Reads the page that a command is for.
 * @param {Context} context @param {(tabId: number) => Promise<{value: unknown, type: string}>} read @returns {Promise<Outcome>}
 */
export async function readPage(context, read) {
  const { tab_id, begin, onStop, signal } = context;
  const tab = await tabs.target(tab_id);
  assertReachable(tab);
  onStop((why) => endWait(tab.id, why));
  begin();
  const watcher = { dialogs: [] };
  // A dialog that an act has left open would hang the page; where no debugger is, none can be told or dismissed.
  const [{ value, type }, notes] = await Promise.all([meetDialogs(context, tab.id, watcher, () => read(tab.id)), readingNotes(tab.id)]);
  signal.throwIfAborted();
  // Another page may have come meanwhile, and may be the one that was read.
  const { url } = await documentNow(tab.id);
  return { value, type, origin: originOf(url), dialogs: watcher.dialogs, ...(notes && { notes }) };
}

/** @param {number} tabId @param {unknown} target @param {AbortSignal} signal @returns {Promise<FoundElement>} */
export function targetOf(tabId, target, signal) {
  return findTarget({ tabId, signal }, parseTarget(target));
}

/** @param {number} tabId @param {FoundElement} found @param {string} name @param {object} [argument] @returns {Promise<any>} the answer of its document */
export async function askAbout(tabId, found, name, argument) {
  const { found: said, isGone } = await askDocument(tabId, found.document, name, { id: found.id, ...argument });
  if (isGone) throw await goneError(tabId, found);
  return said;
}

/** One character more than an answer has shows that there is more. */
const READ = { most: TEXT_MAX + 1 };

/** The text, of which the daemon answers parts. @param {string} text @returns {string} */
function whole(text) {
  return text.length > TEXT_MAX ? `${headOf(text, TEXT_MAX)}\n… there is more: give a part of the page as target` : text;
}

/** @param {number} tabId @param {FoundElement} found @param {'text' | 'markdown' | 'html'} form @returns {Promise<string>} */
export async function textOf(tabId, found, form) {
  return whole(await askAbout(tabId, found, form, READ));
}

/**
 * A text of a page or of an element, with the texts of the frames in it.
 * @param {'text' | 'markdown'} form @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>}
 */
export async function readText(form, params, context) {
  return readPage(context, async (tabId) => {
    const found = params.target === undefined ? null : await targetOf(tabId, params.target, context.signal);
    const { seen } = await documentsOf(tabId);
    const top = found?.document ?? seen[0];
    const own = found ? await askAbout(tabId, found, form, READ) : (await askDocument(tabId, top, form, READ)).found ?? '';
    const text = own.includes(FRAME_MARK) ? withFrames(own, top, await askFrames(tabId, seen.filter(({ frameId }) => frameId !== 0), form, READ)) : own;
    return { value: whole(text), type: 'string' };
  });
}

/** As of the page world: before the place of a frame. */
const FRAME_MARK = '\x02';

/** @param {string} text @param {SeenDocument} around @param {import('../browser/page_world.js').DocumentAnswer[]} answers @returns {string} */
function withFrames(text, around, answers) {
  return text.replace(/\x02(-?\d+)/g, (_, place) => {
    const inner = answers.find(({ document, value }) => document.parentFrameId === around.frameId && value.place === Number(place));
    return inner ? withFrames(inner.value.found ?? '', inner.document, answers) : '';
  });
}
