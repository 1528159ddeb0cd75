// @ts-check
// What is open in this browser.

/** @import {Outcome} from '../protocol.js' */

import { tabs } from '../state.js';

/** @returns {Promise<Outcome>} */
export async function tab_list() {
  await tabs.load();
  return { value: tabs.list(), type: 'array' };
}
