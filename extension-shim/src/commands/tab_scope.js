// @ts-check
// Which tabs a command may see and use: those that its frame names and those that it opens itself, or every tab. One that
// is outside answers as one that is not open.

/** @import {CommandBody} from '../../types/protocol.js' */

import { ActionError, noSuchTab } from '../lib/errors.js';

/** Actions that concern the browser as a whole. */
const BROWSER_WIDE = new Set(['tab_list', 'tab_open', 'downloads']);

/** @param {Pick<CommandBody, 'tabs'>} command @param {number} tabId @returns {boolean} */
export function isInside({ tabs }, tabId) {
  return tabs === undefined || tabs.includes(tabId);
}

/** @param {Pick<CommandBody, 'tabs'>} command @returns {boolean} whether it sees less than every tab */
export function isBounded({ tabs }) {
  return tabs !== undefined;
}

/** @param {CommandBody} command @param {number | undefined} tabId of it, or its id now @throws {ActionError} it may not be used */
export function assertInside(command, tabId = command.tab_id) {
  const { tabs, type, tab_id: named } = command;
  if (tabs === undefined || (tabId === undefined && BROWSER_WIDE.has(type))) return;
  // Without a tab it would be the one that the person sees.
  if (tabId === undefined || named === undefined) throw noSuchTab('the command names no tab');
  // A tab has another id once the browser has unloaded its page.
  if (!isInside(command, tabId) && !isInside(command, named)) throw noSuchTab(`tab ${named} is not open`);
}

/** @param {CommandBody} command that opened it @param {number} tabId */
export function noteOpened({ tabs }, tabId) {
  // The same list in the command and in all of its steps.
  if (tabs && !tabs.includes(tabId)) tabs.push(tabId);
}

/** @param {CommandBody} command @param {unknown} error of it @param {(tabId: number) => boolean} [sees] @returns {unknown} the same, without a word about a tab that is outside */
export function withoutOutside(command, error, sees = (tabId) => isInside(command, tabId)) {
  if (!(error instanceof ActionError)) return error;
  const { about, ...more } = error.more;
  if (about === undefined || sees(about.tabId)) return error;
  return new ActionError(error.code, about.message, error.pageStack, { ...more, ...(about.hint && { hint: about.hint }) });
}
