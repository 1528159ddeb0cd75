// @ts-check
// Clicks an element or a point.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { moved, pressed, released } from '../input/pointer.js';
import { withInput } from '../input/session.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function click({ target, snapshot }, context) {
  return withInput(context, { snapshot }, async (input) => {
    const found = await input.find(target, { kind: 'click' });
    const point = /** @type {{x: number, y: number}} */ (found.point);
    await input.ready(found);
    await input.send(moved(point), pressed(point, 'left'), released(point, 'left'));
    return { target: found, value: { clicked: found.label } };
  });
}
