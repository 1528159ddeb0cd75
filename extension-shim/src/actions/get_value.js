// @ts-check
// The value of a field, and the options of a list.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { ActionError } from '../lib/errors.js';
import { TEXT_MAX } from './limits.js';
import { askAbout, readPage, targetOf } from './page_reading.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function get_value({ target }, context) {
  return readPage(context, async (tabId) => {
    const found = await targetOf(tabId, target, context.signal);
    const value = await askAbout(tabId, found, 'value', { most: TEXT_MAX });
    if (Object.keys(value).length > 0) return { value, type: 'object' };
    throw new ActionError('wrong_kind', `${found.ref} has no value`, undefined, { hint: 'Give a field; for its text use get_text.' });
  });
}
