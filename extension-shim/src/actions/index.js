// @ts-check
// The allow-list: a daemon can ask for these actions and no others.

/** @import {Action} from '../../types/protocol.js' */

import { accessibility } from './accessibility.js';
import { audit } from './audit.js';
import { batch } from './batch.js';
import { call_page_tool } from './call_page_tool.js';
import { check, uncheck } from './check.js';
import { click } from './click.js';
import { clipboard } from './clipboard.js';
import { cookies } from './cookies.js';
import { dialog } from './dialog.js';
import { dom } from './dom.js';
import { downloads } from './downloads.js';
import { drag } from './drag.js';
import { draw } from './draw.js';
import { draw_mode } from './draw_mode.js';
import { emulate } from './emulate.js';
import { execute_js } from './execute_js.js';
import { fill_form } from './fill_form.js';
import { find } from './find.js';
import { forms } from './forms.js';
import { get_attributes } from './get_attributes.js';
import { get_html } from './get_html.js';
import { get_markdown } from './get_markdown.js';
import { get_text } from './get_text.js';
import { get_value } from './get_value.js';
import { highlight } from './highlight.js';
import { hover } from './hover.js';
import { back, forward, navigate, refresh } from './navigate.js';
import { network_rules } from './network_rules.js';
import { page_info } from './page_info.js';
import { page_summary } from './page_summary.js';
import { pdf } from './pdf.js';
import { page_tools } from './page_tools.js';
import { performance } from './performance.js';
import { press_key } from './press_key.js';
import { record } from './record.js';
import { screenshot } from './screenshot.js';
import { scroll } from './scroll.js';
import { select_option } from './select_option.js';
import { set_permissions } from './set_permissions.js';
import { snapshot } from './snapshot.js';
import { storage } from './storage.js';
import { tab_activate, tab_close, tab_list, tab_open } from './tabs.js';
import { trace } from './trace.js';
import { type } from './type.js';
import { upload_file } from './upload_file.js';
import { wait_for } from './wait_for.js';

/** @type {Record<string, Action>} */
export const actions = {
  execute_js, navigate, refresh, back, forward, page_info, screenshot, pdf, tab_list, tab_open, tab_close, tab_activate,
  dom, accessibility, page_summary, performance, audit, forms, trace, record, draw_mode, snapshot, find, get_text, get_markdown, get_html,
  get_value, get_attributes, click, hover, scroll, drag, draw,
  upload_file,
  type, press_key, select_option, check, uncheck, fill_form, clipboard,
  wait_for, batch, page_tools, call_page_tool, dialog, downloads, emulate, highlight, network_rules, cookies, storage, set_permissions,
};
