// @ts-check
// The keyboard: keys and text as events for `InputSession.send`. All of a chord goes down and up in one sending: no key
// stays held if the command ends.

/** @import {InputEventCommand} from './session.js' */
/** @import {KeyChord, KeyStroke, ModifierKey} from './key_table.js' */

import { MODIFIER_BITS, editingCommands, keyOfSign, strokeNamed } from './key_table.js';

const METHOD = 'Input.dispatchKeyEvent';

/** The keys of this system: some editing chords are others on a Mac. */
export const isMac = /mac/i.test(globalThis.navigator?.platform ?? '');

/** @param {'down' | 'up'} way @param {KeyStroke} stroke @param {number} modifiers @param {string[]} [commands] @returns {InputEventCommand} */
function keyEvent(way, { key, code, keyCode, location = 0, text }, modifiers, commands = []) {
  const type = way === 'up' ? 'keyUp' : text === undefined ? 'rawKeyDown' : 'keyDown';
  return {
    method: METHOD, type, key, code, windowsVirtualKeyCode: keyCode, modifiers, location, isKeypad: location === 3,
    ...(type === 'keyDown' && { text, unmodifiedText: text }), ...(way === 'down' && commands.length > 0 && { commands }),
  };
}

/** @param {KeyChord} chord @param {boolean} [onMac] @returns {InputEventCommand[]} */
export function chordEvents(chord, onMac = isMac) {
  const { modifiers, stroke } = chord;
  const bits = (/** @type {ModifierKey[]} */ held) => held.reduce((sum, modifier) => sum | MODIFIER_BITS[modifier], 0);
  const all = bits(modifiers);
  // The bit of a modifier key is set when it goes down, and is not when it has gone up.
  const own = Object.hasOwn(MODIFIER_BITS, stroke.key) ? MODIFIER_BITS[/** @type {ModifierKey} */ (stroke.key)] : 0;
  return [
    ...modifiers.map((modifier, at) => keyEvent('down', strokeNamed(modifier), bits(modifiers.slice(0, at + 1)))),
    keyEvent('down', stroke, all | own, editingCommands(chord, onMac)),
    keyEvent('up', stroke, all),
    ...modifiers.map((modifier, at) => keyEvent('up', strokeNamed(modifier), bits(modifiers.slice(0, at)))).reverse(),
  ];
}

/** @param {string} text @returns {InputEventCommand} */
export function insertion(text) {
  return { method: 'Input.insertText', text };
}

/** Signs as a person sees them: an emoji of several characters is one. @param {string} text @returns {string[]} */
export function signsOf(text) {
  return Array.from(new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text.replace(/\r\n?/g, '\n')), ({ segment }) => segment);
}

/** One sign by its key; one that no key has is composed, as dead keys and input methods do. @param {string} sign @returns {InputEventCommand[]} */
export function signEvents(sign) {
  const known = sign === '\t' ? { ...strokeNamed('Tab'), isShifted: false } : keyOfSign(sign);
  if (!known) return [{ method: 'Input.imeSetComposition', text: sign, selectionStart: sign.length, selectionEnd: sign.length }, insertion(sign)];
  const { isShifted, ...stroke } = known;
  const modifiers = isShifted ? MODIFIER_BITS.Shift : 0;
  return [keyEvent('down', stroke, modifiers), keyEvent('up', stroke, modifiers)];
}

/**
 * A text at once, its last sign by a key if one has it: pages that look at their fields when a key goes up see all of it.
 * @param {string} text @returns {InputEventCommand[]}
 */
export function textEvents(text) {
  const last = Array.from(text).at(-1) ?? '';
  // A key for the end of a line would send what pages send by Enter.
  if (last === '\n' || text.length > 1 && signsOf(text).at(-1) !== last || !keyOfSign(last)) return text === '' ? [] : [insertion(text)];
  const first = text.slice(0, -last.length);
  return [...(first === '' ? [] : [insertion(first)]), ...signEvents(last)];
}
