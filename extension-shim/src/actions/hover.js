// @ts-check
// Moves the pointer over an element or a point, where it stays until the next act: menus that open there stay open.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { checkedPlace } from '../input/place.js';
import { flush, moved, pointOf } from '../input/mouse_events.js';
import { landedOn } from '../input/pointer.js';
import { withInput } from '../input/session.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function hover({ snapshot, ...place }, context) {
  const where = checkedPlace(place);
  return withInput(context, { snapshot }, async (input) => {
    const target = await input.reach(where, { kind: 'hover' });
    const point = pointOf(target);
    await input.ready(target);
    await input.conclude(target, [], moved(point), flush(point));
    // A pointer that was there already enters nothing.
    return { target, value: { hovered: target.label }, tell: (after) => (after.events.mouseover ? landedOn(after, 'mouseover') : {}) };
  });
}
