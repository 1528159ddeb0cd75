// @ts-check
// Types text into a field, an editor, or the element that has the focus.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { parseTarget } from '../browser/target_query.js';
import { checkedFlag } from '../commands/params.js';
import { parseChord } from '../input/key_table.js';
import { chordEvents, isMac } from '../input/keyboard.js';
import { withInput } from '../input/session.js';
import { differingValues, enterText } from '../input/text_entry.js';
import { ActionError } from '../lib/errors.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function type({ target, text, clear, submit, slowly, snapshot }, context) {
  if (typeof text !== 'string') throw new ActionError('invalid_params', 'text must be a text');
  const how = { clear: checkedFlag('clear', clear), slowly: checkedFlag('slowly', slowly) };
  const isSubmitted = checkedFlag('submit', submit);
  const wanted = target === undefined ? undefined : parseTarget(target);
  return withInput(context, { snapshot }, async (input) => {
    const field = wanted ? await input.findParsed(wanted, { kind: 'choose' }) : await input.focused();
    const entered = await enterText(input, field, text, { ...how, wanted });
    const [value] = await differingValues([entered]);
    if (isSubmitted) {
      await input.ready(field);
      await input.send(...chordEvents(parseChord('Enter', isMac)));
    }
    const isDiffering = value !== undefined;
    return { target: field, value: { typed: entered.label, ...(isDiffering && { value }) }, tell: ({ events: { input: last } }) => (isDiffering && last?.on ? { landed_on: last.on } : {}) };
  });
}
