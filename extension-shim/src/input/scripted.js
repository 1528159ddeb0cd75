// @ts-check
// Acts without the debugger, by scripts of the isolated world. Pages can tell them from a person's, so it is looked at
// whether they have had an effect.

/** @import {ReadyTarget} from '../browser/targets.js' */
/** @import {ClickManner} from './pointer.js' */
/** @import {InputSession} from './session.js' */
/** @import {EnteredText} from './text_entry.js' */

import { askDocument, askFrames, documentsOf } from '../browser/page_world.js';
import { needsDebugger } from '../browser/scripted_way.js';
import { change } from '../browser/targets.js';
import { ActionError } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import { signsOf } from './keyboard.js';
import { APPROACHES, EFFECT_MS, KEY_PAUSE_MS } from './limits.js';

/** @param {InputSession} input @param {string} what is not done @param {boolean} [mayHaveRun] @returns {ActionError} */
export function onlyDebugger(input, what, mayHaveRun = input.hasActed) {
  return needsDebugger(input.scripted ?? { whose: 'another extension', why: '' }, what, mayHaveRun);
}

/**
 * Clicks a target by events of a script, once more looked at in the same moment: as a press of the pointer, it comes to nothing
 * that is covered or disabled by then. @param {InputSession} input @param {ReadyTarget} found @param {ClickManner} manner
 * @param {{isFixed?: boolean, isProven?: boolean}} so `isProven`: the caller looks at the effect itself @returns {Promise<{target: ReadyTarget}>}
 */
export async function clickWithScript(input, found, { button, count, modifiers, holdMs }, { isFixed = false, isProven = false }) {
  if (holdMs > 0) throw onlyDebugger(input, 'a button is held by the debugger only');
  let target = found;
  const click = async () => {
    for (let tries = 1; ; tries += 1) {
      await input.ready(target);
      const { id, inner: point } = target;
      const asked = { id, point, button, count, modifiers, isStrict: true, keepsChooser: true, keepsFocus: await input.isPersonHere() };
      const { hasActed } = input;
      const { found: { refused, why = '', isUntouched = false, isUnpressed = false } = {} } = await input.ask(target, 'clickByScript', asked);
      if (refused === undefined) return;
      const mayHaveRun = hasActed || !isUntouched;
      if (refused === 'file') throw onlyDebugger(input, `${target.label} opens a chooser of files, which the debugger alone keeps from the person`, mayHaveRun);
      // A press may have done what the page wants to be done once.
      if (isFixed || !isUnpressed || tries >= APPROACHES) throw new ActionError(refused, `${target.label} ${refused === 'disabled' ? 'is disabled' : `cannot be reached: ${why}`}`, undefined, { mayHaveRun });
      target = await input.findParsed(target.wanted ?? { ref: target.ref }, { kind: 'click', part: tries });
    }
  };
  if (isProven) await click();
  else await withEffect(input, target, 'was clicked by a script', click);
  return { target };
}

/**
 * Does something that must leave a trace: in the document of the target, or in the page, its frames and address, in a tab or a download.
 * Pages can tell scripts from persons, and do nothing then. @param {InputSession} input @param {ReadyTarget} target
 * @param {string} done in words @param {() => Promise<unknown>} act
 */
export async function withEffect(input, target, done, act) {
  const before = await tracesOf(input, target);
  await act();
  const end = performance.now() + EFFECT_MS;
  while (!input.hasBegun && await tracesOf(input, target) === before) {
    if (performance.now() < end) await change(input, [target.document], end);
    else {
      throw onlyDebugger(input, `${target.label} ${done}, and nothing that was looked at has changed within ${EFFECT_MS} ms: the document, its focus and scroll position, `
        + 'the state of the element, address, frames, tabs and downloads; the page may take a person\'s input only');
    }
  }
}

/** @param {InputSession} input @param {ReadyTarget} target @returns {Promise<string>} empty: the page is another one, or on its way */
async function tracesOf({ tabId }, { page, document, id }) {
  try {
    const { seen } = await documentsOf(tabId);
    const isInFrame = document.documentId !== page.documentId;
    const [own, around] = await Promise.all([askDocument(tabId, document, 'traces', { id }), isInFrame ? askFrames(tabId, [page], 'traces', {}) : []]);
    return JSON.stringify([seen.map(({ documentId, url }) => [documentId, url]), own, around.map(({ value }) => value)]);
  } catch (error) {
    // Whether agents may use the page that has come is asked afterwards.
    if (error instanceof ActionError) return '';
    throw error;
  }
}

/**
 * Enters text into a field that is readied for it.
 * @param {InputSession} input @param {ReadyTarget} field @param {string} text
 * @param {{clear: boolean, slowly: boolean, isEdited: boolean, isPaced: boolean, keepsFocus: boolean}} how @returns {Promise<EnteredText>}
 */
export async function enterWithScript(input, field, text, { clear, slowly, isEdited, isPaced, keepsFocus }) {
  const signs = signsOf(text);
  if (isPaced && signs.length > 1) throw onlyDebugger(input, `${field.label} takes one character, and the page moves on by keys: fill each field by itself`);
  const parts = slowly ? signs : [text];
  for (const [at, part] of (parts.length > 0 ? parts : ['']).entries()) {
    await input.ready(field);
    if (isEdited && /[\r\n]/.test(part) && (await input.ask(field, 'paste', { data: { 'text/plain': part } })).found.isTaken) continue;
    const { found: { refused } } = await input.ask(field, 'typeByScript', { text: part, clear, isFirst: at === 0, keepsFocus });
    if (refused === 'keys') throw onlyDebugger(input, `${field.label} takes text by keys only`);
    if (refused) throw onlyDebugger(input, `the page has moved the focus from ${field.label}`);
    if (slowly && at < parts.length - 1) await pause(KEY_PAUSE_MS, input.signal);
  }
  const end = performance.now() + EFFECT_MS;
  while (!(await input.ask(field, 'tookText', { typed: text, isAll: clear })).found) {
    if (performance.now() >= end) throw onlyDebugger(input, `a script gave ${field.label} its text, and its value has not become that within ${EFFECT_MS} ms`);
    await change(input, [field.document], end);
  }
  return { label: field.label, typed: text, isAll: clear, field };
}
