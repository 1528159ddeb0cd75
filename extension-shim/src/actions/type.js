// @ts-check
// Types text into a field, an editor, or the element that has the focus.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {LandedAct, ReadyTarget} from '../browser/targets.js' */
/** @import {InputSession} from '../input/session.js' */

import { askDocument } from '../browser/page_world.js';
import { parseTarget } from '../browser/target_query.js';
import { checkedFlag } from '../commands/params.js';
import { submitForm } from '../input/form_fields.js';
import { parseChord } from '../input/key_table.js';
import { chordEvents, isMac } from '../input/keyboard.js';
import { onlyDebugger } from '../input/scripted.js';
import { withInput } from '../input/session.js';
import { differingValues, enterText, entriesBeside } from '../input/text_entry.js';
import { ActionError } from '../lib/errors.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function type({ target, text, clear, submit, slowly, snapshot }, context) {
  if (typeof text !== 'string') throw new ActionError('invalid_params', 'text must be a text');
  const how = { clear: checkedFlag('clear', clear), slowly: checkedFlag('slowly', slowly) };
  const isSubmitted = checkedFlag('submit', submit);
  const wanted = target === undefined ? undefined : parseTarget(target);
  return withInput(context, { snapshot, hasScripts: true }, async (input) => {
    const field = wanted ? await input.findField(wanted, how.clear) : await input.focused();
    if (isSubmitted) await input.admitPress(field);
    if (isSubmitted && input.scripted) await assertForm(input, field);
    const entered = await enterText(input, field, text, { ...how, wanted, isLast: !isSubmitted });
    const entries = isSubmitted ? undefined : entriesBeside([entered], field);
    const [value] = entries ? [] : await differingValues([entered]);
    if (isSubmitted && input.scripted) await submitForm(input, field);
    else if (isSubmitted) {
      await input.ready(field);
      await input.send(...chordEvents(parseChord('Enter', isMac)));
    }
    return { target: field, entries, value: { typed: entered.label, ...(value !== undefined && { value }) }, tell: (after) => differing(after, value) };
  });
}

/** @param {LandedAct} after @param {string | undefined} known the value, if it is not what was typed and is told already @returns {{value?: string, landed_on?: string}} */
function differing({ events: { input: last }, entered: [now] = [] }, known) {
  const value = known ?? now?.value;
  return value === undefined ? {} : { value, ...(last?.on && { landed_on: last.on }) };
}

/** A script submits a form as Enter does, and nothing else. @param {InputSession} input @param {ReadyTarget} field */
async function assertForm(input, field) {
  const { found } = await askDocument(input.tabId, field.document, 'submitter', { id: field.id });
  if (found && !found.isForm) throw onlyDebugger(input, `${field.label} is in no form, and the Enter key is the debugger's`);
}
