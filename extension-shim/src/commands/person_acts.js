// @ts-check
// What the person does in a tab, as steps that can be run again. What they type is a parameter, never a value. Pure.

/** @import {LastingTarget, StepRecording} from '../browser/step_recordings.js' */

import { StepWriter } from './recorded_steps.js';

/**
 * @typedef {Pick<PersonAct, 'kind' | 'key' | 'values' | 'on'>} CheckedAct
 * @typedef {LastingTarget & {isPage?: boolean}} ActedTarget `isPage`: the page as a whole
 */

/** Keys that are told of. */
const KEY = /^(?:Shift\+)?(?:Enter|Escape|Tab|Space|Arrow(?:Up|Down|Left|Right))$/;
const KINDS = ['click', 'double', 'type', 'fill', 'select', 'check', 'key', 'file'];
const FIELDS = ['combobox', 'checkbox', 'radio', 'textbox'];
const [NAMES_MAX, NAME_MAX, VALUES_MAX, CALLED_MAX] = [3, 2_000, 50, 200];

/**
 * A message of a document: its words are those of its page. @param {any} told
 * @returns {{act: CheckedAct, names: string[], isSecret: boolean, called: string, kind: string, isPage: boolean} | null} null: it is none of ours
 */
export function checkedAct(told) {
  const { kind, key, values, on, names, isSecret, called, field } = told ?? {};
  const areTexts = (/** @type {unknown} */ list, /** @type {number} */ most) => Array.isArray(list) && list.length <= most && list.every((one) => typeof one === 'string' && one.length <= NAME_MAX);
  const isWhole = KINDS.includes(kind) && areTexts(names, NAMES_MAX) && typeof called === 'string' && called.length <= CALLED_MAX;
  const isFit = kind === 'key' ? KEY.test(key) : kind === 'check' ? typeof on === 'boolean' : kind !== 'select' || areTexts(values, VALUES_MAX);
  if (!isWhole || !isFit) return null;
  const act = { kind, ...(kind === 'key' && { key }), ...(kind === 'select' && { values }), ...(kind === 'check' && { on }) };
  return { act, names, isSecret: isSecret !== false, called, kind: FIELDS.includes(field) ? field : 'textbox', isPage: kind === 'key' && field === 'page' };
}

export class PersonSteps {
  #recording;
  #writer;

  /** @param {StepRecording} recording @param {(text: string) => boolean} isCardNumber */
  constructor(recording, isCardNumber) {
    this.#recording = recording;
    // Nothing that is typed is known here, so there is nothing to find elsewhere.
    this.#writer = new StepWriter(recording, { keyOf: String, isRef: () => false, atPoint: '', atFocus: '', isCardNumber }, new Map());
  }

  /** @param {CheckedAct} act @param {ActedTarget} element */
  add(act, element) {
    if (act.kind === 'file') return this.leaveOut('choosing files');
    const last = this.#recording.steps.at(-1);
    const isSame = last !== undefined && element.target !== null && last.target === element.target;
    if (act.kind === 'double' && isSame && last.action === 'click') {
      last.doubleClick = true;
      return;
    }
    // The typing goes on, or begins with a click that `type` makes itself.
    if (act.kind === 'type' && isSame && last.action === 'type') return;
    if (act.kind === 'select' && isSame && last.action === 'select_option' || act.kind === 'type' && isSame && last.action === 'click') this.#recording.steps.pop();
    const named = element.called || 'an element';
    // Whatever is typed is treated as the value of a secret is.
    const isHidden = act.kind === 'type' || act.kind === 'fill' || act.kind === 'select' && element.isSecret;
    const seen = new Map([[named, { ...element, isSecret: isHidden }]]);
    this.#writer.add({ ...stepOf(act, element.isPage ? {} : { target: named }), seen, value: null });
  }

  /** @param {string} url that the person has opened */
  open(url) {
    this.#writer.add({ type: 'navigate', params: { url }, seen: new Map(), value: null });
  }

  reload() {
    this.#writer.add({ type: 'refresh', params: {}, seen: new Map(), value: null });
  }

  /** An act has led to a page. @param {string} url */
  expect(url) {
    this.#writer.expectPage(url);
  }

  /** @param {string} what */
  leaveOut(what) {
    this.#writer.leaveOut(`after step ${this.#recording.steps.length}: ${what}`);
  }
}

/** @param {CheckedAct} act @param {{target?: string}} on @returns {{type: string, params: Record<string, any>}} */
function stepOf({ kind, key, values, on: isOn }, on) {
  switch (kind) {
    case 'type': return { type: 'type', params: { ...on, text: '', clear: true } };
    case 'fill': return { type: 'fill_form', params: { fields: [{ ...on, value: '' }] } };
    case 'select': return { type: 'select_option', params: { ...on, values } };
    case 'check': return { type: isOn ? 'check' : 'uncheck', params: on };
    case 'key': return { type: 'press_key', params: { ...on, key } };
    default: return { type: 'click', params: { ...on, ...(kind === 'double' && { doubleClick: true }) } };
  }
}
