// @ts-check
// The place where an act happens: an element as agents name it, or a point of the tab's view.

/** @import {WantedTarget} from '../browser/targets.js' */

import { parseTarget } from '../browser/target_query.js';
import { checkedNumber } from '../commands/params.js';
import { ActionError } from '../lib/errors.js';
import { COORDINATES } from './limits.js';

/** @typedef {{wanted: WantedTarget} | {point: {x: number, y: number}, picture?: string}} ActPlace `picture`: in whose pixels the point is */

/**
 * @param {{target?: unknown, x?: unknown, y?: unknown, in?: unknown}} params
 * @param {{target: string, x: string, y: string}} [names] of the parameters @returns {ActPlace}
 */
export function checkedPlace({ target, x, y, in: picture }, names = { target: 'target', x: 'x', y: 'y' }) {
  const isPoint = x !== undefined && y !== undefined;
  if (picture !== undefined && (typeof picture !== 'string' || !isPoint)) throw new ActionError('invalid_params', `in is the id of a picture, and goes with ${names.x} and ${names.y}`);
  if (target !== undefined && x === undefined && y === undefined) return { wanted: parseTarget(target) };
  if (target !== undefined || !isPoint) {
    throw new ActionError('invalid_params', `give either ${names.target}, or both ${names.x} and ${names.y}`, undefined,
      { hint: `${names.target} is a ref of a snapshot (b12), a CSS selector, text=Save or role=button[name="Save"]; ${names.x} and ${names.y} are CSS px of the visible page.` });
  }
  return { point: { x: checkedNumber(names.x, x, COORDINATES), y: checkedNumber(names.y, y, COORDINATES) }, ...(typeof picture === 'string' && { picture }) };
}
