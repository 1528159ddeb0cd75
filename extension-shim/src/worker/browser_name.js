// @ts-check
// The name of this browser's profile, which the person gives it and the daemon keeps.

/** @import {BrowserNameFrame} from '../../types/protocol.js' */

const DECLINED = 'name_declined';

/**
 * @typedef {{browser_name: string | null, browser_label: string, offered_name: string, asks_for_name: boolean, name_problem: string}} NameState
 *   `offered_name`: what the browser itself calls its profile, empty if that is not known; `browser_name` null: it has none; `asks_for_name`: other browsers are connected, and the person was not asked before
 */

export class ProfileName {
  /** @type {string | null} */
  #name = null;
  #label = '';
  #offered = '';
  #hasOthers = false;
  #problem = '';
  #isDeclined = false;
  /** @type {(text: string) => boolean} false: no daemon is connected */
  send = () => false;
  onChange = () => {};

  async restore() {
    this.#isDeclined = (await chrome.storage.local.get(DECLINED))[DECLINED] === true;
  }

  /** @returns {NameState} */
  view() {
    return { browser_name: this.#name, browser_label: this.#label, offered_name: this.#offered, asks_for_name: this.isAsking, name_problem: this.#problem };
  }

  /** Whether the person is to be asked. */
  get isAsking() {
    return this.#hasOthers && this.#name === null && !this.#isDeclined;
  }

  /** @param {string} name as the person has typed it @returns {boolean} false: no daemon is connected */
  give(name) {
    this.#problem = '';
    return this.send(JSON.stringify({ type: 'name_browser', name: name.trim() }));
  }

  /** The person was asked and gives no name. */
  async decline() {
    this.#isDeclined = true;
    this.onChange();
    await chrome.storage.local.set({ [DECLINED]: true });
  }

  /** @param {BrowserNameFrame} frame */
  handleFrame({ name, label, others, offered = '', problem = '' }) {
    this.#name = name ?? null;
    this.#label = label;
    this.#offered = offered;
    this.#hasOthers = others;
    // News of other browsers do not take away the reason that the person still reads.
    if (problem || name) this.#problem = problem;
    this.onChange();
  }

  /** The daemon is gone, or another one is there. */
  forget() {
    this.#name = null;
    this.#label = '';
    this.#offered = '';
    this.#hasOthers = false;
    this.#problem = '';
    this.onChange();
  }
}
