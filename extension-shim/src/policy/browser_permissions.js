// @ts-check
// Optional permissions of the extension that an act needs. The browser asks the person for one in answer to a click alone,
// and keeps their word, so the act waits like one that lacks a word of theirs.

/** @import {CommandBody} from '../../types/protocol.js' */

import { ConsentNeeded } from '../lib/consent.js';
import { setsPermissions } from './acts.js';
import { isWebPage } from './own_words.js';
import { stepsIn } from './step_pages.js';

/** @typedef {Pick<CommandBody, 'type' | 'params'>} NamedAct a command or a step of one */

/** @param {NamedAct} command @returns {chrome.runtime.ManifestOptionalPermission | null} that it, or a step of it, needs */
export function neededPermission({ type, params }) {
  const isSetting = setsPermissions(type, params) || type === 'batch' && stepsIn(params).some((step) => setsPermissions(step?.action, step));
  return isSetting ? 'contentSettings' : null;
}

/**
 * @param {CommandBody} command which throws `ConsentNeeded` if the browser has not given it to the extension
 * @param {string} url of the page in its tab: on a page of no site the act is refused whatever the person says
 */
export async function askForPermission(command, url) {
  const name = neededPermission(command);
  const canBeDone = command.type === 'batch' || isWebPage(url);
  if (name === null || !canBeDone || await isGranted(name)) return;
  throw new ConsentNeeded({ kind: 'permission', site: name });
}

/** @param {string} name @returns {Promise<boolean>} */
export function isGranted(name) {
  return chrome.permissions.contains({ permissions: [/** @type {chrome.runtime.ManifestOptionalPermission} */ (name)] });
}
