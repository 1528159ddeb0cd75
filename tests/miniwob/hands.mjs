// The hands of a script: looks into the page by a script that changes nothing, and acts through Tabwire's tools alone.
import { setTimeout as pause } from 'node:timers/promises';
import { shown } from '../../benches/peers/mcp_client.mjs';
import { lookingScript } from './eyes.mjs';

/** @import {McpClient} from '../../benches/peers/mcp_client.mjs' */

/**
 * @typedef {string | [number, number]} Place a target of Tabwire, or a point of the view
 * @typedef {{tool: string, ms: number, bytes: number, plain: boolean}} Act `plain`: nothing but the act happened
 */

/** How long a script waits for the page to show something. */
const SHOW_MS = 5_000;
/** Keys of an answer when nothing but the act happened. */
const EVENTS = ['navigated', 'new_tab', 'dialog', 'dialogs', 'download', 'focus', 'landed_on', 'input', 'snapshot', 'loading'];

/** @param {Place} place @param {[string, string, string]} names of the target and of both coordinates */
function placed(place, [target, x, y]) {
  return typeof place === 'string' ? { [target]: place } : { [x]: place[0], [y]: place[1] };
}

export class Hands {
  #client;
  #tabId;
  /** @type {Act[]} */
  acts = [];

  /** @param {McpClient} client @param {number} tabId */
  constructor(client, tabId) {
    this.#client = client;
    this.#tabId = tabId;
  }

  /** @param {string} tool @param {object} args */
  async #call(tool, args) {
    const began = performance.now();
    const result = await this.#client.call(tool, { tab_id: this.#tabId, ...args });
    return { answer: shown(result), ms: performance.now() - began };
  }

  /** @param {string} tool @param {object} args @returns {Promise<any>} */
  async #act(tool, args) {
    const { answer, ms } = await this.#call(tool, args);
    const value = JSON.parse(answer).result ?? {};
    const plain = !EVENTS.some((name) => name in value);
    this.acts.push({ tool, ms, bytes: Buffer.byteLength(answer), plain });
    return value;
  }

  /** @param {Function} look is given the eyes and the values @param {...unknown} values @returns {Promise<any>} */
  async look(look, ...values) {
    const { answer } = await this.#call('execute_js', { script: lookingScript(look, values) });
    return JSON.parse(answer).result;
  }

  /** Looks until it sees something. @param {Function} look @param {...unknown} values @returns {Promise<any>} */
  async until(look, ...values) {
    const end = Date.now() + SHOW_MS;
    for (;;) {
      const seen = await this.look(look, ...values);
      if (seen) return seen;
      if (Date.now() > end) throw new Error(`never seen: ${look}, ${JSON.stringify(values)}`);
      await pause(20);
    }
  }

  /** @returns {Promise<string>} the task */
  task() {
    return this.look((eyes) => eyes.text('#query'));
  }

  /** The visible element with this text. @param {string} selector @param {string} text @returns {Promise<string>} */
  named(selector, text) {
    return this.until((eyes, chosen, wanted) => {
      const found = eyes.visible(chosen).find((element) => eyes.text(element) === wanted);
      return found && eyes.path(found);
    }, selector, text);
  }

  /** @param {string} selector @param {string} text */
  async clickNamed(selector, text) {
    return this.click(await this.named(selector, text));
  }

  /** @param {Place} place @param {object} [more] */
  click(place, more = {}) {
    return this.#act('click', { ...placed(place, ['target', 'x', 'y']), ...more });
  }

  /** @param {Place} place */
  hover(place) {
    return this.#act('hover', placed(place, ['target', 'x', 'y']));
  }

  /** Into the focused element without a target. @param {string | undefined} target @param {string} text @param {object} [more] */
  type(target, text, more = {}) {
    return this.#act('type', { target, text, ...more });
  }

  /** @param {string | string[]} keys @param {string} [target] */
  press(keys, target) {
    return this.#act('press_key', { ...(typeof keys === 'string' ? { key: keys } : { keys }), target });
  }

  /** @param {string} target @param {string[]} values */
  select(target, ...values) {
    return this.#act('select_option', { target, values });
  }

  /** @param {string} target */
  check(target) {
    return this.#act('check', { target });
  }

  /** @param {string} target @param {unknown} value */
  fill(target, value) {
    return this.#act('fill_form', { fields: [{ target, value }] });
  }

  /** @param {string} target @param {object} how */
  scroll(target, how = {}) {
    return this.#act('scroll', { target, ...how });
  }

  /** @param {Place} start @param {Place} end @param {object} [more] */
  drag(start, end, more = {}) {
    const places = { ...placed(start, ['startTarget', 'startX', 'startY']), ...placed(end, ['endTarget', 'endX', 'endY']) };
    return this.#act('drag', { ...places, ...more });
  }

  /** @param {[number, number][]} points of the view */
  draw(points) {
    return this.#act('draw', { points });
  }
}
