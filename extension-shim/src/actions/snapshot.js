// @ts-check
// A page as lines of text with refs for its elements.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { SNAPSHOT_BYTES_USUAL } from '../browser/limits.js';
import { snapshotOf } from '../browser/page_snapshot.js';
import { goneError } from '../browser/targets.js';
import { checkedFlag, checkedInteger } from '../commands/params.js';
import { navigationInterrupted } from '../lib/errors.js';
import { SNAPSHOT_BYTES, SNAPSHOT_DEPTHS } from './limits.js';
import { readPage, targetOf } from './page_reading.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function snapshot({ target, interactive_only, depth, max_bytes = SNAPSHOT_BYTES_USUAL, boxes, urls, diff }, context) {
  const options = {
    interactiveOnly: checkedFlag('interactive_only', interactive_only), boxes: checkedFlag('boxes', boxes), urls: checkedFlag('urls', urls),
    ...(depth !== undefined && { depth: checkedInteger('depth', depth, SNAPSHOT_DEPTHS) }),
  };
  const maxBytes = checkedInteger('max_bytes', max_bytes, SNAPSHOT_BYTES);
  const isDiff = checkedFlag('diff', diff);
  return readPage(context, async (tabId) => {
    const root = target === undefined ? undefined : await targetOf(tabId, target, context.signal);
    const taken = await snapshotOf(tabId, { root, options, maxBytes, isDiff, client: context.client });
    if (taken === null) throw root ? await goneError(tabId, root) : navigationInterrupted();
    return { value: taken, type: 'string' };
  });
}
