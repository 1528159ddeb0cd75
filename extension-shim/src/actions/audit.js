// @ts-check
// Barriers of a page for people with disabilities, by axe-core, which runs in our own world of each document: a page can
// falsify no more than its own document.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {DocumentAnswer, SeenDocument} from '../browser/page_world.js' */

import { SNAPSHOT_BYTES_USUAL } from '../browser/limits.js';
import { askDocument, documentsOf, documentsWithin, loadAudit } from '../browser/page_world.js';
import { elementRefs } from '../browser/state.js';
import { goneError } from '../browser/targets.js';
import { checkedInteger, checkedText } from '../commands/params.js';
import { ActionError, navigationInterrupted } from '../lib/errors.js';
import { fittedGroups } from '../lib/fitted.js';
import { within } from '../lib/within.js';
import { AUDIT_ELEMENTS, AUDIT_FRAME_MS, AUDIT_NODES, AUDIT_RULES_MAX, AUDIT_TAGS_MAX, SNAPSHOT_BYTES } from './limits.js';
import { readPage, targetOf } from './page_reading.js';

/** From the worst. */
const IMPACTS = ['critical', 'serious', 'moderate', 'minor'];

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function audit({ target, rules, tags, max_bytes = SNAPSHOT_BYTES_USUAL }, context) {
  const maxBytes = checkedInteger('max_bytes', max_bytes, SNAPSHOT_BYTES);
  const chosen = { rules: checkedNames('rules', rules, AUDIT_RULES_MAX), tags: checkedNames('tags', tags, AUDIT_TAGS_MAX) };
  if (chosen.rules && chosen.tags) throw new ActionError('invalid_params', 'give rules or tags, not both', undefined, { hint: 'Leave tags out: the rules alone are run.' });
  return readPage(context, async (tabId) => {
    const root = target === undefined ? undefined : await targetOf(tabId, target, context.signal);
    const { seen } = await documentsOf(tabId);
    const [top, ...frames] = await documentsWithin(tabId, seen, root);
    if (!top) throw navigationInterrupted();
    const options = { ...chosen, most: AUDIT_ELEMENTS };
    const inner = frames.map((frame) => within(AUDIT_FRAME_MS, auditOf(tabId, frame, { ...options, isPart: false, isFrame: true })).catch(console.debug));
    const own = await auditOf(tabId, top, { ...options, id: root?.id, isPart: root !== undefined, isFrame: top.frameId !== 0 });
    if (own.value.isGone) throw root ? await goneError(tabId, root) : navigationInterrupted();
    assertAudited(own.value);
    const answers = [own, ...(await Promise.all(inner))].filter((answer) => answer?.value.found);
    await elementRefs.restore();
    return { value: report(tabId, /** @type {DocumentAnswer[]} */ (answers), frames.length + 1 - answers.length, maxBytes), type: 'object' };
  });
}

/** @param {string} name @param {unknown} list @param {number} most @returns {string[] | undefined} */
function checkedNames(name, list, most) {
  if (list === undefined) return undefined;
  if (!Array.isArray(list) || list.length === 0 || list.length > most) throw new ActionError('invalid_params', `${name} must be a list of 1 to ${most} texts`);
  return list.map((one) => checkedText(name, one));
}

/** @param {number} tabId @param {SeenDocument} document @param {object} options @returns {Promise<DocumentAnswer>} */
async function auditOf(tabId, document, options) {
  await loadAudit(tabId, document);
  return { document, value: await askDocument(tabId, document, 'audit', options) };
}

/** @param {{unknown?: {rules: string[], tags: string[]}, nearest?: string[], elements?: number, failed?: string}} answer */
function assertAudited({ unknown, nearest, elements, failed }) {
  if (unknown && unknown.rules.length > 0) {
    throw new ActionError('invalid_params', `axe-core has no rule ${unknown.rules.map((rule) => JSON.stringify(rule)).join(', ')}`, undefined, { hint: `Nearest: ${nearest?.join(', ')}. Without rules all are run.` });
  }
  if (unknown) {
    throw new ActionError('invalid_params', `no rule of axe-core has the tag ${unknown.tags.map((tag) => JSON.stringify(tag)).join(', ')}`, undefined, { hint: 'Tags are wcag2a, wcag2aa, wcag21a, wcag21aa, wcag22aa, best-practice, cat.color, cat.forms and the like.' });
  }
  if (elements !== undefined) {
    throw new ActionError('result_too_large', `there are ${elements} elements, and an audit of more than ${AUDIT_ELEMENTS} keeps the page busy for many seconds`, undefined, { hint: 'Give a part of the page as target, such as main.' });
  }
  if (failed !== undefined) {
    throw new ActionError('unsupported', `axe-core cannot read this page: ${failed}`, undefined, { hint: 'Names of elements in a form may stand in the way: give a part without that form as target, or take a snapshot.' });
  }
}

/** @param {number} tabId @param {DocumentAnswer[]} answers @param {number} unread documents that did not answer @param {number} maxBytes */
function report(tabId, answers, unread, maxBytes) {
  const all = merged(tabId, answers, 'violations').map(withSharedFix);
  const toReview = merged(tabId, answers, 'incomplete');
  const elements = all.reduce((sum, { count }) => sum + count, 0);
  // Three quarters are for violations that are sure.
  const { told, items } = fittedGroups(all, 'elements', maxBytes * 3 / 4);
  const review = fittedGroups(toReview.map(({ rule, help, count }) => ({ rule, help, count, elements: [] })), 'elements', maxBytes / 4);
  const isCut = items < elements || told.length < all.length || review.told.length < toReview.length;
  return {
    engine: `axe-core ${answers[0].value.found.version}`,
    violations: told,
    ...(told.length < all.length && { more_violations: all.length - told.length }),
    ...(toReview.length > 0 && { to_review: review.told.map(({ elements: _, ...rest }) => rest) }),
    ...(review.told.length < toReview.length && { more_to_review: toReview.length - review.told.length }),
    rules_passed: answers[0].value.found.passes,
    ...(unread > 0 && { frames_not_audited: unread }),
    ...(isCut && { hint: 'Not all elements are listed: give one rule in rules, a part of the page as target, or a larger max_bytes.' }),
  };
}

/**
 * The findings of all documents, a rule once, from the worst.
 * @param {number} tabId @param {DocumentAnswer[]} answers @param {'violations' | 'incomplete'} kind @returns {Record<string, any>[]}
 */
function merged(tabId, answers, kind) {
  /** @type {Map<string, any>} */
  const rules = new Map();
  for (const { document, value } of answers) {
    const name = elementRefs.names(tabId, document.documentId, value.count);
    for (const { elements, count, ...finding } of value.found[kind]) {
      const known = rules.get(finding.rule) ?? { ...finding, count: 0, elements: [] };
      rules.set(finding.rule, known);
      known.count += count;
      known.elements.push(...elements.map((/** @type {any} */ { id, ...rest }) => ({ target: name(id), ...rest })));
    }
  }
  for (const rule of rules.values()) rule.elements.length = Math.min(rule.elements.length, AUDIT_NODES);
  return [...rules.values()].sort((a, b) => IMPACTS.indexOf(a.impact) - IMPACTS.indexOf(b.impact) || b.count - a.count);
}

/** The same advice stands once. @param {Record<string, any>} violation @returns {Record<string, any>} */
function withSharedFix({ elements, ...violation }) {
  const fixes = new Set(elements.map((/** @type {any} */ { fix }) => JSON.stringify(fix)));
  if (fixes.size !== 1) return { ...violation, elements };
  return { ...violation, fix: elements[0].fix, elements: elements.map((/** @type {any} */ { fix: _, ...rest }) => rest) };
}
