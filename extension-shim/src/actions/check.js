// @ts-check
// Ticks check boxes, radio buttons and switches, and clears them.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { parseTarget } from '../browser/target_query.js';
import { setChecked } from '../input/form_fields.js';
import { withInput } from '../input/session.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function check(params, context) {
  return tick(params, context, true);
}

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function uncheck(params, context) {
  return tick(params, context, false);
}

/** @param {Record<string, any>} params @param {Context} context @param {boolean} isTicked @returns {Promise<Outcome>} */
async function tick({ target: named, snapshot }, context, isTicked) {
  const wanted = parseTarget(named);
  return withInput(context, { snapshot, hasScripts: true }, async (input) => {
    const { target, isUnchanged, how, after } = await setChecked(input, wanted, isTicked);
    return { target, after, value: { [isTicked ? 'checked' : 'unchecked']: target.label, ...how, ...(isUnchanged && { unchanged: true }) } };
  });
}
