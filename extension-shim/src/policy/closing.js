// @ts-check
// Whose tab a command closes: one that agents opened, or the person's, which needs their word.

/** @import {CommandBody, ConsentNeed} from '../../types/protocol.js' */

import { requireConsent } from '../lib/consent.js';
import { siteName } from './sites.js';

/**
 * @typedef {object} ClosedTab the tab that a command may close
 * @property {number | undefined} id
 * @property {string} [url]
 * @property {string} [pendingUrl] the page that it is on its way to
 */

/** @param {CommandBody} command @returns {boolean} whether it closes the tab that it is for, or a step of it does */
export function closesItsTab({ type, params, tab_id }) {
  if (type === 'tab_close') return true;
  const steps = type === 'batch' && Array.isArray(params?.steps) ? params.steps : [];
  return steps.some((step) => step?.action === 'tab_close' && (step.tab_id === undefined || step.tab_id === tab_id));
}

/**
 * @param {CommandBody} command that closes a tab of the person @param {ClosedTab} tab @param {string | undefined} document that it shows
 * @param {{isStep?: boolean}} so as of `requireConsent`, which throws
 */
export function askBeforeClosing(command, { id, url, pendingUrl }, document, so) {
  // A tab that a site has not reached yet is on its way there for the person.
  const site = siteName(url || pendingUrl || '');
  /** @type {ConsentNeed} */
  const need = { kind: 'close', site, detail: `tab ${id}`, ...(document && { document }) };
  requireConsent(command, need, so);
}
