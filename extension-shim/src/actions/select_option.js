// @ts-check
// Chooses options of a list.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { chooseOptions } from '../input/form_fields.js';
import { withInput } from '../input/session.js';
import { ActionError } from '../lib/errors.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function select_option({ target, values, snapshot }, context) {
  const wanted = typeof values === 'string' ? [values] : values;
  if (!Array.isArray(wanted) || !wanted.every((value) => typeof value === 'string')) throw new ActionError('invalid_params', 'values must be a list of texts');
  return withInput(context, { snapshot, hasScripts: true }, async (input) => {
    const list = await input.find(target, { kind: 'choose' });
    const { chosen, value = chosen.join(', ') } = await chooseOptions(input, list, wanted);
    // The agent knows the labels that it gave.
    return { target: list, value: { selected: list.label, ...(value !== wanted.join(', ') && { value }) } };
  });
}
