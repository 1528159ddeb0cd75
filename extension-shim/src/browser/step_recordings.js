// @ts-check
// Recordings of what an agent, or the person, does in a tab, as steps that can be run again. Kept for the next worker, and
// with the session: no value that a field hides is ever in it.

/** @import {ReadyTarget} from './targets.js' */

import { once } from '../lib/once.js';
import { sessionItems } from '../lib/session_items.js';

const KEY = 'step_recordings';

/**
 * @typedef {Record<string, unknown> & {action: string}} RecordedStep as a step of a batch
 *
 * @typedef {object} StepRecording
 * @property {string} client whose acts are recorded, or who asked for it
 * @property {RecordedStep[]} steps
 * @property {string[]} params names of values that the recording does not have
 * @property {string[]} left_out acts that no step can repeat, each with the reason
 * @property {PersonRecording} [person] absent: of the client's own acts
 *
 * @typedef {object} PersonRecording what the person does is recorded
 * @property {string} name the client's name for itself
 * @property {string} site on which the person has allowed it
 * @property {number} until when it ends at the latest
 * @property {string} [ended] why it has ended; its client has not got it yet
 *
 * @typedef {object} LastingTarget an element as steps name it
 * @property {string | null} target null: nothing but a ref names it
 * @property {boolean} isSecret whether its value is to be hidden
 * @property {string} called by which a value for it is called
 * @property {string} kind as fields of `fill_form` are called
 */

export class StepRecordings {
  /** @type {Map<number, StepRecording>} */
  #open = new Map();
  /** Of the act under way: the elements that it has acted on, by how it named them. @type {Map<number, Map<string, LastingTarget>>} */
  #seen = new Map();
  /** Finds words for an element that outlive its document. @type {(target: ReadyTarget) => Promise<LastingTarget>} */
  describe = () => Promise.reject(new Error('nobody describes elements'));

  /** Reads the recordings of an earlier worker. */
  restore = once(async () => {
    this.#open = new Map(/** @type {any} */ (await sessionItems(KEY))[KEY] ?? []);
  });

  /** @param {number} tabId @returns {StepRecording | undefined} */
  of(tabId) {
    return this.#open.get(tabId);
  }

  /** @returns {[number, StepRecording][]} */
  get all() {
    return [...this.#open];
  }

  /** The browser has given a tab another id. @param {number} added @param {number} removed */
  handleReplaced(added, removed) {
    const recording = this.#open.get(removed);
    if (!recording) return;
    this.close(removed);
    this.open(added, recording);
  }

  /** @param {number} tabId @param {StepRecording} recording */
  open(tabId, recording) {
    this.#open.set(tabId, recording);
    this.keep();
  }

  /** @param {number} tabId */
  close(tabId) {
    if (!this.#open.delete(tabId)) return;
    this.#seen.delete(tabId);
    this.keep();
  }

  keep() {
    chrome.storage.session.set({ [KEY]: [...this.#open] }).catch(console.warn);
  }

  /** An act begins. @param {number} tabId */
  begin(tabId) {
    if (this.#open.has(tabId)) this.#seen.set(tabId, new Map());
  }

  /** The elements of the act under way. @param {number} tabId @returns {Map<string, LastingTarget>} */
  seen(tabId) {
    return this.#seen.get(tabId) ?? new Map();
  }

  /**
   * An act has found an element; before it is acted on it still has the words of its page.
   * @template {ReadyTarget} T @param {T} target @param {string} named how the act named it: `targetKey` @returns {Promise<T>}
   */
  async note(target, named) {
    const seen = this.#seen.get(target.tabId);
    // Of an act that looks twice the first look counts: the act itself may have changed the words.
    if (seen && !seen.has(named)) seen.set(named, await this.describe(target));
    return target;
  }
}

/** How acts name the element at a point, and the one that has the focus. */
export const AT_POINT = 'point';
export const AT_FOCUS = 'focus';

/** @param {object} wanted of `parseTarget` */
export function targetKey(wanted) {
  return JSON.stringify(wanted);
}
