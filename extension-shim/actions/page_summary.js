// @ts-check
// What an agent needs to know a page without a picture of it.

/** @import {Context, Outcome} from '../protocol.js' */

import { lookAt, readIsolated, withLook } from '../isolated.js';
import { summarySource } from '../page/summary.js';
import { originOf } from '../pages.js';
import { withoutEmpty } from '../without_empty.js';

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function page_summary(_, context) {
  const read = withLook(`${summarySource()}(look).read()`);
  const { value, url, dialogs } = await lookAt(context, ({ id }) => readIsolated(id, read));
  return { value: withoutEmpty(value), type: 'object', origin: originOf(url), dialogs };
}
