// @ts-check
// Stops all commands of all agents, after the person has said so twice.

import { act } from './feed.js';
import { byId, say } from './parts.js';

/** @import {CommandStore} from './commands.js' */

const SAID_MS = 15_000;

/** @param {string} token */
export function offerStop(token) {
  const [button, dialog, yes] = [byId('stop-all'), byId('stopping'), byId('stopping-yes')];
  button.addEventListener('click', () => dialog.showModal());
  yes.addEventListener('click', async () => {
    dialog.close();
    // The stream shows the ends; the daemon alone knows how many there were.
    const told = await act('/dashboard/stop', token);
    const words = told ? `${told.stopped} ${told.stopped === 1 ? 'command' : 'commands'} stopped` : 'The daemon did not answer';
    say(byId('said'), words);
    setTimeout(() => say(byId('said'), ''), SAID_MS);
  });
}

/** @param {CommandStore} store */
export function drawStop(store) {
  byId('stop-all').disabled = store.open.size === 0;
}
