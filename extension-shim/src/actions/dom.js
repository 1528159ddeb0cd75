// @ts-check
// The elements that match a CSS selector, in shadow roots and frames of the same origin too.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { readIsolated, withLook, wrongSelector } from '../analysis/isolated.js';
import { lookAtPage } from '../browser/attached_page.js';
import { checkedInteger, checkedText } from '../commands/params.js';
import { pdfNote } from '../browser/pdf_page.js';
import { matchesSource } from '../injected/matches.js';
import { originOf } from '../policy/pages.js';
import { DOM_MATCHES, DOM_MATCHES_USUAL } from './limits.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function dom({ selector, limit = DOM_MATCHES_USUAL }, context) {
  const wanted = checkedText('selector', selector);
  const most = checkedInteger('limit', limit, DOM_MATCHES);
  const find = withLook(`${matchesSource()}(look).find(${JSON.stringify(wanted)},${most})`);
  const { value, url, dialogs } = await lookAtPage(context, async (id) => ({ ...await readIsolated(id, find), ...await pdfNote(id) }));
  if (value.wrong) throw wrongSelector(wanted);
  return { value: { selector: wanted, ...value }, type: 'object', origin: originOf(url), dialogs };
}
