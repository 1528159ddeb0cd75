// @ts-check
// Acts as steps that can be run again: elements by words that outlive their document, secrets as parameters. Pure.

/** @import {LastingTarget, RecordedStep, StepRecording} from '../browser/step_recordings.js' */

import { STEPS_MAX } from './limits.js';

/** The parameters of each act that a step keeps. Acts that only read are no steps. @type {Record<string, string[]>} */
const KEPT = {
  navigate: ['url'], refresh: [], back: [], forward: [],
  click: ['target', 'button', 'doubleClick', 'modifiers', 'hold_ms', 'wait'], hover: ['target'],
  scroll: ['target', 'direction', 'dx', 'dy', 'to', 'until_text'], drag: ['startTarget', 'endTarget'],
  type: ['target', 'text', 'clear', 'slowly', 'submit'], press_key: ['target', 'key', 'keys'],
  select_option: ['target', 'values'], check: ['target'], uncheck: ['target'], fill_form: ['fields', 'submit'],
  upload_file: ['target', 'paths', 'drop'], clipboard: ['operation', 'target', 'text'],
  wait_for: ['text', 'text_gone', 'target', 'gone', 'url', 'state', 'function', 'download', 'time'],
  execute_js: ['script', 'user_gesture'],
};
/** Acts that change a page and that no step can repeat. */
const UNREPEATED = new Set(['draw', 'call_page_tool', 'tab_open', 'dialog']);
/** Parameters that name an element. */
const TARGETS = ['target', 'startTarget', 'endTarget', 'gone'];
/** Parameters that name a place by numbers. */
const POINTS = { click: ['x', 'y'], hover: ['x', 'y'], drag: ['startX', 'endX'] };
/** Its words are looked for, and it need not be there. */
const UNSEEN = new Set(['wait_for', 'scroll']);
/** The shortest secret that is looked for in other values. */
const SECRET_LEAST = 4;

/**
 * @typedef {object} RecordedAct
 * @property {string} type
 * @property {Record<string, any>} params
 * @property {Map<string, LastingTarget>} seen the elements that it has acted on, by how it named them
 * @property {any} value of its result
 *
 * @typedef {object} StepTools
 * @property {(target: unknown) => string} keyOf how an act names an element
 * @property {(target: unknown) => boolean} isRef whether it is named by a ref
 * @property {string} atPoint the key of an element that was named by numbers
 * @property {string} atFocus the key of the element that had the focus
 * @property {(text: string) => boolean} isCardNumber
 */

class NoStep extends Error {}

export class StepWriter {
  #recording;
  #tools;
  /** Values that were hidden, to find them elsewhere. They are not kept for the next worker. @type {Map<string, string>} by value, its parameter */
  #hidden;

  /** @param {StepRecording} recording @param {StepTools} tools @param {Map<string, string>} hidden */
  constructor(recording, tools, hidden) {
    this.#recording = recording;
    this.#tools = tools;
    this.#hidden = hidden;
  }

  /** Adds an act that has succeeded. @param {RecordedAct} act @returns {boolean} whether anything was added */
  add(act) {
    if (!Object.hasOwn(KEPT, act.type) && !UNREPEATED.has(act.type)) return false;
    const { steps } = this.#recording;
    try {
      if (UNREPEATED.has(act.type)) throw new NoStep('a recording has no step for it');
      if (steps.length >= STEPS_MAX) throw new NoStep(`a batch has ${STEPS_MAX} steps at most`);
      steps.push(this.#step(act));
      if (act.value?.new_tab) this.leaveOut(`after step ${steps.length}: what is done in the new tab`);
      const isWay = ['navigate', 'refresh', 'back', 'forward', 'wait_for'].includes(act.type);
      if (!isWay && typeof act.value?.navigated === 'string') this.expectPage(act.value.navigated);
    } catch (error) {
      if (!(error instanceof NoStep)) throw error;
      this.leaveOut(`${act.type} after step ${steps.length}: ${error.message}`);
    }
    return true;
  }

  /** @param {string} act that no step can repeat, with the reason */
  leaveOut(act) {
    const { left_out: leftOut } = this.#recording;
    if (leftOut.length < STEPS_MAX) leftOut.push(act);
  }

  /** Where an act leads to another page, that one has to come again. @param {string} url */
  expectPage(url) {
    const { steps } = this.#recording;
    if (steps.length >= STEPS_MAX) return;
    const { origin, pathname, protocol } = new URL(url);
    if (protocol === 'http:' || protocol === 'https:') steps.push({ action: 'wait_for', url: origin + pathname });
  }

  /** @param {RecordedAct} act @returns {RecordedStep} */
  #step({ type, params, seen }) {
    /** @type {RecordedStep} */
    const step = { action: type };
    for (const name of KEPT[type]) if (params[name] !== undefined && params[name] !== null) step[name] = params[name];
    for (const name of TARGETS) if (step[name] !== undefined) step[name] = this.#lasting(type, step[name], seen).target;
    const points = /** @type {Record<string, string[]>} */ (POINTS)[type] ?? [];
    if (points.some((name) => params[name] !== undefined)) this.#byPoint(step, seen);
    if (type === 'fill_form') step.fields = params.fields.map((/** @type {any} */ field) => this.#field(field, seen));
    if (type === 'type') this.#typed(step, params, seen);
    if (type === 'press_key') this.#pressed(step, params, seen);
    if (type === 'select_option' && params.target !== undefined && seen.get(this.#tools.keyOf(params.target))?.isSecret) step.values = [this.#param(seen.get(this.#tools.keyOf(params.target)), params.values)];
    if (type === 'clipboard' && step.text !== undefined) step.text = this.#shown(String(step.text));
    if (typeof step.url === 'string') step.url = this.#shown(step.url);
    for (const script of ['script', 'function']) if (typeof step[script] === 'string' && this.#holdsHidden(step[script])) throw new NoStep('its script has a secret in it');
    return step;
  }

  /** @param {string} type @param {unknown} given @param {Map<string, LastingTarget>} seen @returns {LastingTarget} */
  #lasting(type, given, seen) {
    const known = seen.get(this.#tools.keyOf(given));
    if (known?.target) return known;
    if (!known && UNSEEN.has(type) && !this.#tools.isRef(given)) return { target: String(given), isSecret: false, called: '', kind: 'textbox' };
    throw new NoStep(`nothing that lasts names ${String(given).slice(0, 60)}`);
  }

  /** @param {RecordedStep} step @param {Map<string, LastingTarget>} seen */
  #byPoint(step, seen) {
    const target = seen.get(this.#tools.atPoint)?.target;
    if (!target || step.action === 'drag') throw new NoStep('it names its place by numbers');
    step.target = target;
  }

  /** @param {any} field @param {Map<string, LastingTarget>} seen */
  #field({ target, value }, seen) {
    const lasting = this.#lasting('fill_form', target, seen);
    return { target: lasting.target, type: lasting.kind, value: this.#value(lasting, value) };
  }

  /** @param {RecordedStep} step @param {Record<string, any>} params @param {Map<string, LastingTarget>} seen */
  #typed(step, { target }, seen) {
    const field = seen.get(target === undefined ? this.#tools.atFocus : this.#tools.keyOf(target));
    if (target === undefined && field?.target) step.target = field.target;
    step.text = this.#value(field, step.text);
  }

  /** Keys one by one into a hidden field would tell it. @param {RecordedStep} step @param {Record<string, any>} params @param {Map<string, LastingTarget>} seen */
  #pressed(step, { key, keys = [] }, seen) {
    const pressed = [key ?? [], keys].flat();
    if (seen.get(this.#tools.atFocus)?.isSecret && pressed.some((one) => [...String(one)].length === 1)) throw new NoStep('it enters a secret key by key: use type');
    if (step.target === undefined) return;
    step.target = String(step.target);
  }

  /** @param {LastingTarget | undefined} field @param {unknown} value */
  #value(field, value) {
    if (field?.isSecret && typeof value !== 'boolean') return this.#param(field, value);
    return typeof value === 'string' ? this.#shown(value) : value;
  }

  /** A text, unless it is a secret that stands elsewhere. @param {string} text */
  #shown(text) {
    const known = this.#hidden.get(text);
    if (known !== undefined) return `{{param.${known}}}`;
    if (this.#tools.isCardNumber(text)) return this.#param({ called: 'card number' }, text);
    if (this.#holdsHidden(text)) throw new NoStep('a value of it has a secret in it');
    return text;
  }

  /** @param {string} text */
  #holdsHidden(text) {
    return [...this.#hidden.keys()].some((value) => value.length >= SECRET_LEAST && text.includes(value));
  }

  /** A parameter in the place of a secret; the same secret has the same one. @param {{called: string} | undefined} field @param {unknown} value */
  #param(field, value) {
    const text = String(value);
    const { params } = this.#recording;
    const known = this.#hidden.get(text);
    if (known !== undefined) return `{{param.${known}}}`;
    const plain = (field?.called ?? '').toLowerCase().replace(/[^a-z0-9]+/g, '_').replace(/^[_\d]+|_+$/g, '').slice(0, 32) || 'secret';
    let name = plain;
    for (let number = 2; params.includes(name); number += 1) name = `${plain}_${number}`;
    params.push(name);
    if (text !== '') this.#hidden.set(text, name);
    return `{{param.${name}}}`;
  }
}
