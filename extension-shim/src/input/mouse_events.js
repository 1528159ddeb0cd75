// @ts-check
// The events of the mouse, for `InputSession.send`.

/** @import {ReadyTarget} from '../browser/targets.js' */
/** @import {InputEventCommand} from './session.js' */

/** @typedef {{x: number, y: number}} ViewPoint in CSS px of the tab's view */
/** @typedef {'left' | 'right' | 'middle'} PointerButton */

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

/** @param {ReadyTarget} target that is ready for the pointer @returns {ViewPoint} */
export function pointOf({ point }) {
  return /** @type {ViewPoint} */ (point);
}
