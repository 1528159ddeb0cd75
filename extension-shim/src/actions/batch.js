// @ts-check
// Several actions in one command, one after the other until one fails. Each is as if called alone: the person's limits are
// asked anew, and it has a limit of its own.

/** @import {Context, Dialog, Outcome} from '../../types/protocol.js' */

import { tabs } from '../browser/state.js';
import { STEP_NAME, STEP_REPORT_MS, STEP_RESULTS_MAX, STEPS_MAX } from '../commands/limits.js';
import { checkedInteger } from '../commands/params.js';
import { errorBody } from '../commands/report.js';
import { filledParams, withResults } from '../commands/step_templates.js';
import { ActionError } from '../lib/errors.js';
import { withoutEmpty } from '../lib/without_empty.js';
import { STEP_TIMES } from './limits.js';

/** A person draws for minutes, the daemon writes files, a dialog is held by the batch itself, and a batch of a batch is a list. */
const ALONE = new Set(['batch', 'dialog', 'draw_mode', 'pdf', 'trace']);

/**
 * @typedef {{action: string, as?: string, tab_id?: unknown, timeout_ms?: unknown, params: Record<string, unknown>}} BatchStep
 */

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function batch({ steps }, context) {
  const run = new BatchRun(checkedSteps(steps), await tabs.target(context.tab_id), context);
  return run.outcome();
}

/** @param {unknown} steps @returns {BatchStep[]} */
function checkedSteps(steps) {
  if (!Array.isArray(steps) || steps.length === 0 || steps.length > STEPS_MAX) throw new ActionError('invalid_params', `steps must be a list of 1 to ${STEPS_MAX} actions`);
  return steps.map((step, at) => {
    const { action, as, tab_id, timeout_ms, ...params } = step ?? {};
    if (typeof action !== 'string') throw new ActionError('invalid_params', `step ${at} names no action`);
    if (ALONE.has(action)) throw new ActionError('invalid_params', `step ${at}: ${action} cannot be a step`, undefined, { hint: `Call ${action} by itself.` });
    if (as !== undefined && !(typeof as === 'string' && STEP_NAME.test(as))) throw new ActionError('invalid_params', `step ${at}: as must be a word of letters, digits, _ and -`);
    return { action, as, tab_id, timeout_ms, params };
  });
}

class BatchRun {
  #steps;
  #tabId;
  #context;
  #end;
  /** Tabs that steps have opened: with its own tab the only ones, since others may be in use by other commands. @type {Set<number>} */
  #opened = new Set();
  /** @type {Map<string, unknown>} */
  #named = new Map();
  /** @type {Set<string>} */
  #names;
  /** @type {unknown[]} */
  #results = [];
  /** @type {(string | null)[]} */
  #origins = [];
  /** @type {Dialog[]} */
  #dialogs = [];
  #size = 0;
  /** Of the first step that had any. @type {import('../../types/protocol.js').ReportedNotes | undefined} */
  #notes;

  /** @param {BatchStep[]} steps @param {{id: number}} tab @param {Context} context */
  constructor(steps, { id }, context) {
    this.#steps = steps;
    this.#tabId = id;
    this.#context = context;
    this.#end = performance.now() + context.timeout_ms - Math.min(STEP_REPORT_MS, context.timeout_ms / 5);
    this.#names = new Set(steps.flatMap(({ as }) => (as === undefined ? [] : [as])));
  }

  /** @returns {Promise<Outcome>} */
  async outcome() {
    for (const [at, step] of this.#steps.entries()) {
      try {
        this.#add(step, await this.#run(step));
      } catch (error) {
        // Nobody waits for an answer any more.
        this.#context.signal.throwIfAborted();
        return this.#ended(at, error);
      }
    }
    return this.#answer({});
  }

  /** @param {BatchStep} step @returns {Promise<Outcome>} */
  async #run(step) {
    this.#context.signal.throwIfAborted();
    const [tabId, timeout] = withResults([step.tab_id, step.timeout_ms], this.#named, this.#names);
    const params = filledParams(step.action, step.params, this.#named, this.#names);
    const left = Math.floor(this.#end - performance.now());
    if (left <= 0) throw new ActionError('execution_timeout', `the batch has no time left of its ${this.#context.timeout_ms / 1000} s`, undefined, { mayHaveRun: false, hint: 'Call again with a larger timeout_ms and the steps that have not run.' });
    const own = timeout === undefined ? left : checkedInteger('timeout_ms', timeout, STEP_TIMES);
    return this.#context.perform({ type: step.action, params, tab_id: this.#tabOf(tabId), timeout_ms: Math.min(own, left) });
  }

  /** @param {unknown} tabId @returns {number} */
  #tabOf(tabId) {
    if (tabId === undefined || tabId === this.#tabId) return this.#tabId;
    if (typeof tabId === 'number' && this.#opened.has(tabId)) return tabId;
    throw new ActionError('invalid_params', `a step of a batch in tab ${this.#tabId} cannot use tab ${JSON.stringify(tabId)}`, undefined, {
      mayHaveRun: false, hint: 'Leave tab_id out, give the tab_id of a tab that an earlier step has opened, such as {{opened.tab_id}}, or make a batch for each tab.',
    });
  }

  /** @param {BatchStep} step @param {Outcome} outcome */
  #add({ action, as }, { value = null, origin, dialogs, notes }) {
    if (as !== undefined) this.#named.set(as, value);
    const openedId = action === 'tab_open' ? /** @type {any} */ (value)?.tab_id : undefined;
    if (Number.isInteger(openedId)) this.#opened.add(openedId);
    this.#dialogs.push(...dialogs ?? []);
    this.#notes ??= notes;
    this.#origins.push(origin ?? null);
    const bytes = new TextEncoder().encode(JSON.stringify(value)).length;
    const isTooLarge = this.#size + bytes > STEP_RESULTS_MAX;
    this.#results.push(isTooLarge ? { left_out: `${bytes} bytes: run this action alone` } : value);
    if (!isTooLarge) this.#size += bytes;
  }

  /** @param {number} at @param {unknown} error @returns {Outcome} */
  #ended(at, error) {
    const { code, message, ...more } = errorBody(error);
    const failed = { step: at, action: this.#steps[at].action, error: message, reason: code, ...more };
    return this.#answer({ failed, not_run: this.#steps.slice(at + 1).map(({ action }) => action) });
  }

  /** @param {{failed?: object, not_run?: string[]}} end @returns {Outcome} the failure comes first: a long answer is read in parts */
  #answer(end) {
    const told = this.#origins.filter((origin) => origin !== null);
    const origin = told.at(-1);
    const isOne = told.every((one) => one === origin);
    const value = { ...withoutEmpty(end), ...(isOne ? {} : { origins: this.#origins }), results: this.#results };
    return { value, type: 'object', ...(origin && { origin }), ...(this.#dialogs.length > 0 && { dialogs: this.#dialogs }), ...(this.#notes && { notes: this.#notes }) };
  }
}
