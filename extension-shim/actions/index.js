// @ts-check
// The allow-list: what a daemon can ask for at all.

/** @import {Action} from '../protocol.js' */

import { execute_js } from './execute_js.js';
import { navigate } from './navigate.js';
import { page_info } from './page_info.js';
import { screenshot } from './screenshot.js';
import { tab_list } from './tab_list.js';

/** @type {Record<string, Action>} */
export const actions = { execute_js, navigate, page_info, screenshot, tab_list };
