// @ts-check
// The HTML of a page or of an element as it is now.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { askDocument, documentsOf } from '../browser/page_world.js';
import { textPart } from '../lib/text_part.js';
import { askAbout, checkedPart, readPage, targetOf } from './page_reading.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function get_html({ target, max_bytes, offset }, context) {
  const part = checkedPart({ max_bytes, offset });
  return readPage(context, async (tabId) => {
    if (target !== undefined) return { value: textPart(await askAbout(tabId, await targetOf(tabId, target, context.signal), 'html'), part), type: 'string' };
    const { seen: [page] } = await documentsOf(tabId);
    const { found } = await askDocument(tabId, page, 'html', {});
    return { value: textPart(found, part), type: 'string' };
  });
}
