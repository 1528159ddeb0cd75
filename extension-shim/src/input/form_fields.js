// @ts-check
// The fields of forms that are not text: lists, boxes, radio buttons; and any field by the kind that it is.

/** @import {LandedAct, ReadyTarget, WantedTarget} from '../browser/targets.js' */
/** @import {ClickManner} from './pointer.js' */
/** @import {InputSession} from './session.js' */
/** @import {EnteredText} from './text_entry.js' */

import { elementRefs } from '../browser/state.js';
import { parseTarget } from '../browser/target_query.js';
import { change } from '../browser/targets.js';
import { ActionError } from '../lib/errors.js';
import { CHECKED_MS, OPTIONS_MS } from './limits.js';
import { clickTarget } from './pointer.js';
import { withEffect } from './scripted.js';
import { enterText, setFieldValue } from './text_entry.js';

/**
 * @typedef {object} FilledField
 * @property {ReadyTarget} target
 * @property {string} [value] as it is now, if it is not what was asked for
 * @property {EnteredText} [entered] whose value is still to be compared
 */

/** @type {ClickManner} */
const PLAIN_CLICK = { button: 'left', count: 1, modifiers: 0, holdMs: 0 };

/**
 * Ticks a box, or clears it, by a click on it or on its label.
 * @param {InputSession} input @param {WantedTarget} wanted @param {boolean} isTicked
 * @returns {Promise<{target: ReadyTarget, isUnchanged: boolean, how: {input?: string}, after?: LandedAct}>} how: for the answer; after: as of `ActResult`
 */
export async function setChecked(input, wanted, isTicked) {
  const target = await input.findParsed(wanted, { kind: 'click' });
  if (target.checked === undefined) throw wrongKind(target, 'is no check box, radio button or switch', 'Use click, or give the box itself.');
  if (target.checked === String(isTicked)) return { target, isUnchanged: true, how: {} };
  if (!isTicked && target.field?.isGroup) throw wrongKind(target, 'is a radio button, which is cleared only by another one', 'Tick another one of its group with check.');
  const { target: _, ...how } = await clickTarget(input, target, PLAIN_CLICK, { isProven: true });
  const end = performance.now() + CHECKED_MS;
  const after = await input.landed(target);
  if (after.isGone || !after.isThere || after.checked === undefined || after.checked === String(isTicked)) return { target, isUnchanged: false, how, after };
  for (;;) {
    await change(input, [target.document], end);
    const checked = await checkedNow(input, target);
    if (checked === null || checked === String(isTicked)) return { target, isUnchanged: false, how };
    if (performance.now() >= end) throw notTaken(target, checked, isTicked);
  }
}

/** @param {InputSession} input @param {ReadyTarget} target @returns {Promise<string | null>} null: the click has led to another page, or another box is in its place */
async function checkedNow(input, target) {
  try {
    return (await input.ask(target, 'checked')).found.checked;
  } catch (error) {
    if (error instanceof ActionError && ['stale_ref', 'navigation_interrupted'].includes(error.code)) return null;
    throw error;
  }
}

/** @param {ReadyTarget} target @param {string} checked @param {boolean} isTicked */
function notTaken({ label }, checked, isTicked) {
  const state = checked === 'mixed' ? 'neither ticked nor clear' : checked === 'true' ? 'still ticked' : 'still clear';
  return new ActionError('not_editable', `${label} was clicked, and is ${state}`, undefined, {
    hint: `The page may ask for something else first, or ${isTicked ? 'tick' : 'clear'} it later: take a snapshot.`,
  });
}

/** @param {ReadyTarget} target @param {string} why @param {string} hint */
function wrongKind({ label }, why, hint) {
  return new ActionError('wrong_kind', `${label} ${why}`, undefined, { hint });
}

/**
 * Chooses options of a list, waited for if they are not there yet.
 * @param {InputSession} input @param {ReadyTarget} target @param {string[]} values
 * @returns {Promise<{chosen: string[], value?: string}>}
 */
export async function chooseOptions(input, target, values) {
  const end = performance.now() + OPTIONS_MS;
  for (let { choice } = target; ; choice = undefined) {
    await input.ready(target);
    const { found } = choice?.found ? choice : await input.ask(target, 'choose', { values, keepsFocus: await input.isPersonHere() });
    if (!found.refused) return found;
    const isPassing = found.refused === 'missing' || found.refused === 'disabled';
    if (!isPassing || performance.now() >= end) throw refusedChoice(target, found);
    await change(input, [target.document], end);
  }
}

/** @param {ReadyTarget} target @param {{refused: string, which: string, options?: string[]}} found */
function refusedChoice(target, { refused, which, options = [] }) {
  const { label } = target;
  switch (refused) {
    case 'missing': return new ActionError('option_not_found', `${label} has no option ${JSON.stringify(which)}; it has ${options.length > 0 ? options.join(', ') : 'none'}`);
    case 'disabled': return new ActionError('disabled', `option ${JSON.stringify(which)} of ${label} is disabled`);
    case 'several': return new ActionError('invalid_params', `${label} takes one value`, undefined, { hint: 'Give one of them.' });
    default: return wrongKind(target, 'is no list of the browser', 'Click it to open it, then click the option.');
  }
}

/**
 * Gives a field its value, by the kind of field that it is.
 * @param {InputSession} input @param {unknown} wanted @param {unknown} value @returns {Promise<FilledField>}
 */
export async function fillField(input, wanted, value) {
  const parsed = parseTarget(wanted);
  const target = await input.findField(parsed, true, optionsOf(value));
  const { kind, type = '', isGroup = false } = target.field ?? {};
  switch (kind) {
    case 'check': return fillBox(input, parsed, target, isGroup, value);
    case 'list': return { target, value: (await chooseOptions(input, target, listOf(value))).value };
    case 'value': return { target, value: (await setFieldValue(input, target, type, textOf(value))).value };
    case 'file': throw wrongKind(target, 'takes files', 'Use upload_file.');
    default: return { target, entered: await enterText(input, target, textOf(value), { clear: true, wanted: parsed }) };
  }
}

/** @param {InputSession} input @param {WantedTarget} parsed @param {ReadyTarget} target @param {boolean} isGroup @param {unknown} value @returns {Promise<FilledField>} */
async function fillBox(input, parsed, target, isGroup, value) {
  const isTicked = tickOf(value);
  if (isTicked !== undefined) return setChecked(input, parsed, isTicked);
  if (!isGroup || typeof value !== 'string') throw new ActionError('invalid_params', `${target.label} is ticked or clear`, undefined, { hint: 'Give true or false as its value.' });
  const { found, count } = await input.ask(target, 'radioOf', { value });
  if (found.id === undefined) throw refusedChoice(target, { refused: 'missing', which: value, options: found.options });
  return setChecked(input, { ref: elementRefs.names(target.tabId, target.document.documentId, count)(found.id) }, true);
}

/** @param {unknown} value @returns {boolean | undefined} */
function tickOf(value) {
  if (typeof value === 'boolean') return value;
  return value === 'true' ? true : value === 'false' ? false : undefined;
}

/** @param {unknown} value @returns {string[] | undefined} the options that it names, if it can name any */
function optionsOf(value) {
  const all = Array.isArray(value) ? value : [value];
  return all.every((one) => typeof one === 'string' || typeof one === 'number') ? all.map(String) : undefined;
}

/** @param {unknown} value */
function textOf(value) {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new ActionError('invalid_params', 'a value must be a text, a number, true or false');
}

/** @param {unknown} value */
function listOf(value) {
  return Array.isArray(value) ? value.map(textOf) : [textOf(value)];
}

/**
 * Submits the form of a field: by its button, or as the enter key does where it has none.
 * @param {InputSession} input @param {ReadyTarget} field
 */
export async function submitForm(input, field) {
  await input.ready(await input.admitPress(field));
  const { found, count } = await input.ask(field, 'submitter');
  if (!found.isForm) throw wrongKind(field, 'is in no form', 'Click the button that sends it.');
  if (found.button === undefined) {
    const submit = () => input.ask(field, 'submit');
    return void await (input.scripted ? withEffect(input, field, 'had its form submitted by a script', submit) : submit());
  }
  const ref = elementRefs.names(field.tabId, field.document.documentId, count)(found.button);
  await clickTarget(input, await input.findParsed({ ref }, { kind: 'click' }), PLAIN_CLICK);
}
