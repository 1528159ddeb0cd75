// @ts-check
// Copies and pastes with the clipboard of the client.

/** @import {ReadyTarget} from '../browser/targets.js' */
/** @import {KeyChord} from './key_table.js' */
/** @import {InputSession} from './session.js' */

import { askFrames, documentsOf } from '../browser/page_world.js';
import { ownClipboards } from '../browser/state.js';
import { ActionError } from '../lib/errors.js';
import { parseChord } from './key_table.js';
import { chordEvents, insertion, isMac } from './keyboard.js';

/**
 * Copies the selection, or all of an element.
 * @param {InputSession} input @param {ReadyTarget} target that has the focus @param {'copy' | 'cut'} operation
 * @param {boolean} isAll all of it, if nothing in it is selected @returns {Promise<string | undefined>} for agents; undefined: nothing is selected
 */
export async function copySelection(input, target, operation, isAll) {
  await input.ready(target);
  const { found } = await input.ask(target, 'copy', { operation, isAll });
  const { data, isTaken, isSecret, shown } = found;
  if (Object.keys(data).length === 0) return undefined;
  if (!ownClipboards.keep(input.client, { data, isSecret })) throw new ActionError('result_too_large', 'the selection is too large for the clipboard', undefined, { hint: 'Copy less of it.' });
  if (operation === 'cut' && !isTaken) {
    await input.ready(target);
    await input.send(...chordEvents(parseChord('Backspace', isMac)));
  }
  return shown;
}

/** Takes what a page has copied by itself since the last act, such as a link that it had to fetch first. @param {number} tabId @param {string} client */
export async function takeCopies(tabId, client) {
  const { seen } = await documentsOf(tabId);
  for (const { value } of await askFrames(tabId, seen, 'takenCopy')) if (value) ownClipboards.keep(client, value);
}

/** @param {InputSession} input @param {ReadyTarget} target that has the focus @returns {Promise<boolean>} false: nothing was copied before */
export async function pasteOwn(input, target) {
  await takeCopies(input.tabId, input.client);
  const content = ownClipboards.of(input.client);
  if (!content) return false;
  await input.ready(target);
  const { found } = await input.ask(target, 'paste', { data: content.data });
  const text = content.data['text/plain'];
  // Markup of one page is never made elements of another here: only its text is inserted.
  if (!found.isTaken && text) await input.send(insertion(text));
  return true;
}

/**
 * Presses a chord by which the browser would use the person's clipboard: the page is told of it, and the client's own
 * clipboard is used, unless the page does something else by it.
 * @param {InputSession} input @param {ReadyTarget} target that has the focus @param {KeyChord} chord @param {'copy' | 'cut' | 'paste'} operation
 */
export async function pressClipboardChord(input, target, { modifiers, stroke }, operation) {
  await input.ready(target);
  const has = (/** @type {string} */ name) => modifiers.some((modifier) => modifier === name);
  const key = { key: stroke.key, code: stroke.code, keyCode: stroke.keyCode, ctrlKey: has('Control'), metaKey: has('Meta'), altKey: has('Alt'), shiftKey: has('Shift') };
  const { found } = await input.ask(target, 'pressKey', { key });
  if (found.isTaken) return;
  if (operation === 'paste') await pasteOwn(input, target);
  else await copySelection(input, target, operation, false);
}
