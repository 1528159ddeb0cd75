// @ts-check
// Scrolls the page or an element. What can be scrolled is moved itself; where nothing can, the page gets an event of the
// wheel: maps, canvases and pages that scroll by script listen to it.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {ReadyTarget} from '../browser/targets.js' */
/** @import {InputSession} from '../input/session.js' */

import { parseTarget } from '../browser/target_query.js';
import { checkedChoice, checkedNumber, checkedText } from '../commands/params.js';
import { scrollBox, scrollUntil, turnWheel } from '../input/scroll.js';
import { withInput } from '../input/session.js';
import { ActionError } from '../lib/errors.js';
import { COORDINATE } from './limits.js';

/** A tenth of the view stays: readers keep their place. */
const VIEWS = /** @type {const} */ ({ up: { viewsY: -0.9 }, down: { viewsY: 0.9 }, left: { viewsX: -0.9 }, right: { viewsX: 0.9 } });

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function scroll({ target, until_text, snapshot, ...way }, context) {
  const by = checkedWay(way);
  const text = until_text === undefined ? undefined : checkedText('until_text', until_text);
  if (text !== undefined && (by.to !== undefined || by.dx !== undefined)) throw wrongWay('until_text goes with target and a direction of up or down only');
  const wanted = target === undefined ? null : parseTarget(target);
  const isMoved = Object.keys(by).length > 0 || text !== undefined;
  if (!wanted && !isMoved) throw wrongWay('nothing says where to scroll');
  return withInput(context, { snapshot, hasScripts: true }, async (input) => {
    const found = wanted && await input.findParsed(wanted, { kind: 'view' });
    if (found && !isMoved) return { value: { scrolled_to: found.label } };
    return { value: text === undefined ? await scrollBy(input, found, by) : await scrollUntil(input, found, text, by.viewsY ?? 0.9) };
  });
}

/** @param {InputSession} input @param {ReadyTarget | null} found @param {ReturnType<typeof checkedWay>} by */
async function scrollBy(input, found, by) {
  const place = await scrollBox(input, found, by);
  if (place) return place;
  // All of it is seen: it is at its top and at its bottom.
  if (by.to !== undefined) return { scrolled: found?.label ?? 'page', top: 0, bottom_at: 0, moved: false };
  return turnWheel(input, found, by);
}

/**
 * @param {{direction?: unknown, dx?: unknown, dy?: unknown, to?: unknown}} params
 * @returns {{dx?: number, dy?: number, viewsX?: number, viewsY?: number, to?: 'top' | 'bottom'}}
 */
function checkedWay({ direction, dx, dy, to }) {
  const isBy = dx !== undefined || dy !== undefined;
  if ([direction !== undefined, isBy, to !== undefined].filter(Boolean).length > 1) throw wrongWay('direction, dx and dy, and to exclude each other');
  if (direction !== undefined) return VIEWS[checkedChoice('direction', direction, /** @type {const} */ (['up', 'down', 'left', 'right']))];
  if (to !== undefined) return { to: checkedChoice('to', to, /** @type {const} */ (['top', 'bottom'])) };
  return isBy ? { dx: checkedNumber('dx', dx ?? 0, COORDINATE), dy: checkedNumber('dy', dy ?? 0, COORDINATE) } : {};
}

/** @param {string} message */
function wrongWay(message) {
  return new ActionError('invalid_params', message, undefined, { hint: 'Give a target to show it; or dy (px down), direction, to ("top", "bottom") or until_text, with or without a target to scroll in.' });
}
