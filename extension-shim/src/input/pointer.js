// @ts-check
// Clicks of any kind, and which element has got the events of an act.

/** @import {LandedAct, ReadyTarget} from '../browser/targets.js' */
/** @import {PointerButton} from './mouse_events.js' */
/** @import {InputSession} from './session.js' */

import { ActionError } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import { MODIFIER_BITS } from './key_table.js';
import { moved, pointOf, pressed, released } from './mouse_events.js';
import { clickQuietly, wouldRaise } from './quiet_click.js';
import { clickWithScript } from './scripted.js';

/**
 * @typedef {object} ClickManner
 * @property {PointerButton} button
 * @property {number} count 2: a double click
 * @property {number} modifiers as of `modifierBits`
 * @property {number} holdMs
 */

const BITS = new Map(Object.entries(MODIFIER_BITS));

/** @param {unknown} names such as `["Shift", "ControlOrMeta"]` @returns {Promise<number>} as the protocol has them */
export async function modifierBits(names = []) {
  if (!Array.isArray(names)) throw new ActionError('invalid_params', 'modifiers must be a list such as ["Shift"]');
  let bits = 0;
  for (const name of names) {
    const key = name === 'ControlOrMeta' ? ((await chrome.runtime.getPlatformInfo()).os === 'mac' ? 'Meta' : 'Control') : name;
    const known = BITS.get(key);
    if (known === undefined) throw new ActionError('invalid_params', `modifiers has ${JSON.stringify(name)}; it knows Alt, Control, ControlOrMeta, Meta and Shift`);
    bits |= known;
  }
  return bits;
}

/** @param {InputSession} input @param {string} what is going to be done with the button held @returns {Promise<void>} */
export async function assertQuiet(input, what) {
  if (await input.wouldRaise()) throw wouldRaise(what);
}

/**
 * Clicks a target that is ready.
 * @param {InputSession} input @param {ReadyTarget} found @param {ClickManner} manner @param {{isFixed?: boolean, isProven?: boolean}} [so] `isFixed`: the point counts, whatever is there by
 *   then; `isProven`: the caller looks at the effect itself
 * @returns {Promise<{target: ReadyTarget, input?: string}>} the target as it was clicked; `input` is for the answer
 */
export async function clickTarget(input, found, manner, { isFixed = false, isProven = false } = {}) {
  const { button, count, modifiers, holdMs } = manner;
  if (found.tag === 'select' && found.label.startsWith('combobox') && button === 'left') throw nativeList(found);
  if (input.scripted) return clickWithScript(input, found, manner, { isFixed, isProven });
  if (await input.wouldRaise()) return { target: found, ...await clickQuietly(input, found, manner) };
  const target = isFixed ? found : await input.approach(found, { kind: 'click' });
  if (isFixed) await input.ready(target);
  if (button === 'middle') await input.keepSelection(target);
  const point = pointOf(target);
  const presses = Array.from({ length: count }, (_, at) => [pressed(point, button, { modifiers, count: at + 1 }), released(point, button, { modifiers, count: at + 1 })]);
  // The approach has left the pointer there: the page need not paint and answer once more.
  const there = isFixed || modifiers !== 0 ? [moved(point, { modifiers })] : [];
  if (holdMs === 0) {
    await input.send(...there, ...presses.flat());
    return { target };
  }
  await input.send(...there, ...presses.slice(0, -1).flat(), presses[count - 1][0]);
  try {
    await pause(holdMs, input.signal);
  } finally {
    await input.letGo(presses[count - 1][1]);
  }
  return { target };
}

/** @param {ReadyTarget} found */
function nativeList({ label }) {
  return new ActionError('wrong_kind', `${label} is a list that the browser itself opens, over the person's windows`, undefined,
    { mayHaveRun: false, hint: 'Choose with select_option; get_value names the options.' });
}

/** The event that a click ends with. */
export const CLICKED = /** @type {const} */ ({ left: 'click', right: 'contextmenu', middle: 'auxclick' });

/**
 * The other element that has got the events of an act, if it is another one.
 * @param {LandedAct} after @param {string} type of the event that the act ends with @returns {{landed_on?: string}}
 */
export function landedOn({ events, isGone }, type) {
  if (isGone) return {};
  const [got] = [type, 'mouseup', 'mousedown', 'pointerdown'].flatMap((known) => events[known] ?? []);
  // A page can keep events from all who listen after it.
  if (!got) return { landed_on: 'not seen: the page stops the events' };
  return got.isOwn ? {} : { landed_on: got.on ?? 'the page' };
}
