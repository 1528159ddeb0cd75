// @ts-check
// Presses keys, one after the other, in the element that has the focus.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { pressClipboardChord } from '../input/clipboard.js';
import { clipboardChord, entersText, parseChord } from '../input/key_table.js';
import { chordEvents, isMac } from '../input/keyboard.js';
import { withInput } from '../input/session.js';
import { clip } from '../lib/clip.js';
import { ActionError } from '../lib/errors.js';
import { KEYS_MAX, VALUE_TOLD } from './limits.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function press_key({ key, keys = [], target, snapshot }, context) {
  const given = [...(key === undefined ? [] : Array.isArray(key) ? key : [key]), ...(Array.isArray(keys) ? keys : [keys])];
  if (given.length === 0 || given.length > KEYS_MAX) throw new ActionError('invalid_params', `give key, or 1 to ${KEYS_MAX} keys`);
  const chords = given.map((one) => parseChord(one, isMac));
  return withInput(context, { snapshot }, async (input) => {
    if (target !== undefined) {
      const field = await input.find(target, { kind: 'choose' });
      if (!await input.focus(field)) throw new ActionError('not_editable', `${field.label} does not take the focus`, undefined, { hint: 'Click it first, then press the key without target.' });
    }
    const first = await input.focused();
    for (const [at, chord] of chords.entries()) {
      // A key may move the focus on, also into a frame that agents may not use.
      const field = at > 0 ? await input.focused() : first;
      const operation = clipboardChord(chord);
      if (operation) {
        await pressClipboardChord(input, field, chord, operation);
        continue;
      }
      if (chord.modifiers.includes('Alt')) await input.admitAccessKeys(field);
      await input.ready(field);
      if (at === chords.length - 1 && entersText(chord)) await input.conclude(field, [], ...chordEvents(chord));
      else await input.send(...chordEvents(chord));
    }
    const isText = chords.every(entersText);
    return {
      // The agent knows the keys that it named, and the text that they enter.
      target: first, value: { pressed_on: first.label },
      tell: ({ events, value, checked }) => ({ ...(Boolean(events.input) !== isText && value !== undefined && { value: clip(value, VALUE_TOLD) }), ...(events.change && checked !== undefined && { checked }) }),
    };
  });
}
