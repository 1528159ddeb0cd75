// @ts-check
// Waits for a state of the page, across navigations. Woken by events: changes of documents, navigations, requests,
// downloads. A look now and then is for changes that nothing reports, such as those of styles.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {SeenDocument} from '../browser/page_world.js' */
/** @import {MetDialogs, PageLook, ToldLook, WaitCondition} from './wait_conditions.js' */

import { attach, isAttached } from '../browser/debugger.js';
import { meetDialogs } from '../browser/dialogs.js';
import { FRAME_TREE_MS, LOADING_LOOK_MS, LOOK_AGAIN_MS, LOOK_PAUSE_MS } from '../browser/limits.js';
import { askDocument, askFrames } from '../browser/page_world.js';
import { readingNotes } from '../browser/scripted_way.js';
import { documentNow } from '../browser/site_guard.js';
import { tabEvents, tabs } from '../browser/state.js';
import { WaitBell } from '../browser/tab_events.js';
import { seenIfLong } from '../browser/unseen_pages.js';
import { checkedInteger } from '../commands/params.js';
import { ActionError, closedMeanwhile } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import { within } from '../lib/within.js';
import { assertReachable, originOf } from '../policy/pages.js';
import { WAIT_REPORT_MS, WAIT_TIMES } from './limits.js';
import { conditionsOf, takeLook, textsOf } from './wait_conditions.js';

/** Failures of a look that the next page, or the next moment, puts right. */
const PASSING = new Set(['navigation_interrupted', 'tab_crashed']);

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function wait_for({ time, ...params }, context) {
  const startedAt = performance.now();
  const end = startedAt + context.timeout_ms - Math.min(WAIT_REPORT_MS, context.timeout_ms / 5);
  /** @type {MetDialogs} */
  const met = { dialogs: [], isAll: false };
  const conditions = conditionsOf(params, context, met);
  const ms = time === undefined ? 0 : checkedInteger('time', time, WAIT_TIMES);
  if (conditions.length === 0 && time === undefined) throw new ActionError('invalid_params', 'wait_for needs one of text, textGone, target, gone, url, state, function, download, time');
  if (startedAt + ms > end) throw new ActionError('invalid_params', `time ${ms} is not below the command's limit of ${context.timeout_ms} ms`, undefined, { hint: `Call again with timeout_ms ${ms + 5_000}.` });
  const tab = await tabs.target(context.tab_id);
  assertReachable(tab);
  const wait = () => seenIfLong(tab.id, async () => {
    if (ms > 0) await pause(ms, context.signal);
    return conditions.length > 0 ? new PageWait(tab.id, conditions, context.signal, end).run() : {};
  });
  // A dialog that comes between two looks would hang the page. Where no debugger is they are the person's.
  if (context.holdsDialogs || params.function !== undefined) await within(FRAME_TREE_MS, attach(tab.id)).catch(console.debug);
  met.isAll = isAttached(tab.id);
  const told = await (met.isAll || params.function === undefined ? meetDialogs(context, tab.id, met, wait) : wait());
  context.signal.throwIfAborted();
  // Another page may have come meanwhile.
  const [{ url }, notes] = await Promise.all([documentNow(tab.id), readingNotes(tab.id)]);
  return { value: { waited_ms: Math.round(performance.now() - startedAt), ...told }, type: 'object', origin: originOf(url), ...(met.dialogs.length > 0 && { dialogs: met.dialogs }), ...(notes && { notes }) };
}

class PageWait {
  #tabId;
  #conditions;
  #signal;
  #end;
  #startedAt = performance.now();
  #bell = new WaitBell();
  /** Documents that are asked for their next change. @type {Map<string, SeenDocument>} */
  #watched = new Map();
  /** @type {PageLook | null} */
  #last = null;
  /** What a document has told as it changed. @type {{at: number, look: ToldLook} | null} */
  #told = null;

  /** @param {number} tabId @param {WaitCondition[]} conditions @param {AbortSignal} signal @param {number} end */
  constructor(tabId, conditions, signal, end) {
    this.#tabId = tabId;
    this.#conditions = conditions;
    this.#signal = signal;
    this.#end = end;
  }

  /** @returns {Promise<Record<string, unknown>>} what the conditions tell; rejects at the end of the time */
  async run() {
    const wake = () => this.#bell.wake();
    const stopListening = tabEvents.listen(this.#tabId, wake);
    this.#signal.addEventListener('abort', wake);
    try {
      for (const { prepare } of this.#conditions) await prepare?.(this.#tabId);
      return await this.#untilMet();
    } finally {
      stopListening();
      this.#signal.removeEventListener('abort', wake);
      this.#rest();
    }
  }

  async #untilMet() {
    for (;;) {
      const lookedAt = performance.now();
      const told = await this.#tryLook();
      this.#signal.throwIfAborted();
      if (told) return told;
      const left = this.#end - performance.now();
      if (left <= 0) throw await this.#timeUp();
      const unseen = this.#last?.isUnwatched ? LOADING_LOOK_MS : LOOK_AGAIN_MS;
      const due = Math.min(unseen, left, ...this.#conditions.map(({ dueIn }) => dueIn?.() ?? LOOK_AGAIN_MS));
      await this.#bell.next(due);
      this.#signal.throwIfAborted();
      // A page that changes all the time is not looked at all the time; one that was quiet until now is looked at at once.
      const early = LOOK_PAUSE_MS - (performance.now() - lookedAt);
      if (early > 0) await pause(early, this.#signal);
    }
  }

  /** @returns {Promise<Record<string, unknown> | null>} null: not all are met */
  async #tryLook() {
    try {
      const known = this.#told;
      this.#told = null;
      const isNew = known !== null && performance.now() - known.at < LOOK_PAUSE_MS;
      const { look, changes } = await this.#inTime(takeLook(this.#tabId, this.#conditions, isNew ? known.look : null));
      this.#last = look;
      /** @type {Record<string, unknown> | null} */
      let told = null;
      try {
        told = await this.#inTime(this.#met(look));
      } finally {
        // From the look on, not from now.
        if (!told) this.#watch(look.documents.seen, changes);
      }
      return told;
    } catch (error) {
      if (error === LATE || (error instanceof ActionError && PASSING.has(error.code))) return null;
      if (!await tabs.isOpen(this.#tabId)) throw closedMeanwhile(this.#tabId);
      // An error page of the browser: the next load may bring the page.
      if (/error page|Cannot access contents/i.test(String(error))) return null;
      throw error;
    }
  }

  /** All of them at the same look. @param {PageLook} look @returns {Promise<Record<string, unknown> | null>} */
  async #met(look) {
    const told = {};
    for (const { met } of this.#conditions) {
      const fields = await met(look);
      if (!fields) return null;
      Object.assign(told, fields);
    }
    return told;
  }

  /** A page that hangs never answers. @template T @param {Promise<T>} work @returns {Promise<T>} */
  async #inTime(work) {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const late = new Promise((_, reject) => { timer = setTimeout(() => reject(LATE), Math.max(0, this.#end - performance.now())); });
    let abort = () => {};
    const aborted = new Promise((_, reject) => { abort = () => reject(LATE); });
    this.#signal.addEventListener('abort', abort);
    try {
      return await Promise.race([work, /** @type {Promise<never>} */ (late), /** @type {Promise<never>} */ (aborted)]);
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener('abort', abort);
    }
  }

  /** One question a document at a time. @param {SeenDocument[]} documents @param {Map<string, number>} changes of those that have loaded */
  #watch(documents, changes) {
    for (const document of documents) {
      const { documentId } = document;
      const since = changes.get(documentId);
      if (since === undefined || this.#watched.has(documentId)) continue;
      this.#watched.set(documentId, document);
      const ms = Math.max(0, this.#end - performance.now());
      const asked = { ms, since, pauseMs: LOOK_PAUSE_MS, texts: textsOf(this.#conditions) };
      askDocument(this.#tabId, document, 'changed', asked).then((value) => {
        if (value) this.#told = { at: performance.now(), look: { documentId, value } };
        this.#bell.wake();
      }, console.debug).finally(() => this.#watched.delete(documentId));
    }
  }

  /** Leaves no watch behind. */
  #rest() {
    askFrames(this.#tabId, [...this.#watched.values()], 'rest').catch(console.debug);
  }

  /** @returns {Promise<ActionError>} */
  async #timeUp() {
    const said = this.#conditions.map(({ words }) => words).join(' and ');
    const told = within(WAIT_REPORT_MS / 2, this.#instead()).catch(() => 'the page does not answer');
    const [instead, ...notes] = await Promise.all([told, ...this.#conditions.map(({ endRun }) => endRun?.().catch(() => ''))]);
    const seconds = Math.round((performance.now() - this.#startedAt) / 100) / 10;
    return new ActionError('execution_timeout', `waited ${seconds} s in vain for ${said}: ${instead}${notes.join('')}`, undefined, {
      hint: 'Take a snapshot or a screenshot to see the page, or call again with a larger timeout_ms.', mayHaveRun: this.#conditions.some(({ endRun }) => endRun),
    });
  }

  async #instead() {
    const look = this.#last;
    if (!look) return 'the page did not answer: it is busy, or shows a dialog that the person has to answer';
    const parts = [];
    // A script is not run once more.
    for (const { met, instead, endRun } of this.#conditions) if (endRun || !await met(look)) parts.push(await instead(look));
    return `${parts.join('; ')}; the tab is at ${look.documents.url}`;
  }
}

/** Stands for an answer that did not come in time. */
const LATE = Symbol('late');
