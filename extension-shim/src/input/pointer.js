// @ts-check
// The pointer: its events, and a click of any kind with them.

/** @import {LandedAct, ReadyTarget} from '../browser/targets.js' */
/** @import {InputEventCommand, InputSession} from './session.js' */

import { ActionError } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import { clickQuietly } from './quiet_click.js';

/**
 * @typedef {{x: number, y: number}} ViewPoint in CSS px of the tab's view
 * @typedef {'left' | 'right' | 'middle'} PointerButton
 *
 * @typedef {object} ClickManner
 * @property {PointerButton} button
 * @property {number} count 2: a double click
 * @property {number} modifiers as of `modifierBits`
 * @property {number} holdMs
 */

const HELD = { left: 1, right: 2, middle: 4 };
const METHOD = 'Input.dispatchMouseEvent';

/** @param {ViewPoint} point @param {{modifiers?: number, held?: PointerButton}} [more] @returns {InputEventCommand} */
export function moved({ x, y }, { modifiers = 0, held } = {}) {
  return { method: METHOD, type: 'mouseMoved', x, y, button: held ?? 'none', buttons: held ? HELD[held] : 0, modifiers };
}

/**
 * The browser keeps a move until the page paints, or until an event that it does not keep. This one comes to no listener.
 * @param {ViewPoint} point @param {{modifiers?: number, held?: PointerButton}} [more] @returns {InputEventCommand}
 */
export function flush({ x, y }, { modifiers = 0, held } = {}) {
  return { method: METHOD, type: 'mouseReleased', x, y, button: 'none', buttons: held ? HELD[held] : 0, modifiers };
}

/** @param {ViewPoint} point @param {PointerButton} button @param {{modifiers?: number, count?: number}} [more] @returns {InputEventCommand} */
export function pressed({ x, y }, button, { modifiers = 0, count = 1 } = {}) {
  return { method: METHOD, type: 'mousePressed', x, y, button, buttons: HELD[button], clickCount: count, modifiers };
}

/** @param {ViewPoint} point @param {PointerButton} button @param {{modifiers?: number, count?: number}} [more] @returns {InputEventCommand} */
export function released({ x, y }, button, { modifiers = 0, count = 1 } = {}) {
  return { method: METHOD, type: 'mouseReleased', x, y, button, buttons: 0, clickCount: count, modifiers };
}

const BITS = /** @type {Record<string, number>} */ ({ Alt: 1, Control: 2, Meta: 4, Shift: 8 });

/** @param {unknown} names such as `["Shift", "ControlOrMeta"]` @returns {Promise<number>} as the protocol has them */
export async function modifierBits(names = []) {
  if (!Array.isArray(names)) throw new ActionError('invalid_params', 'modifiers must be a list such as ["Shift"]');
  let bits = 0;
  for (const name of names) {
    const known = name === 'ControlOrMeta' ? BITS[(await chrome.runtime.getPlatformInfo()).os === 'mac' ? 'Meta' : 'Control'] : BITS[name];
    if (known === undefined) throw new ActionError('invalid_params', `modifiers has ${JSON.stringify(name)}; it knows Alt, Control, ControlOrMeta, Meta and Shift`);
    bits |= known;
  }
  return bits;
}

/**
 * Clicks a target that is ready.
 * @param {InputSession} input @param {ReadyTarget} target @param {ClickManner} manner @returns {Promise<{input?: string}>} for the answer
 */
export async function clickTarget(input, target, manner) {
  const { button, count, modifiers, holdMs } = manner;
  const point = /** @type {ViewPoint} */ (target.point);
  await input.ready(target);
  if (await input.wouldRaise()) return clickQuietly(input, target, manner);
  const presses = Array.from({ length: count }, (_, at) => [pressed(point, button, { modifiers, count: at + 1 }), released(point, button, { modifiers, count: at + 1 })]);
  if (holdMs === 0) {
    await input.send(moved(point, { modifiers }), ...presses.flat());
    return {};
  }
  await input.send(moved(point, { modifiers }), ...presses.slice(0, -1).flat(), presses[count - 1][0]);
  try {
    await pause(holdMs, input.signal);
  } finally {
    await input.letGo(presses[count - 1][1]);
  }
  return {};
}

const LAST = { left: 'click', right: 'contextmenu', middle: 'auxclick' };

/**
 * The other element that has got a click, if it is another one.
 * @param {LandedAct} after @param {PointerButton} button @returns {{landed_on?: string}}
 */
export function landedOn({ events, isGone }, button) {
  if (isGone) return {};
  const [got] = [LAST[button], 'mouseup', 'mousedown', 'pointerdown'].flatMap((type) => events[type] ?? []);
  // A page can keep events from all who listen after it.
  if (!got) return { landed_on: 'not seen: the page stops the events' };
  return got.isOwn ? {} : { landed_on: got.on ?? 'the page' };
}
