// @ts-check
// Text into a field, an editor, or an element that only listens to keys.

/** @import {ReadyTarget, WantedTarget} from '../browser/targets.js' */
/** @import {InputEventCommand, InputSession} from './session.js' */

import { askFrames } from '../browser/page_world.js';
import { elementRefs } from '../browser/state.js';
import { labelOf } from '../browser/targets.js';
import { ActionError, navigationInterrupted } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import { fieldValue, formOfValue } from './field_value.js';
import { chordEvents, insertion, isMac, signEvents, signsOf, textEvents } from './keyboard.js';
import { parseChord } from './key_table.js';
import { FOCUS_MS, KEYS_AT_ONCE, KEY_PAUSE_MS, MOVE_MS } from './limits.js';
import { enterWithScript, onlyDebugger } from './scripted.js';

/**
 * @typedef {object} EnteredText
 * @property {string} label of the field, which may be one within the target
 * @property {ReadyTarget} [field] whose value is still to be compared with what was typed
 * @property {string} typed
 * @property {boolean} isAll nothing else is to be in the field
 * @property {string} [value] of the field as it is now, if it is not what was entered
 */

/**
 * @param {InputSession} input @param {ReadyTarget} target @param {string} text
 * @param {{clear?: boolean, slowly?: boolean, isLast?: boolean, wanted?: WantedTarget}} [how] `wanted`: the target was found
 * by it; else it is the element that has the focus. `isLast`: nothing of the act follows
 * @returns {Promise<EnteredText>}
 */
export async function enterText(input, target, text, { clear = false, slowly = false, isLast = false, wanted } = {}) {
  const { entry, field } = await readyForText(input, target, clear, wanted);
  if (entry.kind === 'value') return { typed: text, isAll: true, ...await setFieldValue(input, field, entry.type ?? '', text), label: field.label };
  if (input.scripted && entry.kind === 'keys') throw onlyDebugger(input, `${field.label} is no field, and takes keys only`);
  if (input.scripted) return enterWithScript(input, field, text, { clear, slowly, isEdited: entry.isEdited === true, isPaced: entry.isPaced === true, keepsFocus: entry.keepsFocus === true });
  const before = preparation(entry, clear && text === '');
  if (slowly || entry.isPaced || entry.kind === 'keys') {
    // The key for the end of a line may send the form.
    if (/[\r\n]/.test(text)) await input.admitPress(target);
    await input.send(...before);
    await pressEach(input, field, signsOf(text), { isPaced: slowly, isMovedOn: entry.isPaced === true });
  } else if (entry.isEdited && /[\r\n]/.test(text)) {
    await input.send(...before);
    await pasteLines(input, field, text);
  } else {
    const events = [...before, ...textEvents(text)];
    // The last key of a text sends nothing off.
    await (isLast ? input.conclude(target, [{ id: field.id, typed: text, isAll: clear }], ...events) : input.send(...events));
  }
  return { label: field.label, typed: text, isAll: clear, ...(entry.kind === 'text' && !entry.isPaced && { field }) };
}

/**
 * Texts whose fields can be read together with the consequences of an act on one of their document.
 * @param {EnteredText[]} entered @param {ReadyTarget} target @returns {TextEntryCheck[] | undefined} undefined: a field is elsewhere, or was read already
 */
export function entriesBeside(entered, { document }) {
  const entries = entered.flatMap(({ field, typed, isAll }) => (field?.document.documentId === document.documentId ? [{ id: field.id, typed, isAll }] : []));
  return entries.length === entered.length ? entries : undefined;
}

/**
 * Gives the focus to the target, and readies it for text.
 * @param {InputSession} input @param {ReadyTarget} target @param {boolean} clear @param {WantedTarget | undefined} wanted
 * @param {boolean} [isAgain] @returns {Promise<{entry: TextEntry, field: ReadyTarget}>}
 */
export async function readyForText(input, target, clear, wanted, isAgain = false) {
  await input.ready(target);
  const { found: entry, count } = target.entry?.found ? target.entry : await input.ask(target, 'enter', { clear, isFocused: wanted === undefined, keepsFocus: await input.isPersonHere() });
  if (entry.refused === 'focus' && !isAgain && wanted && 'query' in wanted) {
    // A page may put another field in the place of one that gets the focus.
    return readyForText(input, await input.findParsed(wanted, { kind: 'choose' }), clear, wanted, true);
  }
  if (entry.refused === 'person') throw onlyDebugger(input, `no text is entered into ${target.label}: ${entry.why}`);
  if (entry.refused) throw refusedEntry(entry, target.label);
  const ref = elementRefs.names(target.tabId, target.document.documentId, count)(entry.id);
  const field = entry.id === target.id ? target : { ...target, id: entry.id, ref, label: labelOf({ ...entry, ref }) };
  // In a frame of its own process the focus comes later.
  if (target.document.frameId !== 0 && entry.kind !== 'value' && !input.scripted) await focusArrives(input, field);
  return { entry, field };
}

/** @param {InputSession} input @param {ReadyTarget} field */
async function focusArrives(input, field) {
  const end = performance.now() + FOCUS_MS;
  for (;;) {
    const { document, label } = await input.focused();
    if (document.documentId === field.document.documentId) return;
    if (performance.now() >= end) throw refusedEntry({ refused: 'focus', why: `the page gives the focus to ${label}` }, field.label);
    await pause(KEY_PAUSE_MS, input.signal);
  }
}

/**
 * Editors of the web lose lines that are inserted at once, and send what is entered by Enter: a paste is what all of
 * them take. @param {InputSession} input @param {ReadyTarget} field @param {string} text
 */
async function pasteLines(input, field, text) {
  const { found } = await input.ask(field, 'paste', { data: { 'text/plain': text } });
  if (!found.isTaken) await input.send(insertion(text));
}

/** @param {{refused: string, why: string}} entry @param {string} label */
function refusedEntry({ refused, why }, label) {
  const hint = refused === 'focus' ? 'Click it first, then call again without target: the text goes to the element that has the focus.' : undefined;
  return new ActionError('not_editable', `${label} is not editable: ${why}`, undefined, hint === undefined ? {} : { hint });
}

/** @param {{selectsAll?: boolean, movesToEnd?: boolean}} entry @param {boolean} deletes @returns {InputEventCommand[]} */
function preparation({ selectsAll = false, movesToEnd = false }, deletes) {
  const end = isMac ? 'Meta+ArrowDown' : 'Control+End';
  const chords = [...(selectsAll ? ['ControlOrMeta+a'] : []), ...(movesToEnd ? [end] : []), ...(deletes ? ['Backspace'] : [])];
  return chords.flatMap((chord) => chordEvents(parseChord(chord, isMac)));
}

/**
 * @param {InputSession} input @param {ReadyTarget} target @param {string[]} signs
 * @param {{isPaced?: boolean, isMovedOn?: boolean}} how `isPaced`: the page gets the time to follow each key; `isMovedOn`:
 *   it moves the focus after each
 */
async function pressEach(input, target, signs, { isPaced = false, isMovedOn = false }) {
  const atOnce = isPaced || isMovedOn ? 1 : KEYS_AT_ONCE;
  for (let at = 0; at < signs.length; at += atOnce) {
    // Keys follow the focus, also into a frame that agents may not use: that is refused here.
    const { ref, page } = at > 0 || atOnce === 1 ? await input.focused() : target;
    // The rest of a text is for the page that it was begun in.
    if (page.documentId !== target.page.documentId) throw navigationInterrupted();
    await input.ready(target);
    await input.send(...signs.slice(at, at + atOnce).flatMap(signEvents));
    if (at + atOnce >= signs.length) return;
    if (atOnce > 1) continue;
    await pause(KEY_PAUSE_MS, input.signal);
    // Pages in the background have their timers once a second.
    const end = performance.now() + MOVE_MS;
    while (isMovedOn && performance.now() < end && (await input.focused()).ref === ref) await pause(KEY_PAUSE_MS, input.signal);
  }
}

/**
 * The values of fields as they are now, where they are not what was typed into them.
 * @param {EnteredText[]} entered @returns {Promise<(string | undefined)[]>}
 */
export async function differingValues(entered) {
  const values = entered.map(({ value }) => value);
  const documents = new Map(entered.flatMap(({ field }) => (field ? [[field.document.documentId, field]] : [])));
  await Promise.all(Array.from(documents.values(), async ({ tabId, document }) => {
    const own = [...entered.keys()].filter((at) => entered[at].field?.document.documentId === document.documentId);
    const entries = own.map((at) => ({ id: entered[at].field?.id, typed: entered[at].typed, isAll: entered[at].isAll }));
    // A document that is gone has no values: the answer tells of the navigation.
    const [answer] = await askFrames(tabId, [document], 'entered', { entries });
    for (const [place, at] of answer ? own.entries() : []) values[at] = answer.value[place].value;
  }));
  return values;
}

/**
 * Sets a date, a colour or the like.
 * @param {InputSession} input @param {ReadyTarget} field @param {string} type @param {string} text @returns {Promise<{value?: string}>}
 */
export async function setFieldValue(input, field, type, text) {
  const value = fieldValue(type, text);
  if (value === undefined) throw notAValue(field, type, text);
  await input.ready(field);
  const { found } = await input.ask(field, 'setValue', { value, keepsFocus: await input.isPersonHere() });
  if (found.isRefused) throw notAValue(field, type, text);
  return found;
}

/** @param {ReadyTarget} field @param {string} type @param {string} text */
function notAValue({ label }, type, text) {
  return new ActionError('invalid_params', `${label} does not take ${JSON.stringify(text.slice(0, 100))}`, undefined, { hint: `Give ${formOfValue(type)}.` });
}

