// @ts-check
// Fills the fields of a form, of any kind, one after the other.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {FilledField} from '../input/form_fields.js' */

import { parseTarget } from '../browser/target_query.js';
import { checkedFlag } from '../commands/params.js';
import { fillField, submitForm } from '../input/form_fields.js';
import { withInput } from '../input/session.js';
import { differingValues, entriesBeside } from '../input/text_entry.js';
import { ActionError } from '../lib/errors.js';
import { FIELDS_MAX } from './limits.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function fill_form({ fields, submit, snapshot }, context) {
  if (!Array.isArray(fields) || fields.length === 0 || fields.length > FIELDS_MAX) throw new ActionError('invalid_params', `fields must be a list of 1 to ${FIELDS_MAX} of {target, value}`);
  // None is filled if one of them is not understood.
  for (const { target } of fields) parseTarget(target);
  const isSubmitted = checkedFlag('submit', submit);
  return withInput(context, { snapshot, hasScripts: true }, async (input) => {
    /** @type {FilledField[]} */
    const filled = [];
    for (const { target, value } of fields) filled.push(await fillField(input, target, value).catch((error) => { throw failedAt(error, fields, filled); }));
    const last = filled[filled.length - 1].target;
    const texts = filled.flatMap(({ entered }) => entered ?? []);
    const entries = isSubmitted ? undefined : entriesBeside(texts, last);
    const values = entries ? [] : await differingValues(texts);
    if (isSubmitted) await submitForm(input, last);
    return {
      target: last, entries, value: { filled: filled.length, ...(isSubmitted && { submitted: true }) },
      tell: ({ entered = [] }) => differing(filled, entries ? entered.map(({ value }) => value) : values),
    };
  });
}

/** @param {FilledField[]} filled @param {(string | undefined)[]} texts the values of those into which text was entered @returns {{differing?: {field: string, value: string}[]}} */
function differing(filled, texts) {
  let at = 0;
  const found = filled.flatMap(({ target, entered, value: own }) => {
    const value = entered ? texts[at] : own;
    if (entered) at += 1;
    return value === undefined ? [] : [{ field: target.label, value }];
  });
  return found.length > 0 ? { differing: found } : {};
}

/** @param {unknown} error @param {{target: string}[]} fields @param {FilledField[]} filled */
function failedAt(error, fields, filled) {
  if (!(error instanceof ActionError)) return error;
  const before = filled.length === 0 ? 'none is filled' : `filled before it: ${filled.map(({ target }) => target.ref).join(', ')}`;
  return new ActionError(error.code, `field ${filled.length + 1} of ${fields.length} (${fields[filled.length].target.slice(0, 100)}): ${error.message}; ${before}`, undefined, error.more);
}
