// @ts-check
// Answers a dialog that a command in the same tab waits for.

/** @import {Context, HeldDialog, Outcome} from '../../types/protocol.js' */
/** @import {DialogAnswer} from '../browser/dialogs.js' */

import { answerHeld, heldDialog, noDialog } from '../browser/dialogs.js';
import { tabs } from '../browser/state.js';
import { checkedChoice } from '../commands/params.js';
import { ActionError } from '../lib/errors.js';
import { originOf } from '../policy/pages.js';
import { checkedPaths, giveToChosen } from './upload_file.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function dialog({ operation, ...given }, context) {
  const accept = checkedChoice('operation', operation, /** @type {const} */ (['accept', 'dismiss'])) === 'accept';
  const { id, url } = await tabs.target(context.tab_id);
  const open = heldDialog(id);
  if (!open) throw noDialog(id);
  const answer = accept ? answerTo(open, given, id, context) : {};
  context.begin();
  await answerHeld(id, { ...answer, accept });
  return { value: { [accept ? 'accepted' : 'dismissed']: open.type, message: open.message }, type: 'object', origin: originOf(url) };
}

/** @param {HeldDialog} open @param {Record<string, any>} given @param {number} tabId @param {Context} context @returns {Omit<DialogAnswer, 'accept'>} */
function answerTo({ type }, { text, username, password, paths }, tabId, context) {
  switch (type) {
    case 'authentication':
      if (typeof username !== 'string' || typeof password !== 'string') throw new ActionError('invalid_params', 'the server asks for username and password', undefined, { mayHaveRun: false });
      return { username, password };
    case 'file_chooser': {
      const files = checkedPaths(paths);
      return { attach: (chosen) => giveToChosen(tabId, chosen, files, context) };
    }
    default: return { ...(typeof text === 'string' && { text }) };
  }
}
