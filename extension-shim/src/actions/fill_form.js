// @ts-check
// Fills the fields of a form, of any kind, one after the other.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {FilledField} from '../input/form_fields.js' */
/** @import {EnteredText} from '../input/text_entry.js' */

import { parseTarget } from '../browser/target_query.js';
import { checkedFlag } from '../commands/params.js';
import { fillField, submitForm } from '../input/form_fields.js';
import { withInput } from '../input/session.js';
import { differingValues } from '../input/text_entry.js';
import { ActionError } from '../lib/errors.js';
import { FIELDS_MAX } from './limits.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function fill_form({ fields, submit, snapshot }, context) {
  if (!Array.isArray(fields) || fields.length === 0 || fields.length > FIELDS_MAX) throw new ActionError('invalid_params', `fields must be a list of 1 to ${FIELDS_MAX} of {target, value}`);
  // None is filled if one of them is not understood.
  for (const { target } of fields) parseTarget(target);
  const isSubmitted = checkedFlag('submit', submit);
  return withInput(context, { snapshot }, async (input) => {
    /** @type {FilledField[]} */
    const filled = [];
    for (const { target, value } of fields) filled.push(await fillField(input, target, value).catch((error) => { throw failedAt(error, fields, filled); }));
    const texts = filled.filter(({ entered }) => entered);
    const values = await differingValues(texts.map(({ entered }) => /** @type {EnteredText} */ (entered)));
    for (const [at, field] of texts.entries()) field.value = values[at];
    const last = filled[filled.length - 1].target;
    if (isSubmitted) await submitForm(input, last);
    const differing = filled.flatMap(({ target, value }) => (value === undefined ? [] : [{ field: target.label, value }]));
    return { target: last, value: { filled: filled.length, ...(differing.length > 0 && { differing }), ...(isSubmitted && { submitted: true }) } };
  });
}

/** @param {unknown} error @param {{target: string}[]} fields @param {FilledField[]} filled */
function failedAt(error, fields, filled) {
  if (!(error instanceof ActionError)) return error;
  const before = filled.length === 0 ? 'none is filled' : `filled before it: ${filled.map(({ target }) => target.ref).join(', ')}`;
  return new ActionError(error.code, `field ${filled.length + 1} of ${fields.length} (${fields[filled.length].target.slice(0, 100)}): ${error.message}; ${before}`, undefined, error.more);
}
