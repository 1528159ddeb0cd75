// @ts-check
// Drags from one place to another.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {LandedAct, ReadyTarget} from '../browser/targets.js' */

import { checkedInteger } from '../commands/params.js';
import { dragBetween } from '../input/drag.js';
import { checkedPlace } from '../input/place.js';
import { landedOn } from '../input/pointer.js';
import { withInput } from '../input/session.js';
import { DRAG_MOVES, DRAG_MOVES_USUAL } from './limits.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function drag({ startTarget, startX, startY, endTarget, endX, endY, in: picture, moves = DRAG_MOVES_USUAL, snapshot }, context) {
  const from = checkedPlace({ target: startTarget, x: startX, y: startY, ...(startX !== undefined && { in: picture }) }, { target: 'startTarget', x: 'startX', y: 'startY' });
  const to = checkedPlace({ target: endTarget, x: endX, y: endY, ...(endX !== undefined && { in: picture }) }, { target: 'endTarget', x: 'endX', y: 'endY' });
  const count = checkedInteger('moves', moves, DRAG_MOVES);
  return withInput(context, { snapshot }, async (input) => {
    const { start, end, hasData } = await dragBetween(input, await input.inView(from), await input.inView(to), count);
    return {
      // The agent knows an end that it has named.
      target: end, value: { dragged: start.label, ...('point' in to && { to: end.label }) },
      tell: (after) => told(start, after, hasData),
    };
  });
}

/** @param {ReadyTarget} start @param {LandedAct} after @param {boolean} hasData @returns {{dropped?: false, landed_on?: string}} */
function told(start, after, hasData) {
  // Without a drop event the page has refused the data.
  if (hasData && !after.isGone && !after.events.drop) return { dropped: false };
  const landed = landedOn(after, hasData ? 'drop' : 'mouseup');
  // What follows the pointer is under it.
  return landed.landed_on === start.label ? {} : landed;
}
