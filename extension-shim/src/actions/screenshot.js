// @ts-check
// A picture of a page, no larger than models look at.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { captureTab } from '../browser/capture_tab.js';
import { attach, withDialogs } from '../browser/debugger.js';
import { SCREENSHOT_MAX_SIDE, SCREENSHOT_SIDES } from '../browser/limits.js';
import { tabs } from '../browser/state.js';
import { stopWaiting } from '../browser/unstick.js';
import { checkedFlag, checkedInteger } from '../commands/params.js';
import { ActionError } from '../lib/errors.js';
import { imageSize } from '../lib/image_size.js';
import { assertReachable, originOf } from '../policy/pages.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function screenshot({ format = 'png', full_page, max_side = SCREENSHOT_MAX_SIDE }, context) {
  if (!['png', 'jpeg'].includes(format)) throw new ActionError('invalid_params', 'format must be png or jpeg');
  const frame = {
    fullPage: checkedFlag('full_page', full_page),
    maxSide: checkedInteger('max_side', max_side, SCREENSHOT_SIDES),
  };
  const tab = await tabs.target(context.tab_id);
  assertReachable(tab);
  context.onStop(() => stopWaiting(tab.id));
  await attach(tab.id);
  context.begin();
  const watcher = { dialogs: [] };
  const data = await withDialogs(tab.id, watcher, () => captureTab(tab.id, format, frame, context.signal));
  const value = { mime_type: `image/${format}`, data, ...imageSize(data) };
  return { value, type: 'image', origin: originOf(tab.url), dialogs: watcher.dialogs };
}
