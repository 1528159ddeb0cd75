// @ts-check
// The way in which a command works in a tab: by the debugger, or by scripts, where a frame of another extension keeps it out
// and is not set aside, since it comes back each time, or the person has it otherwise. The way is chosen before a command
// begins, and kept to its end: a command that was cut off is never repeated by script.

import { ForeignFrameError } from '../lib/errors.js';
import { fileIn } from '../policy/sites.js';
import { attach, whyKeptOut } from './debugger.js';

/** @typedef {{whose: string, why: string}} ScriptedWay whose frame keeps the debugger out, and why it is there still */

/**
 * Attaches the debugger, if it may be there. @param {{id: number, url?: string}} tab @param {boolean} hasScripts the action can do without
 * @returns {Promise<ScriptedWay | null>} null: by the debugger
 */
export async function chosenWay({ id, url = '' }, hasScripts) {
  try {
    await attach(id);
    return null;
  } catch (error) {
    // A page from a folder can show further files, which only the debugger lists.
    if (!hasScripts || !(error instanceof ForeignFrameError) || error.more.mayHaveRun || fileIn(url) !== null) throw error;
    return { whose: error.whose, why: error.why };
  }
}

/**
 * For the answer of a command that reads by scripts in all tabs: whether nothing but scripts works in this one.
 * @param {number} tabId @returns {Promise<ReturnType<typeof toldWay> | null>}
 */
export async function readingNotes(tabId) {
  const way = await whyKeptOut(tabId).catch(() => null);
  return way && toldWay(way);
}

/** For the answer. @param {ScriptedWay} way */
export function toldWay({ whose, why }) {
  return { input: /** @type {const} */ ('scripted'), input_why: `a frame of ${whose} keeps the debugger out${why ? `: ${why}` : ''}` };
}

/** @param {ScriptedWay} way @param {string} what is not done without the debugger @param {boolean} mayHaveRun */
export function needsDebugger({ whose, why }, what, mayHaveRun) {
  return new ForeignFrameError(whose, { why: [why, what].filter(Boolean).join('; '), mayHaveRun });
}
