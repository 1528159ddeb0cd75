// @ts-check
// The HTML of an element as it is now.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { readPage, targetOf, textOf } from './page_reading.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function get_html({ target }, context) {
  return readPage(context, async (tabId) => {
    const found = await targetOf(tabId, target, context.signal);
    return { value: await textOf(tabId, found, 'html'), type: 'string' };
  });
}
