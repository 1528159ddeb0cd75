// @ts-check
// A click in the tab that a person has open in a window behind others. A press of the pointer there would bring that
// window to the front and take the keyboard from the person: so a key is pressed on what keys work on, which is a
// real click to the page, too, and everything else gets events made by script.

/** @import {ReadyTarget} from '../browser/targets.js' */
/** @import {ClickManner} from './pointer.js' */
/** @import {InputEventCommand, InputSession} from './session.js' */

import { askDocument } from '../browser/page_world.js';
import { ActionError } from '../lib/errors.js';

/** Keys that click an element that has the focus. @type {Record<string, 'Enter' | 'Space'>} */
const KEYS = { a: 'Enter', button: 'Space', summary: 'Space', checkbox: 'Space', radio: 'Space', submit: 'Space', reset: 'Space', image: 'Enter', color: 'Space' };
const TEXTS = new Set(['text', 'search', 'url', 'tel', 'email', 'password', 'number']);

/** @param {InputSession} input @param {ReadyTarget} target @param {ClickManner} manner @returns {Promise<{input?: string}>} */
export async function clickQuietly(input, target, manner) {
  const { button, count, modifiers, holdMs } = manner;
  if (holdMs > 0) throw wouldRaise('Holding the button');
  const kind = (target.tag === 'input' ? target.type : target.tag) ?? '';
  const isPlain = button === 'left' && count === 1 && modifiers === 0;
  const key = isPlain ? KEYS[kind] : undefined;
  const takesText = isPlain && (TEXTS.has(kind) || kind === 'textarea');
  if ((key || takesText) && await input.focus(target)) {
    if (key) await input.send(...keyEvents(key));
    return { input: key ? 'keys' : 'focus' };
  }
  await clickByScript(input, target, manner);
  return { input: 'scripted' };
}

/** @param {InputSession} input @param {ReadyTarget} target @param {ClickManner} manner */
export async function clickByScript(input, target, { button, count, modifiers }) {
  await input.ready(target);
  await input.byScript(() => askDocument(target.tabId, target.document, 'clickByScript', { id: target.id, point: target.inner, button, count, modifiers }));
}

/** @param {string} what is not done @returns {ActionError} */
export function wouldRaise(what) {
  return new ActionError('unsupported', `${what} in this tab would bring the person's window to the front: the tab is the one that they see in a window behind others`, undefined,
    { mayHaveRun: false, hint: 'Work in a tab of your own (tab_open), or bring this one to the front with tab_activate if the person wants that.' });
}

/** @param {'Enter' | 'Space'} key @returns {InputEventCommand[]} */
function keyEvents(key) {
  const [code, text, windowsVirtualKeyCode] = key === 'Enter' ? ['Enter', '\r', 13] : ['Space', ' ', 32];
  const event = { method: 'Input.dispatchKeyEvent', key: key === 'Enter' ? 'Enter' : ' ', code, windowsVirtualKeyCode };
  return [{ ...event, type: 'keyDown', text }, { ...event, type: 'keyUp' }];
}
