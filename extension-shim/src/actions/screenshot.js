// @ts-check
// A picture of a page or of an element, no larger than models look at.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {PageArea, TabCapture} from '../browser/capture_tab.js' */

import { withAttachedPage } from '../browser/attached_page.js';
import { assertPaints, captureTab } from '../browser/capture_tab.js';
import { SCREENSHOT_MAX_SIDE, SCREENSHOT_SIDES } from '../browser/limits.js';
import { drawMarks, isIn, marksOf } from '../browser/picture_marks.js';
import { toldWay } from '../browser/scripted_way.js';
import { pictures } from '../browser/state.js';
import { parseTarget } from '../browser/target_query.js';
import { waitForTarget } from '../browser/targets.js';
import { captureVisible } from '../browser/visible_picture.js';
import { checkedFlag, checkedInteger } from '../commands/params.js';
import { patienceOf } from '../input/session.js';
import { ActionError } from '../lib/errors.js';
import { imageSize } from '../lib/image_size.js';
import { originOf } from '../policy/pages.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function screenshot({ format = 'png', full_page, max_side = SCREENSHOT_MAX_SIDE, target, marks }, context) {
  if (!['png', 'jpeg', 'webp'].includes(format)) throw new ActionError('invalid_params', 'format must be png, jpeg or webp');
  const frame = {
    fullPage: checkedFlag('full_page', full_page),
    maxSide: checkedInteger('max_side', max_side, SCREENSHOT_SIDES),
  };
  const isMarked = checkedFlag('marks', marks);
  const wanted = target === undefined ? null : parseTarget(target);
  if (wanted && frame.fullPage) throw new ActionError('invalid_params', 'give target or full_page, not both');
  const { value: { url, ...value }, dialogs } = await withAttachedPage(context, async (tabId, scripted) => {
    context.begin();
    // Else it is seen when the page is measured.
    if (!scripted && (wanted || isMarked)) assertPaints(await chrome.tabs.get(tabId));
    const clip = wanted ? areaOf(await waitForTarget({ tabId, signal: context.signal }, wanted, { kind: 'view', timeoutMs: patienceOf(context) })) : undefined;
    const marked = isMarked ? await marksOf(tabId, frame.fullPage || clip !== undefined) : [];
    const [coded, what] = [isMarked ? 'png' : format, { ...frame, ...(clip && { clip }) }];
    const taken = scripted ? await captureVisible(tabId, coded, what, scripted, context.signal) : await captureTab(tabId, coded, what, context.signal);
    if (taken.data === '') return { data: '', url: taken.url };
    const { area, scale, view } = taken;
    const place = { ...clickPlace(taken), in: pictures.keep({ tabId, view, area, scale }), ...(scripted && toldWay(scripted)) };
    if (!isMarked) return { data: taken.data, ...place, url: taken.url };
    const shown = marked.filter((mark) => isIn(mark, taken.area));
    const lines = shown.map(({ ref, role, name }) => `${ref} ${role}${name ? ` ${JSON.stringify(name)}` : ''}`);
    return { data: await drawMarks(taken, shown, format), ...place, marks: lines.join('\n'), url: taken.url };
  }, { hasScripts: true });
  return { value: { mime_type: `image/${format}`, ...value, ...imageSize(value.data) }, type: 'image', origin: originOf(url), dialogs };
}

/** For clicks: CSS px of the view = click_left + click_factor * px of the picture, likewise from the top. @param {TabCapture} taken */
function clickPlace({ area, scale }) {
  const [left, top] = [rounded(area.x), rounded(area.y)];
  return { click_factor: rounded(1 / scale), ...((left !== 0 || top !== 0) && { click_left: left, click_top: top }) };
}

/** @param {number} number */
function rounded(number) {
  return Math.round(number * 10_000) / 10_000;
}

/** @param {import('../browser/targets.js').ReadyTarget} target @returns {PageArea} */
function areaOf({ box: [x, y, width, height], label }) {
  if (width < 1 || height < 1) throw new ActionError('not_visible', `${label} has no size`, undefined, { hint: 'Choose an element around it.' });
  return { x, y, width, height };
}
