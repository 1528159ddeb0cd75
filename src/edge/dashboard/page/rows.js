// @ts-check
// Rows on one time axis: all that the page has seen of them, and a list that shows those on the screen only.

import { byId, clock, element, length, mark, say } from './parts.js';
import { drawSegments } from './phases.js';

/** @import {Segment} from './phases.js' */

/** The page forgets the oldest beyond this many. */
const KEPT = 10_000;
/** Rows above and below the screen that are ready. */
const SPARE = 4;
const FINEST_MS = 20;

/**
 * @typedef {object} TimedRow
 * @property {string} id
 * @property {number} from
 * @property {number | undefined} to when it was over
 * @property {Segment[]} segments
 * @property {string} text for the search
 * @property {any} told as the daemon sends it
 */

/**
 * @template {TimedRow} R
 * @typedef {object} RowLook how the rows of a list look
 * @property {() => HTMLElement[]} cells of an empty row; one of them is the `.track`
 * @property {(node: HTMLElement, row: R) => void} fill
 * @property {(isAny: boolean) => string} empty the words of a list that shows nothing; whether there is any row
 */

/** @template {TimedRow} R */
export class RowStore {
  #rowOf;
  /** @type {Map<string, R>} */
  #rows = new Map();
  /** Oldest first. @type {R[]} */
  #order = [];

  /** @param {(told: any) => R} rowOf */
  constructor(rowOf) {
    this.#rowOf = rowOf;
  }

  /** @param {any[]} told */
  take(told) {
    for (const one of told) {
      const row = this.#rowOf(one);
      const known = this.#rows.get(row.id);
      this.#rows.set(row.id, row);
      this.kept(row);
      if (known) this.#order[this.#order.lastIndexOf(known)] = row;
      else {
        let at = this.#order.length;
        while (at > 0 && this.#order[at - 1].from > row.from) at -= 1;
        this.#order.splice(at, 0, row);
      }
    }
    if (this.#order.length <= KEPT) return;
    for (const gone of this.#order.splice(0, this.#order.length - KEPT)) {
      this.#rows.delete(gone.id);
      this.forgotten(gone);
    }
  }

  /** For those who keep a list of some of the rows: a row is there, or has changed. @param {R} _row */
  kept(_row) {}

  /** @param {R} _row that the page keeps no longer */
  forgotten(_row) {}

  /** @param {string} id */
  get(id) {
    return this.#rows.get(id);
  }

  /** Oldest first. */
  get all() {
    return this.#order;
  }

  /** @param {number} since @returns {number} how many began after it */
  countSince(since) {
    let [low, high] = [0, this.#order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#order[middle].from < since) low = middle + 1;
      else high = middle;
    }
    return this.#order.length - low;
  }
}

/** The list of a section: only the rows on the screen are elements, and those are used again. @template {TimedRow} R */
export class RowList {
  #store;
  #look;
  /** @type {(name: string) => any} */
  #part;
  /** @type {HTMLElement} */
  #list;
  /** @type {HTMLElement} */
  #rows;
  /** @type {HTMLElement} */
  #axis;
  /** At the last look at the store; oldest first, the list has the newest at the top. @type {R[]} */
  #shown = [];
  /** @type {HTMLElement[]} */
  #pool = [];
  /** @type {((row: R) => boolean) | null} */
  #isIn = null;
  #find = '';
  #span = 0;
  #chosen = '';
  #isStale = true;
  #height = 30;
  #isPlaced = false;
  #axisWidth = 400;
  /** @type {(row: R | undefined) => void} */
  onOpen = () => {};

  /** @param {HTMLElement} section @param {RowStore<R>} store @param {RowLook<R>} look */
  constructor(section, store, look) {
    this.#store = store;
    this.#look = look;
    this.#part = (name) => section.querySelector(`.${name}`);
    [this.#list, this.#rows, this.#axis] = ['list', 'rows', 'axis'].map(this.#part);
    this.#list.addEventListener('scroll', () => this.draw(), { passive: true });
    this.#list.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => this.#handleKey(event));
    this.#rows.addEventListener('click', (/** @type {any} */ event) => {
      const id = event.target.closest('.row')?.dataset.id;
      if (id) this.open(id);
    });
    this.#part('newest').addEventListener('click', () => { this.#list.scrollTop = 0; });
    section.querySelector('.find input')?.addEventListener('input', (/** @type {any} */ { target }) => {
      this.#find = target.value.trim().toLowerCase();
      this.#begin();
    });
    section.querySelector('.span select')?.addEventListener('change', (/** @type {any} */ { target }) => { this.#span = Number(target.value); this.draw(); });
    new ResizeObserver(() => { this.#measure(); this.draw(); }).observe(this.#list);
  }

  /** The rows that it shows, oldest first. */
  get shown() {
    this.#refresh();
    return this.#shown;
  }

  /** @param {number} place from the top @returns {R | undefined} */
  #at(place) {
    return this.#shown[this.#shown.length - 1 - place];
  }

  /** @param {number} from place @param {number} to place that is not among them @returns {R[]} from the top down */
  #between(from, to) {
    const count = this.#shown.length;
    return this.#shown.slice(Math.max(0, count - to), Math.max(0, count - from)).reverse();
  }

  /** @param {string | undefined} id @returns {number} its place from the top; -1: it is not shown */
  #placeOf(id) {
    const at = this.#shown.findLastIndex((row) => row.id === id);
    return at < 0 ? -1 : this.#shown.length - 1 - at;
  }

  /** The store has changed. */
  handleChange() {
    this.#isStale = true;
  }

  /** Shows these rows only, of those that are searched for. @param {((row: R) => boolean) | null} isIn null: all */
  filter(isIn) {
    this.#isIn = isIn;
    this.#begin();
  }

  #begin() {
    this.#isStale = true;
    this.#list.scrollTop = 0;
    this.draw();
  }

  /** @param {string} id */
  open(id) {
    this.#chosen = id;
    this.draw();
    this.onOpen(this.#store.get(id));
  }

  close() {
    this.#chosen = '';
    this.draw();
    this.#list.focus();
  }

  #refresh() {
    if (!this.#isStale) return;
    this.#isStale = false;
    const height = this.#height;
    const before = this.#at(Math.floor(this.#list.scrollTop / height))?.id;
    const [isIn, find] = [this.#isIn, this.#find];
    const isAll = isIn === null && find === '';
    const all = this.#store.all;
    this.#shown = isAll ? all.slice() : all.filter((row) => (isIn === null || isIn(row)) && (find === '' || row.text.includes(find)));
    const full = `${this.#shown.length * height}px`;
    if (this.#rows.style.height !== full) this.#rows.style.height = full;
    // Who reads further down keeps their place.
    if (this.#list.scrollTop < height || before === undefined) return;
    const now = this.#placeOf(before);
    if (now > 0) this.#list.scrollTop = now * height + this.#list.scrollTop % height;
  }

  /** What only a change of the screen changes. */
  #measure() {
    this.#height = Number.parseInt(getComputedStyle(document.documentElement).getPropertyValue('--row'), 10);
    this.#isPlaced = false;
    this.#isStale = true;
  }

  /** The axis lies above the bars. */
  #placeAxis() {
    const track = this.#pool.find((node) => !node.hidden)?.querySelector('.track');
    if (this.#isPlaced || !(track instanceof HTMLElement)) return;
    this.#isPlaced = true;
    const { offsetLeft, offsetWidth } = track;
    this.#axis.style.marginLeft = `${offsetLeft}px`;
    this.#axis.style.marginRight = `${Math.max(0, this.#list.offsetWidth - offsetLeft - offsetWidth)}px`;
    this.#axisWidth = offsetWidth;
  }

  draw() {
    this.#refresh();
    const height = this.#height;
    const { scrollTop, clientHeight } = this.#list;
    const first = Math.max(0, Math.floor(scrollTop / height) - SPARE);
    const [top, bottom] = [Math.floor(scrollTop / height), Math.ceil((scrollTop + clientHeight) / height)];
    const visible = this.#between(first, bottom + SPARE);
    const onScreen = this.#between(top, bottom);
    const range = this.#rangeOf(onScreen, scrollTop < height);
    this.#nodesFor(visible).forEach((node, number) => this.#fill(node, visible[number], first + number, range));
    const chosen = this.#pool.find((node) => !node.hidden && node.dataset.id === this.#chosen);
    if (chosen) this.#list.setAttribute('aria-activedescendant', chosen.id);
    else this.#list.removeAttribute('aria-activedescendant');
    const empty = this.#part('empty');
    empty.hidden = this.#shown.length > 0;
    say(empty, this.#look.empty(this.#store.all.length > 0));
    this.#part('newest').hidden = scrollTop < height * 2;
    this.#drawAxis(range);
  }

  /**
   * An element for each row, in their order: that of a row that was on the screen stays its own, and its words need no new layout.
   * @param {R[]} visible @returns {HTMLElement[]}
   */
  #nodesFor(visible) {
    const wanted = new Set(visible.map(({ id }) => id));
    /** @type {Map<string, HTMLElement>} */
    const own = new Map();
    /** @type {HTMLElement[]} */
    const free = [];
    for (const node of this.#pool) {
      const { id = '' } = node.dataset;
      if (wanted.has(id) && !own.has(id)) own.set(id, node);
      else free.push(node);
    }
    const nodes = visible.map(({ id }) => own.get(id) ?? free.shift() ?? emptyRow(this.#look.cells()));
    this.#pool = [...nodes, ...free];
    /** @type {Element | null} */
    let next = this.#rows.firstElementChild;
    for (const node of nodes) {
      node.hidden = false;
      if (node === next) next = next.nextElementSibling;
      else this.#rows.insertBefore(node, next);
    }
    for (const node of free) node.hidden = true;
    return nodes;
  }

  /** @param {HTMLElement} node @param {R} row @param {number} place from the top @param {{from: number, to: number}} range */
  #fill(node, row, place, range) {
    node.style.transform = `translateY(${place * this.#height}px)`;
    mark(node, 'aria-selected', String(row.id === this.#chosen));
    mark(node, 'aria-posinset', String(place + 1));
    mark(node, 'aria-setsize', String(this.#shown.length));
    this.#look.fill(node, row);
    const track = /** @type {HTMLElement} */ (node.querySelector('.track'));
    drawSegments(track, row.segments, range);
  }

  /** The time that the bars share. @param {R[]} rows on the screen @param {boolean} isAtTop @returns {{from: number, to: number}} */
  #rangeOf(rows, isAtTop) {
    const now = Date.now();
    const ends = rows.map(({ to }) => to ?? now);
    const isLive = isAtTop && rows.some(({ to }) => to === undefined);
    const to = isLive || rows.length === 0 ? now : Math.max(...ends);
    const least = rows.length === 0 ? now - 10_000 : Math.min(...rows.map(({ from }) => from));
    const from = this.#span > 0 ? to - this.#span : Math.min(least, to - FINEST_MS);
    const margin = (to - from) * 0.01;
    return { from: from - margin, to: to + margin };
  }

  /** @param {{from: number, to: number}} range */
  #drawAxis({ from, to }) {
    this.#placeAxis();
    const step = niceStep((to - from) / Math.max(2, Math.floor(this.#axisWidth / 90)));
    /** @type {number[]} */
    const marks = [];
    for (let at = 0; at < to - from && marks.length < 30; at += step) marks.push(at);
    while (this.#axis.children.length < marks.length) this.#axis.append(element('span'));
    [...this.#axis.children].forEach((child, number) => {
      const node = /** @type {HTMLElement} */ (child);
      node.hidden = number >= marks.length;
      if (node.hidden) return;
      node.style.left = `${marks[number] / (to - from) * 100}%`;
      say(node, number === 0 ? clock(from) : `+${length(marks[number])}`);
    });
  }

  /** @param {KeyboardEvent} event */
  #handleKey(event) {
    const height = this.#height;
    const page = Math.max(1, Math.floor(this.#list.clientHeight / height) - 1);
    const now = this.#placeOf(this.#chosen);
    const last = this.#shown.length - 1;
    const steps = /** @type {Record<string, number>} */ ({ ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: last });
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      if (now >= 0) this.onOpen(this.#at(now));
      byId('detail').focus();
      return;
    }
    if (!(event.key in steps) || last < 0) return;
    event.preventDefault();
    const next = Math.min(last, Math.max(0, steps[event.key]));
    this.#chosen = this.#at(next)?.id ?? '';
    if (next * height < this.#list.scrollTop) this.#list.scrollTop = next * height;
    const bottom = (next + 1) * height - this.#list.clientHeight;
    if (bottom > this.#list.scrollTop) this.#list.scrollTop = bottom;
    this.draw();
    if (!byId('detail').hidden) this.onOpen(this.#at(next));
  }
}

let numbered = 0;

/** @param {HTMLElement[]} cells */
function emptyRow(cells) {
  numbered += 1;
  return element('div', { class: 'row', role: 'option', id: `row-${numbered}` }, ...cells);
}

/** @param {number} least @returns {number} a round length of at least this */
function niceStep(least) {
  for (let unit = 1; ; unit *= 10) for (const part of [1, 2, 5]) if (unit * part >= least) return unit * part;
}
