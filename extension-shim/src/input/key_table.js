// @ts-check
// Keys by their names, as KeyboardEvent.key has them, on a keyboard of the United States; and chords of them. Pure.

import { ActionError } from '../lib/errors.js';

/**
 * @typedef {object} KeyStroke
 * @property {string} key as KeyboardEvent.key
 * @property {string} code the place on the keyboard
 * @property {number} keyCode
 * @property {number} [location] 1: left, 2: right, 3: the block of numbers
 * @property {string} [text] that it enters
 *
 * @typedef {KeyStroke & {isShifted: boolean}} SignStroke
 *
 * @typedef {'Alt' | 'Control' | 'Meta' | 'Shift'} ModifierKey
 *
 * @typedef {object} KeyChord
 * @property {ModifierKey[]} modifiers held while the key is pressed, in the order in which they go down
 * @property {KeyStroke} stroke
 */

/** Bits of `modifiers` in the protocol. @type {Record<ModifierKey, number>} */
export const MODIFIER_BITS = { Alt: 1, Control: 2, Meta: 4, Shift: 8 };

/** Signs without and with Shift, the code, and the key code. @type {[string, string, string, number][]} */
const SIGNS = [
  ...Array.from('abcdefghijklmnopqrstuvwxyz', (letter) => /** @type {[string, string, string, number]} */ ([letter, letter.toUpperCase(), `Key${letter.toUpperCase()}`, letter.toUpperCase().charCodeAt(0)])),
  ...Array.from(')!@#$%^&*(', (shifted, digit) => /** @type {[string, string, string, number]} */ ([String(digit), shifted, `Digit${digit}`, 48 + digit])),
  [';', ':', 'Semicolon', 186], ['=', '+', 'Equal', 187], [',', '<', 'Comma', 188], ['-', '_', 'Minus', 189], ['.', '>', 'Period', 190], ['/', '?', 'Slash', 191],
  ['`', '~', 'Backquote', 192], ['[', '{', 'BracketLeft', 219], ['\\', '|', 'Backslash', 220], [']', '}', 'BracketRight', 221], ["'", '"', 'Quote', 222], [' ', ' ', 'Space', 32],
];

/** @type {KeyStroke[]} */
const NAMED = [
  { key: 'Enter', code: 'Enter', keyCode: 13, text: '\r' }, { key: 'Tab', code: 'Tab', keyCode: 9 }, { key: 'Backspace', code: 'Backspace', keyCode: 8 },
  { key: 'Delete', code: 'Delete', keyCode: 46 }, { key: 'Insert', code: 'Insert', keyCode: 45 }, { key: 'Escape', code: 'Escape', keyCode: 27 },
  { key: 'ArrowLeft', code: 'ArrowLeft', keyCode: 37 }, { key: 'ArrowUp', code: 'ArrowUp', keyCode: 38 }, { key: 'ArrowRight', code: 'ArrowRight', keyCode: 39 },
  { key: 'ArrowDown', code: 'ArrowDown', keyCode: 40 }, { key: 'Home', code: 'Home', keyCode: 36 }, { key: 'End', code: 'End', keyCode: 35 },
  { key: 'PageUp', code: 'PageUp', keyCode: 33 }, { key: 'PageDown', code: 'PageDown', keyCode: 34 }, { key: 'ContextMenu', code: 'ContextMenu', keyCode: 93 },
  { key: 'CapsLock', code: 'CapsLock', keyCode: 20 }, { key: 'NumLock', code: 'NumLock', keyCode: 144 }, { key: 'ScrollLock', code: 'ScrollLock', keyCode: 145 },
  { key: 'Pause', code: 'Pause', keyCode: 19 }, { key: 'PrintScreen', code: 'PrintScreen', keyCode: 44 },
  ...Array.from({ length: 24 }, (_, at) => ({ key: `F${at + 1}`, code: `F${at + 1}`, keyCode: 112 + at })),
];

/** @type {KeyStroke[]} */
const MODIFIERS = [
  { key: 'Shift', code: 'ShiftLeft', keyCode: 16, location: 1 }, { key: 'Control', code: 'ControlLeft', keyCode: 17, location: 1 },
  { key: 'Alt', code: 'AltLeft', keyCode: 18, location: 1 }, { key: 'Meta', code: 'MetaLeft', keyCode: 91, location: 1 },
];

/** @type {[string, string, number][]} of the block of numbers: code, sign or name, key code */
const NUMPAD = [
  ...Array.from('0123456789', (digit, at) => /** @type {[string, string, number]} */ ([`Numpad${digit}`, digit, 96 + at])),
  ['NumpadMultiply', '*', 106], ['NumpadAdd', '+', 107], ['NumpadSubtract', '-', 109], ['NumpadDecimal', '.', 110], ['NumpadDivide', '/', 111], ['NumpadEnter', 'Enter', 13],
];

/** Other names that are in use. @type {Record<string, string>} */
const ALIASES = {
  return: 'Enter', esc: 'Escape', del: 'Delete', ins: 'Insert', up: 'ArrowUp', down: 'ArrowDown', left: 'ArrowLeft', right: 'ArrowRight', pgup: 'PageUp', pgdn: 'PageDown',
  pgdown: 'PageDown', space: ' ', spacebar: ' ', plus: '+', ctrl: 'Control', cmd: 'Meta', command: 'Meta', win: 'Meta', super: 'Meta', option: 'Alt', opt: 'Alt', menu: 'ContextMenu',
  controlleft: 'Control', shiftleft: 'Shift', altleft: 'Alt', metaleft: 'Meta',
};

/** By the sign that a key enters. @type {Map<string, SignStroke>} */
const BY_SIGN = new Map();
for (const [plain, shifted, code, keyCode] of SIGNS) {
  BY_SIGN.set(shifted, { key: shifted, code, keyCode, text: shifted, isShifted: true });
  BY_SIGN.set(plain, { key: plain, code, keyCode, text: plain, isShifted: false });
}
/** @type {Map<string, string>} the sign that the key at a code enters with Shift */
const SHIFTED = new Map(SIGNS.map(([, shifted, code]) => [code, shifted]));
/** By name or code in small letters. @type {Map<string, KeyStroke>} */
const BY_NAME = new Map();
for (const [plain, , code, keyCode] of SIGNS) BY_NAME.set(code.toLowerCase(), { key: plain, code, keyCode, text: plain });
for (const stroke of [...NAMED, ...MODIFIERS]) BY_NAME.set(stroke.key.toLowerCase(), stroke);
for (const [code, key, keyCode] of NUMPAD) BY_NAME.set(code.toLowerCase(), { key, code, keyCode, location: 3, text: key === 'Enter' ? '\r' : key });

/** The key that enters a sign. @param {string} sign @returns {SignStroke | undefined} undefined: this keyboard has none */
export function keyOfSign(sign) {
  if (sign === '\n') return { ...strokeNamed('Enter'), isShifted: false };
  return BY_SIGN.get(sign);
}

/** @param {string} name @returns {KeyStroke} of a key that is in the table */
export function strokeNamed(name) {
  return /** @type {KeyStroke} */ (BY_NAME.get(name.toLowerCase()));
}

/** @param {string} name @returns {KeyStroke | undefined} */
function strokeOf(name) {
  const bySign = BY_SIGN.get(name);
  if (bySign) {
    const { isShifted: _, ...stroke } = bySign;
    return stroke;
  }
  const alias = Object.hasOwn(ALIASES, name.toLowerCase()) ? ALIASES[name.toLowerCase()] : undefined;
  if (alias !== undefined) return strokeOf(alias);
  // Another sign than those of the table, such as of another script: it has no place on this keyboard.
  return BY_NAME.get(name.toLowerCase()) ?? (Array.from(name).length === 1 && !/\p{C}/u.test(name) ? { key: name, code: '', keyCode: 0, text: name } : undefined);
}

/**
 * @param {unknown} chord such as `a`, `Enter`, `Control+Shift+ArrowLeft` or `ControlOrMeta+c` @param {boolean} isMac
 * @returns {KeyChord} @throws {ActionError} it is none
 */
export function parseChord(chord, isMac) {
  if (typeof chord !== 'string' || chord === '' || chord.length > 100) throw unknownKey(String(chord).slice(0, 100));
  // The plus itself is a key, too.
  const [, held, name] = /^((?:[^+]+\+)*)(\+|[^+]+)$/.exec(chord) ?? [];
  if (name === undefined) throw unknownKey(chord);
  const modifiers = held.split('+').slice(0, -1).map((part) => modifierOf(part.trim(), isMac));
  if (modifiers.includes(undefined)) throw unknownKey(chord);
  const stroke = strokeOf(name === ' ' ? name : name.trim() === 'ControlOrMeta' ? (isMac ? 'Meta' : 'Control') : name.trim());
  if (!stroke) throw unknownKey(chord);
  const unique = /** @type {ModifierKey[]} */ ([...new Set(modifiers)]);
  return { modifiers: unique, stroke: underModifiers(stroke, unique) };
}

/** @param {string} name @param {boolean} isMac @returns {ModifierKey | undefined} */
function modifierOf(name, isMac) {
  if (name.toLowerCase() === 'controlormeta') return isMac ? 'Meta' : 'Control';
  const key = strokeOf(name)?.key;
  return key !== undefined && Object.hasOwn(MODIFIER_BITS, key) ? /** @type {ModifierKey} */ (key) : undefined;
}

/** A key enters another sign with Shift, and none with the others. @param {KeyStroke} stroke @param {ModifierKey[]} modifiers @returns {KeyStroke} */
function underModifiers(stroke, modifiers) {
  const shifted = modifiers.includes('Shift') && stroke.location !== 3 ? SHIFTED.get(stroke.code) : undefined;
  const { text, ...rest } = shifted === undefined ? stroke : { ...stroke, key: shifted, text: shifted };
  const isCommand = modifiers.some((modifier) => modifier !== 'Shift');
  return text === undefined || isCommand ? rest : { ...rest, text };
}

/** Whether a key does no more than enter a sign, wherever that is taken: Enter and the space bar also click. @param {KeyChord} chord */
export function entersText({ stroke: { text = '' } }) {
  return text.trim() !== '';
}

/** @param {string} chord */
function unknownKey(chord) {
  return new ActionError('invalid_params', `${JSON.stringify(chord)} is no key`, undefined, {
    hint: 'Keys are named as KeyboardEvent.key names them: Enter, Tab, Escape, ArrowDown, F5, a; chords are Control+a, Shift+Tab, ControlOrMeta+c. Text is entered with type.',
  });
}

/** Editing commands that belong to chords: a tab in the background runs them only if they are sent along. @type {Record<string, string>} */
const COMMANDS = { 'a': 'selectAll', 'z': 'undo', 'y': 'redo' };

/** @param {KeyChord} chord @param {boolean} isMac @returns {string[]} as the protocol has them */
export function editingCommands({ modifiers, stroke }, isMac) {
  const platform = isMac ? 'Meta' : 'Control';
  const isPlain = modifiers.length === 1 && modifiers[0] === platform;
  const isShifted = modifiers.length === 2 && modifiers.includes(platform) && modifiers.includes('Shift');
  const key = stroke.key.toLowerCase();
  if (isShifted && key === 'z') return ['redo'];
  return isPlain && Object.hasOwn(COMMANDS, key) ? [COMMANDS[key]] : [];
}

/**
 * Chords by which a browser reads or writes the person's clipboard. They are never sent to it.
 * @param {KeyChord} chord @returns {'copy' | 'cut' | 'paste' | undefined}
 */
export function clipboardChord({ modifiers, stroke }) {
  const isCommand = modifiers.includes('Control') || modifiers.includes('Meta');
  if (isCommand && stroke.code === 'Insert') return 'copy';
  if (modifiers.includes('Shift') && stroke.code === 'Insert') return 'paste';
  if (modifiers.length === 1 && modifiers[0] === 'Shift' && stroke.code === 'Delete') return 'cut';
  if (!isCommand) return undefined;
  if (stroke.code === 'KeyV') return 'paste';
  if (modifiers.length > 1) return undefined;
  return stroke.code === 'KeyC' ? 'copy' : stroke.code === 'KeyX' ? 'cut' : undefined;
}
