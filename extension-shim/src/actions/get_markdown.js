// @ts-check
// The main content of a page, or an element, as Markdown.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { readText } from './page_reading.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export function get_markdown(params, context) {
  return readText('markdown', params, context);
}
