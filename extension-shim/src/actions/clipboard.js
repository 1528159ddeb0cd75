// @ts-check
// Copies, cuts and pastes with the client's own clipboard, and reads and writes that.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {InputSession} from '../input/session.js' */

import { ownClipboards } from '../browser/state.js';
import { parseTarget } from '../browser/target_query.js';
import { checkedChoice, checkedText } from '../commands/params.js';
import { copySelection, pasteOwn, takeCopies } from '../input/clipboard.js';
import { withInput } from '../input/session.js';
import { readyForText } from '../input/text_entry.js';
import { ActionError } from '../lib/errors.js';

const OPERATIONS = /** @type {const} */ (['copy', 'cut', 'paste', 'read', 'write']);

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function clipboard({ operation, target, text }, context) {
  const kind = checkedChoice('operation', operation, OPERATIONS);
  if (kind === 'read') return readOwn(context);
  if (kind === 'write') return writeOwn(checkedText('text', text), context);
  return withInput(context, {}, async (input) => {
    const field = await focusedFor(input, target, kind === 'paste');
    if (kind === 'paste') {
      if (!await pasteOwn(input, field)) throw emptyError();
      return { target: field, value: { pasted: field.label }, tell: ({ value }) => (value === undefined ? {} : { value }) };
    }
    const copied = await copySelection(input, field, kind, target !== undefined);
    if (copied !== undefined) return { target: field, value: { [kind === 'cut' ? 'cut' : 'copied']: copied } };
    throw new ActionError('target_not_found', 'nothing is selected that can be copied', undefined, { hint: 'Give the element to copy as target, or select with press_key ControlOrMeta+a first.' });
  });
}

/** @param {InputSession} input @param {unknown} target @param {boolean} isEntered text goes into it */
async function focusedFor(input, target, isEntered) {
  if (target === undefined) return input.focused();
  const wanted = parseTarget(target);
  const field = await input.findParsed(wanted, { kind: 'choose' });
  if (isEntered) return (await readyForText(input, field, false, wanted)).field;
  // Text that takes no focus can be selected all the same.
  await input.focus(field);
  return field;
}

/** @param {Context} context @returns {Promise<Outcome>} */
async function readOwn({ client, tab_id, begin }) {
  begin();
  await takeLast(tab_id, client);
  const content = ownClipboards.of(client);
  if (!content) throw emptyError();
  return { value: { text: content.isSecret ? '[redacted]' : content.data['text/plain'] ?? '', types: Object.keys(content.data) }, type: 'object' };
}

/** @param {string} text @param {Context} context @returns {Promise<Outcome>} */
async function writeOwn(text, { client, tab_id, begin }) {
  begin();
  await takeLast(tab_id, client);
  if (!ownClipboards.keep(client, { data: { 'text/plain': text }, isSecret: false })) throw new ActionError('invalid_params', 'text is too long for the clipboard');
  return { value: { written: text.length }, type: 'object' };
}

/** @param {number | null | undefined} tabId @param {string} client */
async function takeLast(tabId, client) {
  // A page that cannot be reached has copied nothing.
  if (typeof tabId === 'number') await takeCopies(tabId, client).catch(console.debug);
}

function emptyError() {
  return new ActionError('target_not_found', 'the clipboard is empty: it holds what this client has copied, and never the person\'s', undefined, { hint: 'Copy or write first.' });
}
