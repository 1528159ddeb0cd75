// @ts-check
// The attributes of an element as they are written.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { ActionError } from '../lib/errors.js';
import { ATTRIBUTE_NAMES_MAX } from './limits.js';
import { askAbout, readPage, targetOf } from './page_reading.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function get_attributes({ target, names }, context) {
  const isList = Array.isArray(names) && names.length <= ATTRIBUTE_NAMES_MAX && names.every((name) => typeof name === 'string' && name !== '');
  if (names !== undefined && !isList) throw new ActionError('invalid_params', `names must be a list of at most ${ATTRIBUTE_NAMES_MAX} names of attributes`);
  return readPage(context, async (tabId) => {
    const found = await targetOf(tabId, target, context.signal);
    return { value: await askAbout(tabId, found, 'attributes', { ...(names && { names }) }), type: 'object' };
  });
}
