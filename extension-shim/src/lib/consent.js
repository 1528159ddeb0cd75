// @ts-check
// The person's word on a command: whether it has the one that it needs. The daemon keeps the words and sends them with
// each command; it gets `hold` for a command that lacks one.

/** @import {CommandBody, ConsentKind, ConsentNeed} from '../../types/protocol.js' */

import { shortDigest } from './digest.js';
import { ActionError } from './errors.js';
import { permissionName } from './optional_permissions.js';

/** @type {Record<ConsentKind, string>} */
const PURPOSES = { act: 'act on', close: 'close a tab on', file: 'give files to', values: 'use cookies and stored values of', requests: 'answer or change requests of', settings: 'set permissions of', watch: 'record what you do on', permission: 'use the browser\'s permission', use: 'open, read and act on' };

/** What an agent needs the person's word for, as the end of “Agent x wants to …”. @param {Pick<ConsentNeed, 'kind' | 'site'>} need */
export function purposeOf({ kind, site }) {
  return `${PURPOSES[kind]} ${kind === 'permission' ? permissionName(site) : site}`;
}

/** The same as the agent is told it: a page may have sent its tab to a site of which it is not told. @param {Pick<ConsentNeed, 'kind' | 'site'>} need */
function toldPurpose({ kind, site }) {
  return kind === 'use' ? `${PURPOSES.use} the site of this command` : purposeOf({ kind, site });
}

/** A command that has not begun waits for the person. */
export class ConsentNeeded extends Error {
  /** @param {ConsentNeed} need */
  constructor(need) {
    super(`the person is asked first whether agents may ${purposeOf(need)}`);
    this.need = need;
  }
}

/**
 * Tells a page from others, and nothing about it: a page that goes on to another address without being loaded is another
 * one to the person, too. @param {string} documentId which nobody can guess @param {string} url @returns {Promise<string>}
 */
export function pageMark(documentId, url) {
  return shortDigest(`${documentId} ${url}`, 16);
}

/**
 * @param {CommandBody} command @param {ConsentKind} kind @param {string} site
 * @returns {boolean} whether a kept word allows it @throws {ActionError} it does not
 */
export function hasKeptConsent({ consents = [] }, kind, site) {
  const word = consents.find((known) => known.kind === kind && known.site === site);
  if (word && !word.allowed) throw denied(kind, site);
  return word !== undefined;
}

/**
 * @param {CommandBody} command @param {ConsentNeed} need of it @param {{isStep?: boolean}} [so] `isStep`: of a command that has
 *   begun; the person allowed it as a whole
 * @throws {ConsentNeeded | ActionError} it has no word for that, or one for something else
 */
export function requireConsent(command, need, { isStep = false } = {}) {
  if (hasKeptConsent(command, need.kind, need.site)) return;
  const given = (command.allowed ?? []).filter(({ kind, site }) => kind === need.kind && site === need.site);
  if (given.some((one) => isStep || one.document === need.document && one.detail === need.detail)) return;
  if (given.length === 0) throw new ConsentNeeded(need);
  throw consentStale(need.kind === 'use' ? 'this site' : need.site);
}

/** @param {string} site */
export function consentStale(site) {
  return new ActionError('consent_stale', `what the user allowed on ${site} is another page now`, undefined, { mayHaveRun: false });
}

/** @param {Pick<CommandBody, 'consents' | 'allowed'>} command @param {ConsentKind} kind @param {string} site @returns {boolean} whether a word allows it, kept or for once */
export function hasConsent({ consents = [], allowed = [] }, kind, site) {
  const word = consents.find((known) => known.kind === kind && known.site === site);
  return word ? word.allowed : allowed.some((one) => one.kind === kind && one.site === site);
}

/**
 * The same in the middle of a command, which nobody can be asked about any more.
 * @param {CommandBody} command @param {ConsentKind} kind @param {string} site @param {boolean} ran
 */
export function assertConsent(command, kind, site, ran) {
  const isGiven = hasKeptConsent(command, kind, site) || (command.allowed ?? []).some((one) => one.kind === kind && one.site === site);
  if (!isGiven) throw notAsked({ kind, site }, ran);
}

/** @param {unknown} error @param {{ran: boolean}} so whether the command had begun @returns {unknown} for its report */
export function tooLateToAsk(error, { ran }) {
  return error instanceof ConsentNeeded ? notAsked(error.need, ran) : error;
}

/** @param {Pick<ConsentNeed, 'kind' | 'site'>} need @param {boolean} ran */
function notAsked({ kind, site }, ran) {
  if (kind === 'permission') return new ActionError('permission_needed', `Tabwire has no permission of the browser ${permissionName(site)}`, undefined, { mayHaveRun: ran });
  return new ActionError('consent_needed', `the user wants to be asked before agents ${toldPurpose({ kind, site })}`, undefined, { mayHaveRun: ran });
}

/** @param {ConsentKind} kind @param {string} site */
function denied(kind, site) {
  return new ActionError('denied_by_user', `the user does not let you ${toldPurpose({ kind, site })}`, undefined, { mayHaveRun: false });
}
