// @ts-check
// Scrolling of boxes, by the wheel, and until a text appears.

/** @import {ReadyTarget} from '../browser/targets.js' */
/** @import {InputSession} from './session.js' */

import { askDocument, documentsOf } from '../browser/page_world.js';
import { whilePainting } from '../browser/painting.js';
import { change, findTargets, labelOf, refOf } from '../browser/targets.js';
import { clip } from '../lib/clip.js';
import { ActionError } from '../lib/errors.js';
import { BOX_NAME, SCROLL_END_MS, SCROLL_STEPS, SHOWN_TRIES } from './limits.js';
import { moved } from './mouse_events.js';
import { onlyDebugger } from './scripted.js';

/**
 * @typedef {{dx?: number, dy?: number, viewsX?: number, viewsY?: number, to?: 'top' | 'bottom'}} ScrollWay
 * @typedef {{scrolled: string, top: number, bottom_at: number, left?: number, right_at?: number, moved?: false}} ToldScroll for the answer
 */

/** @param {InputSession} input @param {ReadyTarget | null} found absent: the page @param {ScrollWay} by @returns {Promise<ToldScroll | null>} null: nothing can be scrolled that way */
export async function scrollBox(input, found, by) {
  const place = await scrolledPlace(input, found, by);
  if (!place) return null;
  const { label, left, top, mostLeft, mostTop, hasMoved } = place;
  return { scrolled: label, top, bottom_at: mostTop, ...(mostLeft > 0 && left > 0 && { left, right_at: mostLeft }), ...(!hasMoved && { moved: /** @type {const} */ (false) }) };
}

/** @param {InputSession} input @param {ReadyTarget | null} found @param {ScrollWay} by */
async function scrolledPlace(input, found, by) {
  const document = found?.document ?? (await documentsOf(input.tabId)).seen[0];
  await input.ready();
  const { found: place, count, isGone } = await input.byScript(() => askDocument(input.tabId, document, 'scroll', { id: found?.id, ...by }));
  if (isGone || !place) return null;
  const label = place.box ? labelOf({ ...place.box, name: clip(place.box.name, BOX_NAME), ref: refOf(input.tabId, document, count, place.box.id) }) : 'page';
  return { ...place, label };
}

/** @param {InputSession} input @param {ReadyTarget | null} found @param {ScrollWay} by */
export async function turnWheel(input, found, { dx = 0, dy = 0, viewsX = 0, viewsY = 0 }) {
  if (input.scripted) throw onlyDebugger(input, 'nothing here can be scrolled, and only the debugger turns the wheel');
  const [page] = (await documentsOf(input.tabId)).seen;
  const view = await askDocument(input.tabId, page, 'view');
  const [left, top, width, height] = found?.box ?? [0, 0, view.width, view.height];
  const point = found?.point ?? { x: left + width / 2, y: top + height / 2 };
  await input.ready(found ?? undefined);
  await whilePainting(input.tabId, async () => {
    await input.send(moved(point), { method: 'Input.dispatchMouseEvent', type: 'mouseWheel', ...point, deltaX: dx + viewsX * width, deltaY: dy + viewsY * height });
    // The page gets it with its next frame.
    await askDocument(input.tabId, page, 'twoFrames');
  });
  return { wheel: `at ${Math.round(point.x)}, ${Math.round(point.y)}`, hint: 'nothing here can be scrolled; the page got a turn of the wheel' };
}

/**
 * Scrolls view by view until a text is there.
 * @param {InputSession} input @param {ReadyTarget | null} found @param {string} text @param {number} viewsY
 */
export async function scrollUntil(input, found, text, viewsY) {
  const end = performance.now() + input.patienceMs;
  return input.painting(async () => {
    let seenMs = 0;
    for (let steps = 0; steps < SCROLL_STEPS && performance.now() < end; steps += 1) {
      const shown = await bringIntoView(input, text);
      if (shown) return { found: shown, ...(steps > 0 && { views: steps }) };
      const place = await scrolledPlace(input, found, { viewsY });
      const { seen } = await documentsOf(input.tabId);
      if (place?.hasMoved) {
        // Lists fill when they paint.
        seenMs = 0;
        await input.frames(seen[0]);
        continue;
      }
      // At the end more may be on its way.
      const from = performance.now();
      if (seenMs >= SCROLL_END_MS) break;
      await change(input, seen, from + SCROLL_END_MS);
      seenMs += performance.now() - from;
    }
    throw new ActionError('target_not_found', `${JSON.stringify(text)} did not appear${found ? ` in ${found.label}` : ''}, ${performance.now() < end ? 'down to the end' : `within ${Math.round(input.patienceMs / 1_000)} s`}`,
      undefined, { hint: 'Look at what is there with get_text or find; a longer timeout_ms scrolls further; give the list as target if it is not the page that scrolls.' });
  });
}

/**
 * Brings a text into view, if it is there. A list that makes its rows anew when it scrolls does so once it has painted:
 * the element that stays is named.
 * @param {InputSession} input @param {string} text @returns {Promise<string | null>} the element that says it
 */
async function bringIntoView(input, text) {
  let seen = await firstShown(input, text);
  for (let tries = 0; seen; tries += 1) {
    const { label, document } = await input.findParsed({ ref: seen.ref }, { kind: 'view', atOnce: true, arm: false });
    await input.frames(document);
    const now = await firstShown(input, text);
    if (now?.ref === seen.ref || tries === SHOWN_TRIES) return label;
    seen = now;
  }
  return null;
}

/** @param {InputSession} input @param {string} text */
async function firstShown(input, text) {
  const { found } = await findTargets(input.tabId, { text }, 20);
  return found.find(({ isVisible }) => isVisible);
}
