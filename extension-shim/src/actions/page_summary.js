// @ts-check
// A summary of the page for an agent that has no picture of it.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { readIsolated, withLook } from '../analysis/isolated.js';
import { lookAtPage } from '../browser/attached_page.js';
import { pdfNote } from '../browser/pdf_page.js';
import { policy } from '../browser/state.js';
import { summarySource } from '../injected/summary.js';
import { withoutEmpty } from '../lib/without_empty.js';
import { originOf } from '../policy/pages.js';

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function page_summary(_, context) {
  const read = withLook(`${summarySource()}(look).read()`);
  const { value, url, dialogs } = await lookAtPage(context, async (id) => ({ ...await readIsolated(id, read), ...await pdfNote(id) }));
  // A frame that would show a page of Tabwire, or one of which the program may not be told, is there without its address.
  for (const frame of value.frames ?? []) if (policy.own.covers(frame.url ?? '') || context.hides(frame.url ?? '')) delete frame.url;
  return { value: withoutEmpty(value), type: 'object', origin: originOf(url), dialogs };
}
