// @ts-check
// What is closed to agents while the person does a step alone: the step's tabs, and all pages of its sites. Pure.

import { ActionError } from '../lib/errors.js';

/** An address is no name: it has no parent that other sites share. */
const ADDRESS = /^\[|^[0-9.]+$/;

const FRONT_HINT = 'Work in the tab in the background: omit `focus`, and do not activate a tab until the ask_user call of the step has ended.';

export class HandedOver {
  /** @type {Set<string>} */
  #hosts = new Set();
  /** Tabs in which the person does a step, and those that these opened. @type {Set<number>} */
  #tabs = new Set();
  #isBegun = false;

  /**
   * @param {Iterable<string>} hosts @param {Iterable<number>} tabs @param {boolean} isBegun the person has begun a step that is not over
   * @returns {boolean} whether that is a change
   */
  set(hosts, tabs, isBegun) {
    const before = this.#text();
    this.#hosts = new Set(hosts);
    this.#tabs = new Set(tabs);
    this.#isBegun = isBegun;
    return this.#text() !== before;
  }

  #text() {
    return JSON.stringify([[...this.#hosts], [...this.#tabs], this.#isBegun]);
  }

  /** Whether a site is closed. Tabs stay closed after the end of their step. */
  get isAny() {
    return this.#hosts.size > 0;
  }

  /** Whether the person has begun a step that is not over. */
  get isBegun() {
    return this.#isBegun;
  }

  /** @throws {ActionError} a tab that came to the front now would get the keys that the person presses in their step */
  assertFrontIsFree() {
    if (this.#isBegun) throw notNow('no tab may come to the front', FRONT_HINT);
  }

  /** @throws {ActionError} a trace tells of all tabs in the process of its own, to which the person's may belong */
  assertNoTrace() {
    if (this.#isBegun) throw notNow('no trace may begin');
  }

  /** @param {number | undefined} tabId @returns {boolean} whether the person does, or did, a step in it */
  hasTab(tabId) {
    return tabId !== undefined && this.#tabs.has(tabId);
  }

  /** @param {string} url @returns {boolean} whether its page is of a site that is closed */
  covers(url) {
    if (this.#hosts.size === 0) return false;
    const host = handedHost(url);
    return host !== '' && [...this.#hosts].some((closed) => isSameSite(closed, host));
  }
}

/** @param {string} url @returns {string} the host of the page that it shows or holds; '' if it is of none */
export function handedHost(url) {
  let inner = url;
  while (/^(?:view-source|blob|filesystem):/i.test(inner)) inner = inner.slice(inner.indexOf(':') + 1);
  if (!URL.canParse(inner)) return '';
  const { protocol, hostname } = new URL(inner);
  return protocol === 'http:' || protocol === 'https:' ? hostname.replace(/\.$/, '') : '';
}

/**
 * Whether pages of these hosts may reach each other: those below one name of two labels. Which names anybody can register
 * below is not known here, so this closes more than it must, such as all of `co.uk`.
 * @param {string} one @param {string} other
 */
export function isSameSite(one, other) {
  if (one === other) return true;
  return !ADDRESS.test(one) && !ADDRESS.test(other) && one.includes('.') && baseOf(one) === baseOf(other);
}

/** @param {string} host */
function baseOf(host) {
  return host.split('.').slice(-2).join('.');
}

/** @param {string} what may not be done in any tab @param {string} [hint] */
function notNow(what, hint) {
  return new ActionError('handed_over', `the user does a step alone, and ${what} meanwhile`, undefined, { mayHaveRun: false, ...(hint && { hint }) });
}

/** @param {string} where such as "tab 7" @param {boolean} ran */
export function handedOver(where, ran) {
  return new ActionError('handed_over', `the user does a step on ${where} alone, so agents may neither look nor act there`, undefined, { mayHaveRun: ran });
}
