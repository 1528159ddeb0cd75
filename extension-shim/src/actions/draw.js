// @ts-check
// Draws a path with the pointer: on a canvas, a map, a field for signatures.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {ReadyTarget} from '../browser/targets.js' */
/** @import {ViewPoint} from '../input/mouse_events.js' */
/** @import {ActPlace} from '../input/place.js' */
/** @import {InputSession} from '../input/session.js' */

import { askDocument } from '../browser/page_world.js';
import { checkedNumber } from '../commands/params.js';
import { flush, moved, pressed, released } from '../input/mouse_events.js';
import { checkedPlace } from '../input/place.js';
import { assertQuiet, landedOn } from '../input/pointer.js';
import { withInput } from '../input/session.js';
import { ActionError } from '../lib/errors.js';
import { COORDINATE, PATH_POINTS } from './limits.js';

/** The browser gets so many moves at once, and between them it is asked whether anybody still waits. */
const AT_ONCE = 50;

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function draw({ target, points, in: picture, snapshot }, context) {
  const given = checkedPoints(points);
  if (picture !== undefined && (typeof picture !== 'string' || target !== undefined)) throw new ActionError('invalid_params', 'in is the id of a picture, and goes without target');
  const place = target === undefined ? null : checkedPlace({ target });
  return withInput(context, { snapshot }, async (input) => {
    await assertQuiet(input, 'Drawing');
    const path = typeof picture === 'string' ? await input.pathInView(picture, given) : given;
    const sheet = place ? await sheetOf(input, place) : await input.at(path[0]);
    const [left, top] = place ? sheet.box : [0, 0];
    const [first, ...others] = path.map(({ x, y }) => ({ x: x + left, y: y + top }));
    const view = await askDocument(input.tabId, sheet.page, 'view');
    if ([first, ...others].some(({ x, y }) => x < 0 || y < 0 || x >= view.width || y >= view.height)) throw outOfView(sheet, view);
    if (place) await input.admitPressAt(first);
    await input.ready(sheet);
    let last = first;
    try {
      await input.send(moved(first), pressed(first, 'left'));
      for (let at = 0; at < others.length; at += AT_ONCE) {
        const part = others.slice(at, at + AT_ONCE);
        if (at > 0) await input.ready(sheet);
        await input.send(...part.flatMap((point) => [moved(point, { held: 'left' }), flush(point, { held: 'left' })]));
        last = part[part.length - 1];
      }
    } finally {
      await input.letGo(released(last, 'left'));
    }
    return { target: sheet, value: { drawn: `${path.length} points on ${sheet.label}` }, tell: (after) => landedOn(after, 'mousedown') };
  });
}

/** An element in the middle of the view: all of it is seen, if it fits. @param {InputSession} input @param {ActPlace} place */
async function sheetOf(input, place) {
  const found = await input.reach(place, { kind: 'click' });
  await input.byScript(() => askDocument(input.tabId, found.document, 'center', { id: found.id }));
  return input.approach(await input.reach(place, { kind: 'click' }), { kind: 'click' });
}

/** @param {ReadyTarget} sheet @param {{width: number, height: number}} view */
function outOfView({ label, box: [x, y, width, height] }, view) {
  const where = [x, y, width, height].map(Math.round).join(', ');
  return new ActionError('not_visible', `the path leaves the visible page, which is ${view.width} by ${view.height} CSS px: ${label} is at ${where} (x, y, width, height)`,
    undefined, { mayHaveRun: false, hint: 'Draw within what is seen; scroll, and draw the rest in another call.' });
}

/** @param {unknown} points @returns {ViewPoint[]} */
function checkedPoints(points) {
  if (!Array.isArray(points) || points.length === 0 || points.length > PATH_POINTS || points.some((point) => !Array.isArray(point) || point.length !== 2)) {
    throw new ActionError('invalid_params', `points must be a list of 1 to ${PATH_POINTS} points such as [[10, 10], [40, 20]]`, undefined,
      { hint: 'They are CSS px from the left and the top of target, or of the visible page without target.' });
  }
  return points.map(([x, y]) => ({ x: checkedNumber('x of a point', x, COORDINATE), y: checkedNumber('y of a point', y, COORDINATE) }));
}
