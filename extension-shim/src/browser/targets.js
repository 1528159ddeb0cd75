// @ts-check
// The elements that agents name, found in all frames of a tab, and readied for input. For `src/input/` and actions:
//
//   const wanted = parseTarget(params.target);                      // target_query.js; throws invalid_params
//   context.begin();                                                // the page may be scrolled from here on
//   const target = await waitForTarget({ tabId, signal }, wanted, { kind: 'click', timeoutMs, arm: true });
//   context.begin();                                                // throws if nobody waits any more
//   … input at target.point …                                       // CSS px of the tab's view, frames added
//   const after = await landed(target);                             // which elements got the events; focus, value, states
//
// `kind`: click, hover (a point of its own that no other element covers), edit (text can be entered; `point` is absent if
// it is covered: give it the focus with `focusTarget`), choose (select, check: no point is needed), view (scrolled to), file
// (a field for files, hidden or not, or the element that names or holds it).
// `atOnce`: neither waited for nor at rest: for targets that move. A label stands for its field with edit and choose, and
// a hidden check box is stood for by its label with click. Positions that scripts animate are compared over two frames,
// so focus emulation must be on before, else they stand still meanwhile. `targetAt` is for x and y. Each of them asks
// the site rules first. An error is one of target_not_found, ambiguous_target, stale_ref, not_visible, not_stable,
// covered, disabled, not_editable: its message says why, and its hint names the next step with the nearest elements.

/** @import {SeenDocument, TabDocuments} from './page_world.js' */

import { ActionError, navigationInterrupted, refOfOtherTab, unknownRef } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import { hidesOwner } from '../policy/sites.js';
import { CANDIDATES_MAX, FITTING_MAX, LOOK_AGAIN_MS, LOOK_PAUSE_MS, REST_MS, TARGET_WAIT_MS } from './limits.js';
import { askDocument, askDocuments, askFrames, documentsAsking, documentsOf, withInner } from './page_world.js';
import { pdfWords } from './pdf_page.js';
import { elementRefs, snapshots, stepRecordings } from './state.js';
import { AT_FOCUS, AT_POINT, targetKey } from './step_recordings.js';
import { queryInWords, selectorSplits } from './target_query.js';

/**
 * @typedef {{ref: string} | {query: TargetQuery}} WantedTarget as `parseTarget` gives it; `TargetQuery` is the page world's
 *
 * @typedef {object} FoundElement
 * @property {SeenDocument} document
 * @property {number} id in its document
 * @property {string} ref
 * @property {string} role
 * @property {string} name
 * @property {string} more states and value, as in a snapshot
 * @property {boolean} isVisible
 * @property {boolean} isExact
 *
 * @typedef {object} ReadyTarget
 * @property {number} tabId
 * @property {WantedTarget} [wanted] as it was named
 * @property {SeenDocument} page
 * @property {SeenDocument} document
 * @property {number} id in its document
 * @property {string} ref
 * @property {string} label for answers: role, name and ref, such as `button "OK" b12`
 * @property {{x: number, y: number}} [point] in CSS px of the tab's view
 * @property {{x: number, y: number}} [inner] the same in its frame's view
 * @property {number[]} box x, y, width, height, likewise
 * @property {string} [tag] such as `input`
 * @property {string} [type] of an input, such as `date`
 * @property {string} [checked] true, false or mixed, of a check box and the like, before the act
 * @property {FieldReading} [field] what can be entered
 * @property {{found?: any, count: number}} [entry] it has the focus for text by now: the answer of `enter` in entry.js
 * @property {{found?: any, count: number}} [choice] its options were chosen by now: the answer of `choose` in entry.js
 * @property {boolean} [runsAddress] a press of it, or Enter in it, runs the code in an address
 * @property {boolean} [isOverFrame] a press of it goes to the document of a frame
 *
 * @typedef {object} ReadyOptions
 * @property {'click' | 'hover' | 'edit' | 'choose' | 'view' | 'file'} kind
 * @property {number} [timeoutMs]
 * @property {boolean} [atOnce]
 * @property {boolean} [arm] events are watched from now on, for `landed`
 * @property {number} [part] of it that is aimed at, as in readiness.js
 * @property {TextFocus} [enter] a field for text gets the focus as soon as it is found ready
 * @property {string[]} [choose] of a list these options are chosen as soon as it is found ready
 *
 * @typedef {{clear: boolean, isFocused: boolean}} TextFocus as of `enter` in entry.js
 *
 * @typedef {{tabId: number, signal: AbortSignal}} TargetTab
 */

/** Failures that a change of the page may put right. */
const PASSING = new Set(['target_not_found', 'not_visible', 'not_stable', 'covered', 'disabled', 'not_editable', 'navigation_interrupted']);

/**
 * Waits until a target is there and can be acted on.
 * @param {TargetTab} tab @param {WantedTarget} wanted @param {ReadyOptions} options @returns {Promise<ReadyTarget>}
 */
export async function waitForTarget(tab, wanted, options) {
  const end = performance.now() + (options.atOnce ? 0 : options.timeoutMs ?? TARGET_WAIT_MS);
  for (;;) {
    tab.signal.throwIfAborted();
    /** @type {TabDocuments | undefined} */
    let documents;
    try {
      const question = openingQuestion(tab.tabId, wanted, options);
      const early = await documentsAsking(tab.tabId, question);
      documents = early.documents;
      const { found, checked } = await oneOf(tab.tabId, documents, wanted, { ...early, question });
      return await stepRecordings.note({ ...await readied(tab, documents, found, options, end, checked), wanted }, targetKey(wanted));
    } catch (error) {
      // An element that was found by its words may be rendered anew before it is looked at.
      const isPassing = error instanceof ActionError && (PASSING.has(error.code) || (error.code === 'stale_ref' && 'query' in wanted));
      if (!isPassing) throw error;
      if (performance.now() >= end) throw await withNearest(tab.tabId, documents, wanted, error);
    }
    await change(tab, documents?.seen ?? [], end);
  }
}

/** The one element that is meant, as it is now. @param {TargetTab} tab @param {WantedTarget} wanted @returns {Promise<FoundElement>} */
export async function findTarget({ tabId }, wanted) {
  const documents = await documentsOf(tabId);
  try {
    return (await oneOf(tabId, documents, wanted)).found;
  } catch (error) {
    throw error instanceof ActionError ? await withNearest(tabId, documents, wanted, error) : error;
  }
}

/**
 * @typedef {{name: string, argument: any, documentId?: string}} WorldQuestion
 *
 * The question that is asked at the same time as the documents are looked up: whether an element is ready, found by its
 * ref or as the only one that fits.
 * @param {number} tabId @param {WantedTarget} wanted @param {ReadyOptions} options @returns {WorldQuestion | null}
 */
function openingQuestion(tabId, wanted, { kind, atOnce = false, arm = false, part = 0, enter, choose }) {
  const ready = { options: { kind, atOnce, part }, arm, ...(enter && { enter }), ...(choose && { choose }) };
  if ('query' in wanted) return findQuestion(wanted.query, FITTING_MAX, ready);
  const known = elementRefs.find(wanted.ref);
  return known?.tabId === tabId ? { name: 'check', argument: { id: known.id, ...ready }, documentId: known.documentId } : null;
}

/** @param {TargetQuery} query @param {number} most @param {object} [ready] with it the only one that fits is readied, too @returns {WorldQuestion} */
function findQuestion(query, most, ready) {
  const splits = query.css === undefined ? [] : selectorSplits(query.css);
  return { name: 'find', argument: { query: { ...query, splits }, most, ...(ready && { ready }) } };
}

/**
 * All elements that fit, of all frames.
 * @param {number} tabId @param {TargetQuery} query @param {number} most @param {TabDocuments} [known]
 * @returns {Promise<{total: number, found: FoundElement[], url: string}>}
 */
export async function findTargets(tabId, query, most, known) {
  const question = findQuestion(query, most);
  const asked = known ? { documents: known } : await documentsAsking(tabId, question);
  return findIn(tabId, query, most, { ...asked, question });
}

/**
 * @param {number} tabId @param {TargetQuery} query @param {number} most
 * @param {{documents: TabDocuments, answer?: {value: any}, question: WorldQuestion}} asked
 * @returns {Promise<{total: number, found: FoundElement[], url: string, checked?: any}>}
 */
async function findIn(tabId, query, most, { documents, answer, question: { name, argument } }) {
  const { splits } = argument.query;
  // Only where no other document can have another one that fits may the one that is found be readied, and given the
  // focus only in a page that need not be asked for first.
  const { ready, ...plain } = argument;
  const isFirst = documents.seen.length === 1 && (!ready?.enter || /^https?:/.test(documents.url));
  const asked = isFirst ? argument : plain;
  const answers = answer ? [{ document: documents.seen[0], value: answer.value }] : await askDocuments(tabId, documents.seen, name, asked);
  if (answers.some(({ value }) => value.isWrong)) {
    throw new ActionError('invalid_params', `${JSON.stringify(query.css)} is no CSS selector`, undefined, { hint: 'Write one such as form input[name="q"], or text=Save, or role=button[name="Save"].' });
  }
  await elementRefs.restore();
  let found = answers.flatMap(({ document, value }) => named(tabId, document, value));
  let total = answers.reduce((sum, { value }) => sum + value.total, 0);
  if (total === 0 && query.css !== undefined) {
    found = await findInFrames(tabId, documents, splits, most);
    total = found.length;
  }
  return { total, found: found.slice(0, most), url: documents.url, checked: answers[0]?.value.checked };
}

/** By a selector whose beginning is for a frame. @param {number} tabId @param {TabDocuments} documents @param {[string, string][]} splits @param {number} most @returns {Promise<FoundElement[]>} */
async function findInFrames(tabId, { seen }, splits, most) {
  if (seen.length < 2 || splits.length === 0) return [];
  const places = await askFrames(tabId, seen.slice(1), 'place');
  for (const [outer, inner] of splits) {
    const frames = await askDocuments(tabId, seen, 'framePlaces', outer).catch(() => []);
    const inside = places.filter(({ document, value }) => frames.some((around) => around.document.frameId === document.parentFrameId && around.value.includes(value)));
    const own = inside.map(({ document }) => document);
    const deeper = own.flatMap((document) => withInner(seen, document).slice(1));
    // The frame itself is meant before the frames in it.
    for (const documents of [own, [...new Set(deeper)]]) {
      const answers = await askFrames(tabId, documents, 'find', { query: { css: inner, splits: selectorSplits(inner) }, most });
      const found = answers.flatMap(({ document, value }) => named(tabId, document, value));
      if (found.length > 0) return found;
    }
  }
  return [];
}

/** @param {number} tabId @param {SeenDocument} document @param {{count: number, matches: any[]}} answer @returns {FoundElement[]} */
function named(tabId, document, { count, matches }) {
  const ref = elementRefs.names(tabId, document.documentId, count);
  return matches.map((match) => ({ ...match, document, ref: ref(match.id) }));
}

/**
 * @param {number} tabId @param {TabDocuments} documents @param {WantedTarget} wanted
 * @param {{answer?: {value: any}, question: WorldQuestion | null}} [asked]
 * @returns {Promise<{found: FoundElement, checked?: any}>} `checked`: whether it is ready, if that was asked already
 */
async function oneOf(tabId, documents, wanted, { answer, question } = { question: null }) {
  if ('ref' in wanted) return { found: await byRef(tabId, documents, wanted.ref), checked: answer?.value };
  const { found, total, checked } = await findIn(tabId, wanted.query, FITTING_MAX, { documents, answer, question: question ?? findQuestion(wanted.query, FITTING_MAX) });
  if (total === 0) throw new ActionError('target_not_found', `nothing in the page fits ${queryInWords(wanted.query)}`);
  const exact = found.filter(({ isExact }) => isExact);
  const fitting = exact.length > 0 ? exact : found;
  const visible = fitting.filter(({ isVisible }) => isVisible);
  const enabled = visible.filter(({ more }) => !/^ disabled\b/.test(more));
  const [choice] = [enabled, visible, fitting].filter(({ length }) => length > 0);
  if (choice.length === 1 || (visible.length === 0 && fitting.length > 0)) return { found: choice[0], checked };
  const shown = choice.slice(0, CANDIDATES_MAX).map(labelOf).join(', ');
  const count = fitting === found ? Math.max(total, choice.length) : choice.length;
  throw new ActionError('ambiguous_target', `${count} elements fit ${queryInWords(wanted.query)}: ${shown}${count > CANDIDATES_MAX ? ', …' : ''}`, undefined, { hint: 'Give the ref of one of them as target.' });
}

/** @param {number} tabId @param {TabDocuments} documents @param {string} ref @returns {Promise<FoundElement>} */
async function byRef(tabId, documents, ref) {
  await elementRefs.restore();
  const known = elementRefs.find(ref);
  if (!known) throw unknownRef(ref);
  if (known.tabId !== tabId) throw refOfOtherTab(ref, known.tabId, tabId);
  const document = documents.seen.find(({ documentId }) => documentId === known.documentId);
  if (!document) throw await staleRef(tabId, documents, ref, 'its page, or its frame, is not there any more: the tab has navigated', snapshots.called(tabId, ref));
  // Whether it is still there, the next question to its document tells.
  return { document, id: known.id, ref, role: '', name: '', more: '', isVisible: true, isExact: true };
}

/** The error for an element that its document does not have any more. @param {number} tabId @param {Pick<FoundElement, 'document' | 'id' | 'ref'>} found @returns {Promise<ActionError>} */
export async function goneError(tabId, { document, id, ref }) {
  const documents = await documentsOf(tabId);
  const [known] = await askFrames(tabId, [document], 'known', id);
  return staleRef(tabId, documents, ref, 'the page has removed the element', known?.value ?? snapshots.called(tabId, ref));
}

/** @param {number} tabId @param {TabDocuments} documents @param {string} ref @param {string} why @param {{role: string, name: string} | null} lost */
async function staleRef(tabId, documents, ref, why, lost) {
  const [nearest] = lost ? await nearestTo(tabId, documents, lost, 1) : [];
  const was = lost ? `${ref} was ${lost.role}${lost.name ? ` ${JSON.stringify(lost.name)}` : ''}; ` : `${ref}: `;
  const hint = nearest ? `The nearest element now is ${labelOf(nearest)}.` : 'Nothing like it is there now. Take a snapshot.';
  return new ActionError('stale_ref', was + why, undefined, { hint });
}

/** @param {number} tabId @param {TabDocuments} documents @param {{role?: string, name?: string}} lost @param {number} most @returns {Promise<FoundElement[]>} */
async function nearestTo(tabId, { seen }, lost, most) {
  const answers = await askDocuments(tabId, seen, 'nearest', { ...lost, most });
  const all = answers.flatMap(({ document, value }) => named(tabId, document, value));
  return all.sort((a, b) => /** @type {any} */ (b).likeness - /** @type {any} */ (a).likeness).slice(0, most);
}

/** The elements that come nearest to a description that none fits. @param {number} tabId @param {TargetQuery} query @returns {Promise<FoundElement[]>} */
export async function nearestElements(tabId, query) {
  return nearestFor(tabId, await documentsOf(tabId), query);
}

/** @param {number} tabId @param {TabDocuments} documents @param {TargetQuery} query @returns {Promise<FoundElement[]>} */
async function nearestFor(tabId, documents, { css, role, name, text, label, placeholder }) {
  const words = name ?? text ?? label ?? placeholder;
  if (css !== undefined || (role ?? words) === undefined) return [];
  return nearestTo(tabId, documents, { ...(role && { role }), ...(words && { name: words }) }, CANDIDATES_MAX);
}

/** Adds the nearest elements to the error for a target that is not there. @param {number} tabId @param {TabDocuments | undefined} documents @param {WantedTarget} wanted @param {ActionError} error */
async function withNearest(tabId, documents, wanted, error) {
  if (error.code !== 'target_not_found' || !documents || !('query' in wanted)) return error;
  const [nearest, words] = await Promise.all([nearestFor(tabId, documents, wanted.query).catch(() => []), pdfWords(tabId).catch(() => null)]);
  const otherwise = nearest.length > 0 ? `Nearest: ${nearest.map(labelOf).join(', ')}.` : 'Take a snapshot to see what is there; text can be looked for with find.';
  const hint = words ?? otherwise;
  return new ActionError(error.code, error.message, undefined, { hint });
}

/** @param {{role: string, name: string, ref: string}} found */
export function labelOf({ role, name, ref }) {
  return `${role}${name ? ` ${JSON.stringify(name)}` : ''} ${ref}`;
}

/** @param {TargetTab} tab @param {TabDocuments} documents @param {FoundElement} found @param {ReadyOptions} options @param {number} end @param {any} [checked] the first look at it, if it was taken already @returns {Promise<ReadyTarget>} */
async function readied({ tabId, signal }, documents, found, { kind, atOnce = false, arm = false, part = 0 }, end, checked) {
  const check = (/** @type {number[] | undefined} */ before) => askDocument(tabId, found.document, 'check', { id: found.id, options: { kind, atOnce, part, ...(before && { before }) }, arm });
  let answer = checked ?? await check(undefined);
  // An element that may be moving is looked at again, two frames later.
  for (let looks = 1; answer.verdict === 'not_stable' && (looks === 1 || performance.now() < end); looks += 1) {
    await pause(REST_MS, signal);
    answer = await check(answer.box);
  }
  if (answer.verdict === 'stale_ref') throw await goneError(tabId, found);
  const ref = refOf(tabId, found.document, answer.count, answer.id);
  const label = labelOf({ role: answer.role ?? found.role, name: answer.name ?? found.name, ref });
  if (answer.verdict !== 'ready') throw notReady(answer, label);
  const { point, box, place, tag, type, checked: state, field, entry, choice, runsAddress, isOverFrame } = answer;
  const [x, y, width, height] = box;
  const placed = await onPage(tabId, documents, found.document, place, point ?? { x, y }, { isPointed: point !== undefined && kind !== 'view', label });
  const [dx, dy] = [placed.x - (point ?? { x }).x, placed.y - (point ?? { y }).y];
  return { tabId, page: documents.seen[0], document: found.document, id: answer.id, ref, label, tag, type, checked: state, field, ...(entry && { entry }), ...(choice && { choice }), ...(runsAddress && { runsAddress }), ...(isOverFrame && { isOverFrame }), box: [x + dx, y + dy, width, height], ...(point && { point: placed, inner: point }) };
}

/**
 * A point in a frame as one of the tab's view.
 * @param {number} tabId @param {TabDocuments} documents @param {SeenDocument} document @param {number} place @param {{x: number, y: number}} point
 * @param {{isPointed: boolean, label: string}} so @returns {Promise<{x: number, y: number}>}
 */
async function onPage(tabId, documents, document, place, point, { isPointed, label }) {
  let [inner, at, { x, y }] = [document, place, point];
  while (inner.frameId !== 0) {
    const around = documents.seen.find(({ frameId }) => frameId === inner.parentFrameId);
    const outer = around && await askDocument(tabId, around, 'fromFrame', { place: at, x, y, isPointed });
    if (!around || !outer) throw navigationInterrupted();
    if (outer.why) throw notReady({ verdict: 'covered', why: `its frame is covered: ${outer.why}` }, label);
    [inner, at, { x, y }] = [around, outer.place, outer];
  }
  return { x, y };
}

const HINTS = /** @type {Record<string, string>} */ ({
  not_visible: 'Scroll, open what it is in, or choose another element of a snapshot.',
  not_stable: 'It keeps moving: call again with wait "none" to act where it is now.',
  covered: 'Close or move what covers it, or act on that.',
  disabled: 'Do first what the page asks for, then call again; a longer timeout_ms waits for it.',
  not_editable: 'Give the text field itself, or use click, check or select_option.',
});

/** @param {{verdict: any, why?: string}} answer @param {string} label */
function notReady({ verdict, why }, label) {
  const what = { not_visible: 'is not visible', not_stable: 'does not stop moving', covered: 'cannot be reached', disabled: 'is disabled', not_editable: 'is not editable' }[/** @type {'covered'} */ (verdict)];
  return new ActionError(verdict, `${label} ${what}${why ? `: ${why}` : ''}`, undefined, { hint: HINTS[verdict] });
}

/**
 * The element at a point of the tab's view; nothing is waited for.
 * @param {TargetTab} tab @param {{x: number, y: number}} point @param {{arm?: boolean}} [so] @returns {Promise<ReadyTarget>}
 */
export async function targetAt({ tabId }, point, { arm = false } = {}) {
  const { documents, answer } = await documentsAsking(tabId, { name: 'at', argument: { ...point, arm } });
  await elementRefs.restore();
  let [document, at] = [documents.seen[0], point];
  for (let known = answer; ; known = undefined) {
    const { hit, count } = known ? known.value : await askDocument(tabId, document, 'at', { ...at, arm });
    if (!hit) throw new ActionError('target_not_found', `nothing is at ${point.x}, ${point.y}`, undefined, { hint: 'x and y are CSS px of the visible part of the page: take a screenshot.' });
    const inner = hit.frame === undefined ? undefined : await frameAt(tabId, documents, document, hit.frame);
    if (!inner) {
      const ref = refOf(tabId, document, count, hit.id);
      return stepRecordings.note({ tabId, page: documents.seen[0], document, id: hit.id, ref, label: labelOf({ ...hit, ref }), ...(hit.runsAddress && { runsAddress: /** @type {const} */ (true) }), ...(hit.frame !== undefined && { isOverFrame: true }), point, inner: at, box: [point.x, point.y, 0, 0] }, AT_POINT);
    }
    [document, at] = [inner, hit.inner];
  }
}

/**
 * The element that gets the keys; refused in a frame that agents may not use.
 * @param {TargetTab} tab @param {{arm?: boolean}} [so] @returns {Promise<ReadyTarget>}
 */
export async function targetAtFocus({ tabId }, { arm = false } = {}) {
  const { documents, answer } = await documentsAsking(tabId, { name: 'focused', argument: { arm } });
  await elementRefs.restore();
  let [document] = documents.seen;
  for (let known = answer; ; known = undefined) {
    const { hit, count } = known ? known.value : await askDocument(tabId, document, 'focused', { arm });
    const inner = hit.frame === undefined ? undefined : await frameAt(tabId, documents, document, hit.frame);
    if (!inner) {
      const ref = refOf(tabId, document, count, hit.id);
      return stepRecordings.note({ tabId, page: documents.seen[0], document, id: hit.id, ref, label: labelOf({ ...hit, ref }), ...(hit.runsAddress && { runsAddress: /** @type {const} */ (true) }), box: [0, 0, 0, 0] }, AT_FOCUS);
    }
    document = inner;
  }
}

/** @param {number} tabId @param {TabDocuments} documents @param {SeenDocument} around @param {number} place @returns {Promise<SeenDocument | undefined>} */
async function frameAt(tabId, { seen, denied }, around, place) {
  const inside = seen.filter(({ frameId, parentFrameId }) => frameId !== 0 && parentFrameId === around.frameId);
  const answers = await askFrames(tabId, inside, 'place');
  const found = answers.find(({ value }) => value === place)?.document;
  const isSilent = (/** @type {SeenDocument} */ one) => !answers.some(({ document }) => document === one);
  // A frame that does not say where it is may be one that is closed: by its URL, or by whom an empty one belongs to.
  if (!found && (denied.has(around.frameId) || inside.some((one) => hidesOwner(one.url) && isSilent(one)))) {
    throw new ActionError('blocked_by_policy', 'here is a frame of a site that agents may not use', undefined, { mayHaveRun: false });
  }
  return found;
}

/** @param {number} tabId @param {SeenDocument} document @param {number} count how many elements it has counted @param {number} id @returns {string} */
export function refOf(tabId, document, count, id) {
  return elementRefs.names(tabId, document.documentId, count)(id);
}

/**
 * Asks, before the pointer moves to a target, whether the target is where it was by then and its events are watched anew:
 * the document answers once it has got the move.
 * @param {ReadyTarget} target @param {ReadyOptions['kind']} kind @param {number} part @returns {Promise<boolean | undefined>} undefined: it is to be asked again
 */
export async function isThereAfterMove({ tabId, document, id, inner, point }, kind, part) {
  const answer = await askDocument(tabId, document, 'checkAfterMove', { at: inner ?? point, ...pointed(id, kind, part) }).catch(() => null);
  return answer ? isAt(answer, inner) : undefined;
}

/**
 * Whether a target is where it was, under the pointer, and its events are watched anew. A list that is drawn anew while
 * the pointer is over a row may put it back a moment later, with another row under the pointer.
 * @param {ReadyTarget} target @param {ReadyOptions['kind']} kind @param {number} part
 */
export async function isStillThere({ tabId, document, id, inner }, kind, part) {
  return isAt(await askDocument(tabId, document, 'check', pointed(id, kind, part)), inner);
}

/** @param {number} id @param {ReadyOptions['kind']} kind @param {number} part */
function pointed(id, kind, part) {
  return { id, options: { kind, atOnce: true, isPointedAt: true, part }, arm: true };
}

/** @param {{verdict: string, point: {x: number, y: number}}} answer @param {ReadyTarget['inner']} inner */
function isAt({ verdict, point }, inner) {
  return verdict === 'ready' && Math.abs(point.x - (inner?.x ?? point.x)) < 1 && Math.abs(point.y - (inner?.y ?? point.y)) < 1;
}

/** Gives a target the focus. @param {ReadyTarget} target @returns {Promise<boolean>} whether it has it now */
export async function focusTarget({ tabId, document, id }) {
  const { found } = await askDocument(tabId, document, 'focus', { id });
  return found === true;
}

/**
 * @typedef {object} LandedAct the consequences of an act
 * @property {boolean} isGone the document is: the act has navigated its frame
 * @property {Record<string, {isOwn: boolean, isTrusted: boolean, on?: string}>} events of each type one; `on`: which other element got it
 * @property {boolean} isDownload a link to be saved was clicked
 * @property {boolean} [isPutBack] the page has put the target in front as the pointer came, and the element around it got the press
 * @property {boolean} hasNewStates of the target
 * @property {boolean} [isThere] the target still is
 * @property {string} [focus] the element that has the focus
 * @property {boolean} hasMovedFocus it is another one than before the act, and not the target
 * @property {string} [value] of the target
 * @property {string} [checked]
 * @property {string[]} states of the target
 * @property {TextOutcome[]} [entered] of the texts that were asked for
 * @property {string} [url] of the document
 * @property {CopiedSelection} [copied] by the page
 * @property {string} [leaving] where the document is about to go
 */

/**
 * @typedef {Pick<ReadyTarget, 'tabId' | 'document'> & {id?: number}} ArmedTarget
 *
 * Asks for the consequences of events before they are sent: the document answers once it has got them.
 * @param {ArmedTarget} target @param {{entries?: TextEntryCheck[]} & ({keys: number} | {at: {x: number, y: number}})} asked how many keys go up, or where the pointer comes, in the frame's view
 * @returns {Promise<any>} null or undefined: it is to be asked again
 */
export function landedAfter({ tabId, document, id }, asked) {
  return askDocument(tabId, document, 'landedAfter', { id, ...asked }).catch(() => undefined);
}

/**
 * The consequences of an act since its target was armed.
 * @param {ArmedTarget} target @param {TextEntryCheck[]} [entries] texts that it has entered @param {any} [early] as `landedAfter` has given it @returns {Promise<LandedAct>}
 */
export async function landed({ tabId, document, id }, entries, early) {
  const said = early ?? (await askFrames(tabId, [document], 'landed', { id, ...(entries && { entries }) }))[0]?.value;
  if (!said) return { isGone: true, hasMovedFocus: false, hasNewStates: false, isDownload: false, events: {}, states: [] };
  const { events, focus, hasMovedFocus, hasNewStates, isDownload, isPutBack, count, isThere, value, checked, states, entered, url, copied, leaving } = said;
  const ref = elementRefs.names(tabId, document.documentId, count);
  const label = (/** @type {any} */ about) => labelOf({ ...about, ref: ref(about.id) });
  const told = Object.entries(events).map(([type, { isOwn, isTrusted, on }]) => [type, { isOwn, isTrusted, ...(on && { on: label(on) }) }]);
  return { isGone: false, hasMovedFocus, hasNewStates, isDownload, isPutBack, events: Object.fromEntries(told), isThere, states, ...(focus && { focus: label(focus) }), ...(value != null && { value }), ...(checked != null && { checked }), ...(entered && { entered }), ...(copied && { copied }), ...(leaving && { leaving }), url };
}

/** Waits until the page changes, for a quarter of a second at most. @param {TargetTab} tab @param {SeenDocument[]} documents @param {number} end */
export async function change({ tabId, signal }, documents, end) {
  const ms = Math.max(0, Math.min(LOOK_AGAIN_MS, end - performance.now()));
  await Promise.all([pause(Math.min(LOOK_PAUSE_MS, ms), signal), Promise.race([pause(ms, signal), askEach(tabId, documents, ms)])]);
}

/** @param {number} tabId @param {SeenDocument[]} documents @param {number} ms the first change in one of them */
function askEach(tabId, documents, ms) {
  const never = new Promise(() => {});
  return Promise.race([never, ...documents.map((document) => askDocument(tabId, document, 'nextChange', ms).catch(() => never))]);
}
