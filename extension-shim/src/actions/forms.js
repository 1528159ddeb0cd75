// @ts-check
// The forms of a page and their fields, with refs that fill_form takes as they are.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {DocumentAnswer} from '../browser/page_world.js' */

import { SNAPSHOT_BYTES_USUAL } from '../browser/limits.js';
import { askDocuments, askFrames, documentsOf, documentsWithin } from '../browser/page_world.js';
import { pdfWords } from '../browser/pdf_page.js';
import { elementRefs } from '../browser/state.js';
import { goneError } from '../browser/targets.js';
import { checkedInteger } from '../commands/params.js';
import { navigationInterrupted } from '../lib/errors.js';
import { fittedGroups } from '../lib/fitted.js';
import { originOf } from '../policy/pages.js';
import { SNAPSHOT_BYTES } from './limits.js';
import { readPage, targetOf } from './page_reading.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function forms({ target, max_bytes = SNAPSHOT_BYTES_USUAL }, context) {
  const maxBytes = checkedInteger('max_bytes', max_bytes, SNAPSHOT_BYTES);
  return readPage(context, async (tabId) => {
    const root = target === undefined ? undefined : await targetOf(tabId, target, context.signal);
    const { seen } = await documentsOf(tabId);
    const [top, ...inner] = await documentsWithin(tabId, seen, root);
    if (!top) throw navigationInterrupted();
    const [[own], frames] = await Promise.all([askDocuments(tabId, [top], 'forms', { id: root?.id }), askFrames(tabId, inner, 'forms', {})]);
    if (!own || own.value.isGone) throw root ? await goneError(tabId, root) : navigationInterrupted();
    await elementRefs.restore();
    const answers = [own, ...frames].filter(({ value }) => value.found);
    const told = answers.flatMap((answer) => formsIn(tabId, answer));
    const unread = answers.reduce((sum, { value }) => sum + value.found.left, 0);
    const words = told.length + unread === 0 ? await pdfWords(tabId) : null;
    return { value: words ? { forms: [], note: words } : cut(told, unread, maxBytes), type: 'object' };
  });
}

/** @param {number} tabId @param {DocumentAnswer} answer @returns {Record<string, any>[]} */
function formsIn(tabId, { document, value }) {
  const name = elementRefs.names(tabId, document.documentId, value.count);
  const frame = document.frameId === 0 ? undefined : originOf(document.url);
  return value.found.forms.map((/** @type {any} */ { id, name: called, fields, hidden, submit }) => ({
    ...(id === undefined ? { form: 'fields outside of forms' } : { form: name(id) }),
    ...(called && { name: called }), ...(frame && { frame }),
    ...(submit && { submit: name(submit.id), submit_name: submit.name }),
    ...(hidden > 0 && { hidden_fields: hidden }),
    fields: fields.map((/** @type {any} */ { id: field, ...rest }) => ({ target: name(field), ...rest })),
  }));
}

/** @param {Record<string, any>[]} forms @param {number} unread fields that the page world has left out @param {number} maxBytes */
function cut(forms, unread, maxBytes) {
  const all = forms.reduce((sum, { fields }) => sum + fields.length, 0);
  if (all + unread === 0) return { forms: [], note: 'the page shows no fields' };
  const { told, items } = fittedGroups(forms, 'fields', maxBytes);
  const left = all + unread - items;
  return { forms: told, ...(left > 0 && { more_fields: left, hint: 'Give a form or another part of the page as target, or a larger max_bytes.' }) };
}
