// @ts-check
// Real input into a tab: through the debugger, also in the background. For the actions that act on pages:
//
//   return withInput(context, { snapshot: params.snapshot }, async (input) => {
//     const target = await input.find(params.target, { kind: 'click' });   // waited for, ready, events watched from now on
//     await input.ready(target);                                           // before each act: Stop, site rules, painted
//     await input.send(...events);                                         // sent at once, answers awaited together
//     return { target, value: { clicked: target.label }, tell: (after) => ({ … }) };
//   });
//
// `withInput` attaches the debugger, has the page believe that it is focused (for a while longer, so that menus stay
// open between two calls), dismisses dialogs, and adds to the answer what the act set off: `navigated`, `loading`,
// `navigation_failed`, `new_tab`, `download`, `file_chooser`, `tab_closed`, `focus`, and the page after it if that was asked for. An event is `{ method: 'Input.…', …its parameters }`.
// `input.page()` stands for the page where there is no target. `tell` adds fields from the state after the act
// (`LandedAct` of targets.js). A cancel aborts `input.signal`: look at it between steps with `input.ready()`, and let
// go of held buttons and keys in a `finally`: a cancel is reported once the act has returned.
//
// An action that has a way by scripts says `hasScripts`: where a frame of another extension keeps the debugger out,
// `input.scripted` is set from the beginning, nothing is sent, and the answer says so (scripted.js).

/** @import {Context, Outcome, StopReason} from '../../types/protocol.js' */
/** @import {EffectWatch} from './act_effects.js' */
/** @import {ActPlace} from './place.js' */
/** @import {ScriptedWay} from '../browser/scripted_way.js' */
/** @import {SeenDocument} from '../browser/page_world.js' */
/** @import {ArmedTarget, LandedAct, ReadyOptions, ReadyTarget, WantedTarget} from '../browser/targets.js' */

import { interceptChoosers } from '../browser/choosers.js';
import { clipboardGuards } from '../browser/clipboard_guards.js';
import { cdp, commandError, cutOff, emulateFocus, endBurst, isDismissed, isPersonIn, onEventOf, paintedDocuments } from '../browser/debugger.js';
import { dialogsAnswered, holdChooser, isHeld, meetDialogs } from '../browser/dialogs.js';
import { foreignFramesIn } from '../browser/foreign_extensions.js';
import { withHeldDocuments } from '../browser/held_documents.js';
import { SNAPSHOT_BYTES_USUAL } from '../browser/limits.js';
import { askDocument, askFrames, documentsOf, judgedAddress } from '../browser/page_world.js';
import { snapshotOf } from '../browser/page_snapshot.js';
import { whilePainting } from '../browser/painting.js';
import { scriptedSites } from '../browser/scripted_sites.js';
import { chosenWay, toldWay } from '../browser/scripted_way.js';
import { assertPage, documentNow } from '../browser/site_guard.js';
import { viewNow } from '../browser/pictures.js';
import { ownClipboards, pictures, policy, tabs } from '../browser/state.js';
import { parseTarget } from '../browser/target_query.js';
import { focusTarget, goneError, isStillThere, isThereAfterMove, landed, landedAfter, targetAt, targetAtFocus, waitForTarget } from '../browser/targets.js';
import { endWait, unstick } from '../browser/unstick.js';
import { ActionError, closedMeanwhile, messageOf } from '../lib/errors.js';
import { within } from '../lib/within.js';
import { assertReachable, originOf } from '../policy/pages.js';
import { actEffects } from './act_effects.js';
import { flush, moved, pointOf } from './mouse_events.js';
import { onlyDebugger } from './scripted.js';
import { APPROACHES, EVENTS_MS, EXECUTE_HOLDING_MS, EXECUTE_USUAL_MS, FRAMES_MS, LOAD_MS, PAINT_MS, RAISING_MS, TARGET_USUAL_MS, TELL_MS } from './limits.js';

/**
 * @typedef {{method: string, [parameter: string]: unknown}} InputEventCommand
 *
 * @typedef {object} ActResult
 * @property {Record<string, unknown>} value
 * @property {ReadyTarget | PageTarget} [target] the last element that got events: its state after the act is told
 * @property {(after: LandedAct) => Promise<boolean>} [again] does the act another way if its events have not come to the target: whether it has
 * @property {(after: LandedAct) => Record<string, unknown>} [tell] more fields
 * @property {TextEntryCheck[]} [entries] texts in the target's document that `tell` compares with what is there
 * @property {LandedAct} [after] the state after the act, if it is known already
 *
 * @typedef {Pick<ReadyTarget, 'tabId' | 'page' | 'document'> & {id?: number}} PageTarget the page itself
 *
 * @typedef {{snapshot?: unknown, takesChooser?: boolean, hasScripts?: boolean}} AfterAct `takesChooser`: the act itself answers a file
 *   chooser that opens; `hasScripts`: it can be done without the debugger
 */

/**
 * @param {Context} context @param {AfterAct} more @param {(input: InputSession) => Promise<ActResult>} act
 * @returns {Promise<Outcome>}
 */
export async function withInput(context, { snapshot, takesChooser = false, hasScripts = false }, act) {
  const form = checkedSnapshot(snapshot);
  const tab = await tabs.target(context.tab_id);
  assertReachable(tab);
  const input = new InputSession(tab.id, context);
  const watcher = { dialogs: [] };
  /** @type {Promise<Outcome> | undefined} */
  let run;
  context.onStop((why) => input.end(why, run));
  input.scripted = await chosenWay(tab, hasScripts);
  run = meetDialogs(context, tab.id, watcher, () => withHeldDocuments(tab.id, context.signal, () => input.run(act, form, takesChooser)));
  try {
    return { ...await run, dialogs: watcher.dialogs };
  } catch (error) {
    if (context.signal.aborted) throw error;
    if (error instanceof ActionError) throw input.hasActed || error.more.mayHaveRun !== undefined ? error : error.after({ ran: false });
    if (input.scripted && await tabs.isOpen(tab.id)) throw error;
    throw await commandError(error, tab.id, await tabs.isOpen(tab.id));
  }
}

/**
 * How long a command waits for its target: as long as it may run, if the agent has chosen its time.
 * @param {{timeout_ms: number}} command @param {number} [passedMs] since it began @returns {number}
 */
export function patienceOf({ timeout_ms }, passedMs = 0) {
  const left = timeout_ms - TELL_MS - passedMs;
  const isUsual = [EXECUTE_USUAL_MS, EXECUTE_HOLDING_MS].includes(timeout_ms);
  return Math.max(0, isUsual ? Math.min(TARGET_USUAL_MS, left) : left);
}

/** @param {unknown} snapshot @returns {'whole' | 'diff' | null} */
function checkedSnapshot(snapshot = false) {
  if (snapshot === false) return null;
  if (snapshot === true) return 'whole';
  if (snapshot === 'diff') return 'diff';
  throw new ActionError('invalid_params', 'snapshot must be true, false or "diff"');
}

/** The browser's words when a tab has gone, or has gone where the debugger may not be. */
const CUT_OFF = /^(Detached while handling command|Debugger is not attached|No tab with|Target closed|.*Inspected target navigated or closed)/;

/** @param {number} tabId that the debugger has lost: a tab is gone only if the browser says so @returns {Promise<ActionError>} */
async function cutOffError(tabId) {
  if (!await tabs.isOpen(tabId)) return closedMeanwhile(tabId);
  if ((await foreignFramesIn(tabId)).length > 0) return cutOff(tabId);
  return new ActionError('debugger_unavailable', 'the browser ended the debugger of this tab while the command ran');
}

/** @param {number} tabId @returns {Promise<boolean>} whether it is the tab that a window shows which does not have the keyboard */
async function isBehind(tabId) {
  const windowId = tabs.shownIn(tabId);
  if (windowId === undefined) return false;
  // The person may just have moved it out of that window.
  const shownNow = async () => chrome.windows.get((await chrome.tabs.get(tabId)).windowId);
  return !(await chrome.windows.get(windowId).catch(shownNow)).focused;
}

export class InputSession {
  #context;
  #startedAt = performance.now();
  #hasActed = false;
  #isCutOff = false;
  /** @type {EffectWatch | null} */
  #effects = null;
  /** No chooser of files is shown from then on. @type {Promise<unknown>} */
  #isIntercepting = Promise.resolve();
  /** Whether that is so by now. */
  #showsNoChooser = false;
  /** @type {{at: number, answer: Promise<boolean>} | null} */
  #raising = null;
  /** @type {{target: ArmedTarget, answer: Promise<any>} | null} */
  #concluded = null;

  /** Nothing is sent: a frame of another extension keeps the debugger out. @type {ScriptedWay | null} */
  scripted = null;

  /** @param {number} tabId @param {Context} context */
  constructor(tabId, context) {
    this.tabId = tabId;
    this.signal = context.signal;
    /** As the daemon calls the agent's program. */
    this.client = context.client;
    this.#context = context;
  }

  /** Whether anything has been done to the page. */
  get hasActed() {
    return this.#hasActed;
  }

  /** Whether the act has set off a navigation, a tab or a download. */
  get hasBegun() {
    return this.#effects?.hasBegun === true;
  }

  /** From now on. */
  get patienceMs() {
    return patienceOf(this.#context, performance.now() - this.#startedAt);
  }

  /** @param {(input: InputSession) => Promise<ActResult>} act @param {'whole' | 'diff' | null} form @param {boolean} takesChooser @returns {Promise<Outcome>} */
  async run(act, form, takesChooser) {
    this.#context.begin();
    const effects = this.#effects = actEffects.watch(this.tabId, tabs.activeBeside(this.tabId), this.#context.seesAll);
    const endListening = onEventOf(this.tabId, 'Page.fileChooserOpened', (chosen) => {
      const isHeldOpen = !takesChooser && holdChooser(this.tabId, { sessionId: undefined, ...chosen }, effects.page?.url ?? '');
      effects.hasChooser = !takesChooser && !isHeldOpen;
    });
    /** @type {(() => void) | undefined} */
    let endIntercepting;
    try {
      if (!this.scripted) {
        await emulateFocus(this.tabId);
        const choosers = interceptChoosers(this.tabId);
        endIntercepting = choosers.end;
        this.#isIntercepting = choosers.begun;
        this.#showsNoChooser = choosers.isOn;
        choosers.begun.then(() => { this.#showsNoChooser = true; }, console.debug);
      }
      const { value, target, tell, again, entries, after: known } = await act(this);
      await dialogsAnswered(this.tabId);
      let after = known ?? (target && await this.landed(target, entries));
      if (target && after && await again?.(after)) after = await this.landed(target, entries);
      if (after?.isDownload) effects.request('download');
      // The debugger has told it already.
      if (this.scripted && after?.leaving) effects.ask(after.leaving);
      if (after?.copied) ownClipboards.keep(this.client, after.copied);
      const isStill = !isHeld(this.tabId) && this.#isStill(target, after);
      const set = isStill ? effects.told(null) : await this.#settled(effects);
      this.signal.throwIfAborted();
      if (set.download && /^https?:/.test(set.download.url)) await policy.admitIn(this.tabId, set.download.url, { ran: true });
      if (this.#isCutOff && !await tabs.isOpen(this.tabId)) return { value: { ...value, tab_closed: true }, type: 'object' };
      const url = isStill && after?.url !== undefined ? after.url : await this.#urlAfter(set.loading !== undefined);
      const told = { ...value, ...(after && tell?.(after)), ...(after?.focus && after.hasMovedFocus && { focus: after.focus }), ...(after?.copied && { copied: after.copied.shown }), ...set, ...(this.scripted && toldWay(this.scripted)) };
      return { value: form ? { ...told, snapshot: await this.#snapshot(form) } : told, type: 'object', origin: originOf(url) };
    } finally {
      effects.end();
      endListening();
      endIntercepting?.();
    }
  }

  /** @param {EffectWatch} effects @returns {Promise<import('./act_effects.js').ToldEffects>} */
  async #settled(effects) {
    for (;;) {
      const set = await effects.settled(Math.min(this.patienceMs, LOAD_MS), this.signal);
      if (!isHeld(this.tabId)) return set;
      // What the page goes on to do depends on the answer.
      await dialogsAnswered(this.tabId);
    }
  }

  /**
   * Whether the page is known to be the one in which the act began: its own document has told its address after the act,
   * and nothing is under way. Where every site may be used it need not be looked at again then: a document that is no
   * local file stays none.
   * @param {ActResult['target']} target @param {LandedAct | undefined} after
   */
  #isStill(target, after) {
    const page = this.#effects?.page;
    const isSame = page !== undefined && page !== null && target?.document.documentId === page.documentId && after?.url === page.url;
    return isSame && !this.#effects?.isPending && !this.#isCutOff && policy.allowsEverySite && /^https?:/.test(page.url);
  }

  /** The page after the act, refused if its site is. @param {boolean} isLoading */
  async #urlAfter(isLoading) {
    // A tab that waits for a server, or that the debugger has lost, answers nothing about its page.
    return isLoading || this.#isCutOff ? (await documentNow(this.tabId)).url : this.#assertPage({ ran: true });
  }

  /** The page as it is now, refused if its site is. @param {{ran: boolean}} so @returns {Promise<string>} its address */
  async #assertPage(so) {
    return this.scripted ? (await documentNow(this.tabId, so)).url : assertPage(this.tabId, so);
  }

  async #page() {
    return (await documentsOf(this.tabId)).seen[0];
  }

  /** @param {'whole' | 'diff'} form */
  #snapshot(form) {
    const options = { interactiveOnly: false, boxes: false, urls: false };
    return snapshotOf(this.tabId, { options, maxBytes: SNAPSHOT_BYTES_USUAL, isDiff: form === 'diff', client: this.#context.client });
  }

  /**
   * The element that is meant, once it is ready. Its events are watched from now on.
   * @param {unknown} target as agents write it @param {ReadyOptions} options @returns {Promise<ReadyTarget>}
   */
  find(target, options) {
    return this.findParsed(parseTarget(target), options);
  }

  /**
   * A field, which has the focus for text by then, or its options chosen, where every site may be used: a page of another
   * site must not be touched before it is asked for.
   * @param {WantedTarget} wanted @param {boolean} clear @param {string[]} [options] for the case that it is a list @returns {Promise<ReadyTarget>}
   */
  findField(wanted, clear, options) {
    const isTouched = policy.allowsEverySite && !this.scripted;
    // At the change of a list a page may open a chooser of files.
    const isChosen = isTouched && this.#showsNoChooser && options !== undefined;
    return this.findParsed(wanted, { kind: 'choose', ...(isTouched && { enter: { clear, isFocused: false } }), ...(isChosen && { choose: options }) });
  }

  /** @param {WantedTarget} wanted @param {ReadyOptions} options @returns {Promise<ReadyTarget>} */
  async findParsed(wanted, options) {
    this.#context.begin();
    if (options.kind === 'click' && !this.scripted) this.#askRaising();
    const target = await waitForTarget(this, wanted, { timeoutMs: this.patienceMs, arm: true, ...options }).catch((error) => {
      // A field in a frame has the focus before it is known that the frame is covered.
      if ((options.enter || options.choose) && error instanceof ActionError && error.code === 'covered') this.#hasActed = true;
      throw error;
    });
    if (target.entry || target.choice) this.#hasActed = true;
    if (options.kind !== 'click' && options.kind !== 'hover') return target;
    if (target.isOverFrame && target.point) await this.admitPressAt(target.point);
    return this.admitPress(target);
  }

  /** The element at a place, ready to be acted on. @param {ActPlace} place @param {ReadyOptions} options @returns {Promise<ReadyTarget>} */
  async reach(place, options) {
    return 'point' in place ? this.at(await this.#seen(place), options) : this.findParsed(place.wanted, options);
  }

  /** The same place, its point in CSS px of the view. @template {ActPlace} T @param {T} place @returns {Promise<ActPlace>} */
  async inView(place) {
    if (!('point' in place) || place.picture === undefined) return place;
    const [point] = await this.pathInView(place.picture, [place.point]);
    return { point };
  }

  /** @param {string} picture @param {{x: number, y: number}[]} path in its pixels @returns {Promise<{x: number, y: number}[]>} */
  async pathInView(picture, path) {
    return (await pictures.pointsOf(this.tabId, picture, path)).points;
  }

  /** A point as the view has it; one of a picture is scrolled to if the view does not have it. @param {{point: {x: number, y: number}, picture?: string}} place */
  async #seen({ point, picture }) {
    if (picture === undefined) return point;
    const { view, points: [there] } = await pictures.pointsOf(this.tabId, picture, [point]);
    const isSeen = there.x >= 0 && there.y >= 0 && there.x < view.width && there.y < view.height;
    if (isSeen) return there;
    const page = await this.#page();
    await this.ready({ page, document: page });
    /** @type {[number, number]} */
    const to = [there.x + view.left - view.width / 2, there.y + view.top - view.height / 2];
    await this.byScript(() => chrome.scripting.executeScript({
      target: { tabId: this.tabId, documentIds: [page.documentId] }, args: to,
      func: (left, top) => scrollTo({ left, top, behavior: 'instant' }),
    }));
    const { view: now } = await viewNow(this.tabId);
    return { x: there.x + view.left - now.left, y: there.y + view.top - now.top };
  }

  /** The element at a point of the tab's view. @param {{x: number, y: number}} point @param {{arm?: boolean}} [so] @returns {Promise<ReadyTarget>} */
  async at(point, { arm = true } = {}) {
    this.#context.begin();
    const target = await targetAt(this, point, { arm });
    // A frame that cannot be looked into may hold any code.
    return this.admitPress(target.isOverFrame ? { ...target, runsAddress: true } : target);
  }

  /** The page itself, whose focused element gets keys. Its events are watched from now on. @returns {Promise<PageTarget>} */
  async page() {
    const document = await this.#page();
    await askDocument(this.tabId, document, 'arm');
    return { tabId: this.tabId, page: document, document };
  }

  /**
   * Moves the pointer to a target, which is ready for an act then. Where the pointer leaves something, menus may close
   * and the page may move; rows may grow where it comes: then the target is looked for again, and another part is aimed at.
   * @param {ReadyTarget} target @param {ReadyOptions} options @returns {Promise<ReadyTarget>}
   */
  async approach(target, options) {
    let aim = target;
    for (let part = 0; part < APPROACHES; part += 1) {
      const point = pointOf(aim);
      await this.ready(aim);
      // The frame in it gets the move.
      const early = aim.isOverFrame ? undefined : isThereAfterMove(aim, options.kind, part);
      await this.send(moved(point), flush(point));
      const known = await this.#told(early);
      const [isThere] = await Promise.all([known ?? isStillThere(aim, options.kind, part), this.ready(aim)]);
      if (isThere) return aim;
      aim = await this.findParsed(aim.wanted ?? { ref: aim.ref }, { ...options, part: part + 1 });
    }
    await this.ready(aim);
    return aim;
  }

  /** @param {ReadyTarget} target @returns {Promise<boolean>} whether it has the focus now */
  async focus(target) {
    await this.ready(target);
    return this.byScript(() => focusTarget(target));
  }

  /** The element that gets keys now. Its events are watched from now on. @returns {Promise<ReadyTarget>} */
  async focused() {
    this.#context.begin();
    return this.admitPress(await targetAtFocus(this, { arm: true }));
  }

  /**
   * Before a press of a target, Enter in it, or the sending of its form: where scripts are denied, a link with code in it is none
   * of the page's own if a script may have put it there. @param {ReadyTarget} target
   */
  async admitPress(target) {
    if (!target.runsAddress || policy.allowsEverySite) return target;
    const address = await scriptedSites.touched(this.tabId, target.document);
    if (address !== null) policy.assertActRules({ type: 'execute_js', params: {} }, address, { ran: this.#hasActed });
    return target;
  }

  /** The same before a chord that may be the key of an element. @param {ReadyTarget} target that has the focus */
  async admitAccessKeys(target) {
    if (policy.allowsEverySite || !await askDocument(this.tabId, target.document, 'runsCodeByKey')) return;
    await this.admitPress({ ...target, runsAddress: true });
  }

  /** Before a press that goes to another place than its target was looked at for: a frame in it, or the beginning of a path. @param {{x: number, y: number}} point */
  async admitPressAt(point) {
    if (policy.allowsEverySite) return;
    const inner = await this.at(point, { arm: false });
    this.#context.admitAct(judgedAddress(inner.document));
  }

  /**
   * Has the document of a target do a part of the act. @param {ReadyTarget} target @param {string} name as in entry.js
   * @param {object} [argument] @returns {Promise<{found: any, count: number}>}
   */
  async ask(target, name, argument) {
    this.#context.begin();
    this.#hasActed = true;
    const { found, isGone, count } = await askDocument(this.tabId, target.document, name, { id: target.id, ...argument });
    if (isGone) throw await goneError(this.tabId, target);
    return { found, count };
  }

  /**
   * Called before each act: throws if the command was cancelled, or if the page is closed to agents by now.
   * @param {{page: SeenDocument, document: SeenDocument}} [target]
   */
  async ready(target) {
    const page = target?.page ?? await this.#page();
    this.#effects?.beginIn(page);
    await Promise.all([this.#isIntercepting, this.#guardClipboard(page, target?.document ?? page)]);
    for (const document of target ? [page, target.document] : [page]) await this.#painted(document);
    // Where every site may be used, and no local file is shown, the page need not be looked at again.
    const isOpen = policy.allowsEverySite && /^https?:/.test(page.url);
    if (!isOpen) this.#context.admitAct(await this.#assertPage({ ran: this.#hasActed }));
    if (!isOpen && target) this.#context.admitAct(judgedAddress(target.document));
    this.#context.begin();
  }

  /** Where the person looks at the tab its copies may be theirs. @param {SeenDocument} page @param {SeenDocument} document */
  async #guardClipboard(page, document) {
    if (tabs.activeBeside(this.tabId) === this.tabId) return;
    await clipboardGuards.cover(this.tabId, document.documentId === page.documentId ? [page] : [page, document]);
  }

  /** A page that was never painted drops input, and the browser answers as if it had not. @param {SeenDocument} document */
  async #painted(document) {
    const painted = paintedDocuments(this.tabId);
    if (this.scripted || painted.has(document.documentId)) return;
    const frames = askDocument(this.tabId, document, 'twoFrames');
    // Now and then a new page in the background paints nothing by itself.
    await within(FRAMES_MS, frames).catch(() => whilePainting(this.tabId, () => within(PAINT_MS, frames))).catch(console.debug);
    painted.add(document.documentId);
  }

  /** Sends events at once: a page in the background answers a move only when it paints. @param {InputEventCommand[]} events */
  async send(...events) {
    this.#context.begin();
    if (this.scripted) throw onlyDebugger(this, 'keys and the pointer are the debugger\'s');
    if (this.#isCutOff) throw await cutOffError(this.tabId);
    this.#hasActed = true;
    await this.#dispatch(events);
  }

  /**
   * Sends the last events of an act, and asks with them for their consequences: the document tells them once it has got
   * the events. Only for keys that enter text, and moves: what others set off, a navigation or a tab, comes by another
   * way, and would come after the answer. @param {ReadyTarget} target whose events are watched @param {TextEntryCheck[]} entries as of `ActResult` @param {InputEventCommand[]} events
   */
  async conclude(target, entries, ...events) {
    this.#context.begin();
    const keys = events.filter(({ type }) => type === 'keyUp').length;
    const at = events.some(({ type }) => type === 'mouseMoved') && !target.isOverFrame && (target.inner ?? target.point);
    const last = keys > 0 ? { keys } : at && { at };
    const early = last ? landedAfter(target, { ...(entries.length > 0 && { entries }), ...last }) : undefined;
    await this.send(...events);
    if (early) this.#concluded = { target, answer: this.#told(early) };
  }

  /** The answer to a question that was asked before events were sent. A page may keep events from all who listen after it. @template T @param {Promise<T> | undefined} early */
  async #told(early) {
    return early && within(EVENTS_MS, early).catch(() => undefined);
  }

  /** The consequences of the act. @param {ArmedTarget} target @param {TextEntryCheck[]} [entries] @returns {Promise<LandedAct>} */
  async landed(target, entries) {
    const concluded = this.#concluded;
    this.#concluded = null;
    const isAsked = concluded !== null && concluded.target.id === target.id && concluded.target.document.documentId === target.document.documentId;
    return landed(target, entries, isAsked ? await concluded.answer : undefined);
  }

  /** Lets go of a held button or key, also when nobody waits any more. @param {InputEventCommand[]} events */
  async letGo(...events) {
    if (this.#isCutOff) return;
    const frame = await chrome.webNavigation.getFrame({ tabId: this.tabId, frameId: 0 }).catch(() => null);
    // Another page than the one that they went down in knows nothing of them.
    if (frame?.documentId === this.#effects?.page?.documentId) await this.#dispatch(events);
  }

  /** @param {InputEventCommand[]} events */
  async #dispatch(events) {
    try {
      await Promise.all(events.map(({ method, ...params }) => cdp(this.tabId, method, params)));
    } catch (error) {
      // An act may close its tab, or send it where the debugger may not be: then it has been done.
      const isCutOff = CUT_OFF.test(messageOf(error)) && !isDismissed(this.tabId);
      if (!isCutOff) throw error;
      this.#isCutOff = true;
    }
  }

  /** An act without input events. @template T @param {() => Promise<T>} act @returns {Promise<T>} */
  byScript(act) {
    this.#context.begin();
    this.#hasActed = true;
    return act();
  }

  /** Whether scripts leave the focus where it is: it is the person's. @returns {Promise<boolean>} */
  async isPersonHere() {
    return this.scripted !== null && isPersonIn(this.tabId);
  }

  /** Has the tab paint meanwhile, as often as one in front, if it can be had to. @template T @param {() => Promise<T>} run @returns {Promise<T>} */
  painting(run) {
    return this.scripted ? run() : whilePainting(this.tabId, run);
  }

  /** Resolves when a document has painted. @param {SeenDocument} document @returns {Promise<void>} */
  async frames(document) {
    const frames = askDocument(this.tabId, document, 'twoFrames');
    // In the background nothing may paint.
    await (this.scripted ? within(FRAMES_MS, frames).catch(console.debug) : frames);
  }

  /** Before a click of the middle button, which pastes the person's selection on some systems. @param {ReadyTarget} target */
  keepSelection({ document }) {
    return clipboardGuards.coverPaste(this.tabId, document);
  }

  /** Whether a press of the pointer would bring a window to the front: the tab is the one that it shows, and it is behind others. */
  wouldRaise() {
    const isRecent = this.#raising !== null && performance.now() - this.#raising.at < RAISING_MS;
    return isRecent && this.#raising ? this.#raising.answer : this.#askRaising();
  }

  /** Asked while the target is found, too. @returns {Promise<boolean>} */
  #askRaising() {
    const answer = isBehind(this.tabId);
    answer.catch(console.debug);
    this.#raising = { at: performance.now(), answer };
    return answer;
  }

  /** Before a timeout or a cancel is reported. @param {StopReason} why @param {Promise<unknown> | undefined} run @returns {Promise<string>} */
  async end(why, run) {
    // A page that a click has sent into an endless loop answers nothing any more.
    const note = await (this.#hasActed && !this.scripted ? unstick(this.tabId) : endWait(this.tabId, why));
    // Held buttons and keys are let go first.
    await within(TELL_MS, Promise.resolve(run)).catch(console.debug);
    await within(TELL_MS, this.#leave()).catch(console.debug);
    return note;
  }

  /** Nothing of the act stays in the page, and it looks as unfocused as it is. */
  async #leave() {
    await endBurst(this.tabId);
    const { seen } = await documentsOf(this.tabId);
    await askFrames(this.tabId, seen, 'rest');
  }
}
