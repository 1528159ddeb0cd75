// @ts-check
// The text of a page or of an element, as a person reads it.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { readText } from './page_reading.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export function get_text(params, context) {
  return readText('text', params, context);
}
