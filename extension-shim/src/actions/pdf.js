// @ts-check
// A page on paper, as PDF.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { lookAtPage } from '../browser/attached_page.js';
import { cdp } from '../browser/debugger.js';
import { pdfWords } from '../browser/pdf_page.js';
import { checkedFlag } from '../commands/params.js';
import { ActionError, messageOf } from '../lib/errors.js';
import { originOf } from '../policy/pages.js';

const RANGES = /^\s*\d+\s*(-\s*\d*)?(\s*,\s*\d+\s*(-\s*\d*)?)*\s*$/;

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function pdf({ landscape, scale = 1, page_ranges = '' }, context) {
  if (typeof scale !== 'number' || !(scale >= 0.1 && scale <= 2)) throw new ActionError('invalid_params', 'scale must be a number from 0.1 to 2');
  if (page_ranges !== '' && (typeof page_ranges !== 'string' || !RANGES.test(page_ranges))) throw new ActionError('invalid_params', 'page_ranges must be such as 1-3,5');
  const paper = { landscape: checkedFlag('landscape', landscape), scale, pageRanges: page_ranges, printBackground: true, preferCSSPageSize: true };
  const { value: data, url, dialogs } = await lookAtPage(context, async (id) => {
    const printed = print(id, paper);
    printed.catch(console.debug);
    // The browser's viewer prints as an empty page, which is soon done.
    if (await pdfWords(id)) throw new ActionError('unsupported', 'this tab shows a PDF already; printed, it would be an empty page', undefined, { hint: 'Get the file with execute_js: fetch(location.href); a screenshot shows the part in view.' });
    return printed;
  });
  return { value: { mime_type: 'application/pdf', data }, type: 'pdf', origin: originOf(url), dialogs };
}

/** @param {number} tabId @param {object} paper @returns {Promise<string>} base64 */
async function print(tabId, paper) {
  try {
    return (await cdp(tabId, 'Page.printToPDF', paper)).data;
  } catch (error) {
    throw refused(messageOf(error)) ?? error;
  }
}

/** @param {string} message */
function refused(message) {
  if (/page range/i.test(message)) return new ActionError('invalid_params', 'page_ranges names pages that there are not');
  if (/not implemented|not available|not found|wasn't found|Printing is not/i.test(message)) return new ActionError('unsupported', `this browser prints no page to PDF (${message})`, undefined, { hint: 'Take a screenshot with full_page, or read the page with get_markdown.' });
  return null;
}
