// @ts-check
// The commands: all that the page has seen, and the list that shows those on the screen only.

import { byId, clock, element, hostOf, length, say } from './parts.js';

/** The page forgets the oldest beyond this many. */
const KEPT = 10_000;
/** Rows above and below the screen that are ready. */
const SPARE = 4;
const FINEST_MS = 20;

/**
 * @typedef {object} Row a command, as the daemon sends it, with its times as numbers
 * @property {string} id
 * @property {string} action
 * @property {string} agent
 * @property {string} target
 * @property {string} where
 * @property {string} status
 * @property {'open' | 'held' | 'done' | 'bad'} end
 * @property {number} from
 * @property {number | undefined} to when it was over
 * @property {{kind: string, from: number, to: number | undefined}[]} segments
 * @property {string} text for the search
 * @property {any} told
 */

/** Which part of the way begins with a phase. @type {Record<string, string>} */
const KINDS = { queued: 'queue', requeued: 'queue', delivered: 'way', claimed: 'way', held: 'held', started: 'run', first_pending: 'run' };
const LATER = new Set(['late_result', 'first_read']);

/** @param {any} told @returns {Row} */
export function rowOf(told) {
  const end = endOf(told.status);
  const from = Date.parse(told.created_at);
  const to = told.ended_at === undefined ? undefined : from + told.duration_ms;
  const agent = told.agent || told.client;
  const target = told.target ?? '';
  const where = told.tab_id === undefined ? '' : `tab ${told.tab_id}`;
  return {
    id: told.correlation_id, action: told.command, agent, target, where, status: told.status, end, from, to, told,
    segments: segmentsOf(told, from, to, end),
    text: [told.command, agent, told.owner, target, hostOf(target), where, told.reason, told.correlation_id].join(' ').toLowerCase(),
  };
}

/** @param {string} status @returns {Row['end']} */
function endOf(status) {
  if (status === 'pending') return 'open';
  if (status === 'waiting_for_user') return 'held';
  return status === 'complete' ? 'done' : 'bad';
}

/** @param {any} told @param {number} from @param {number | undefined} to @param {Row['end']} end @returns {Row['segments']} */
function segmentsOf({ trace }, from, to, end) {
  const marks = trace.filter((/** @type {any} */ { phase }) => !LATER.has(phase) && phase !== 'done');
  /** @type {Row['segments']} */
  const segments = [];
  for (const { phase, after_ms } of marks) {
    const kind = KINDS[phase] ?? 'queue';
    const last = segments.at(-1);
    if (last?.kind === kind) continue;
    if (last) last.to = from + after_ms;
    segments.push({ kind, from: from + after_ms, to });
  }
  const last = segments.at(-1);
  // The colour of the last part tells how it ended.
  if (last && (end === 'done' || end === 'bad')) last.kind = end;
  return segments;
}

export class CommandStore {
  /** @type {Map<string, Row>} */
  #rows = new Map();
  /** Oldest first. @type {Row[]} */
  #order = [];

  /** @param {any[]} told @returns {boolean} whether a row is new */
  take(told) {
    let isNew = false;
    for (const one of told) {
      const row = rowOf(one);
      const known = this.#rows.get(row.id);
      this.#rows.set(row.id, row);
      if (known) this.#order[this.#order.lastIndexOf(known)] = row;
      else {
        isNew = true;
        let at = this.#order.length;
        while (at > 0 && this.#order[at - 1].from > row.from) at -= 1;
        this.#order.splice(at, 0, row);
      }
    }
    if (this.#order.length > KEPT) for (const gone of this.#order.splice(0, this.#order.length - KEPT)) this.#rows.delete(gone.id);
    return isNew;
  }

  /** @param {string} id */
  get(id) {
    return this.#rows.get(id);
  }

  /** Oldest first. */
  get all() {
    return this.#order;
  }

  /** @param {number} since @returns {Row[]} those that began after it */
  since(since) {
    let at = this.#order.length;
    while (at > 0 && this.#order[at - 1].from >= since) at -= 1;
    return this.#order.slice(at);
  }
}

/** The list: only the rows on the screen are elements, and those are used again. */
export class CommandList {
  #store;
  #list = byId('list');
  #rows = byId('rows');
  #axis = byId('axis');
  /** Newest first. @type {Row[]} */
  #shown = [];
  /** @type {HTMLElement[]} */
  #pool = [];
  #show = 'all';
  #find = '';
  #span = 0;
  #chosen = '';
  #isStale = true;
  #height = 30;
  #isPlaced = false;
  #axisWidth = 400;
  /** @type {(row: Row | undefined) => void} */
  onOpen = () => {};

  /** @param {CommandStore} store */
  constructor(store) {
    this.#store = store;
    this.#list.addEventListener('scroll', () => this.draw(), { passive: true });
    this.#list.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => this.#handleKey(event));
    this.#rows.addEventListener('click', (/** @type {any} */ event) => {
      const id = event.target.closest('.row')?.dataset.id;
      if (id) this.open(id);
    });
    byId('newest').addEventListener('click', () => { this.#list.scrollTop = 0; });
    byId('find').addEventListener('input', (/** @type {any} */ { target }) => this.#filter(() => { this.#find = target.value.trim().toLowerCase(); }));
    byId('span').addEventListener('change', (/** @type {any} */ { target }) => { this.#span = Number(target.value); this.draw(); });
    for (const button of byId('states').children) {
      button.addEventListener('click', () => {
        for (const other of byId('states').children) other.setAttribute('aria-pressed', String(other === button));
        this.#filter(() => { this.#show = button.dataset.show; });
      });
    }
    new ResizeObserver(() => { this.#measure(); this.draw(); }).observe(this.#list);
  }

  /** The commands that it shows, oldest first. */
  get shown() {
    this.#refresh();
    return this.#shown.toReversed();
  }

  /** The store has changed. */
  handleChange() {
    this.#isStale = true;
  }

  /** @param {() => void} change */
  #filter(change) {
    change();
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
    const before = this.#shown[Math.floor(this.#list.scrollTop / height)]?.id;
    const isIn = (/** @type {Row} */ row) => (this.#show === 'all' || (this.#show === 'failed' ? row.end === 'bad' : row.end === 'open' || row.end === 'held'))
      && (this.#find === '' || row.text.includes(this.#find));
    const isAll = this.#show === 'all' && this.#find === '';
    this.#shown = (isAll ? this.#store.all.slice() : this.#store.all.filter(isIn)).reverse();
    const full = `${this.#shown.length * height}px`;
    if (this.#rows.style.height !== full) this.#rows.style.height = full;
    // Who reads further down keeps their place.
    if (this.#list.scrollTop < height || before === undefined) return;
    const now = this.#shown.findIndex(({ id }) => id === before);
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
    const visible = this.#shown.slice(first, Math.ceil((scrollTop + clientHeight) / height) + SPARE);
    const onScreen = this.#shown.slice(Math.floor(scrollTop / height), Math.ceil((scrollTop + clientHeight) / height));
    const range = this.#rangeOf(onScreen, scrollTop < height);
    while (this.#pool.length < visible.length) this.#pool.push(this.#rows.appendChild(emptyRow()));
    this.#pool.forEach((node, number) => {
      const row = visible[number];
      node.hidden = row === undefined;
      if (row) fill(node, row, { top: (first + number) * height, position: first + number + 1, count: this.#shown.length, range, isChosen: row.id === this.#chosen });
    });
    const chosen = this.#pool.find((node) => !node.hidden && node.dataset.id === this.#chosen);
    if (chosen) this.#list.setAttribute('aria-activedescendant', chosen.id);
    else this.#list.removeAttribute('aria-activedescendant');
    byId('empty').hidden = this.#shown.length > 0;
    say(byId('empty'), this.#store.all.length > 0 ? 'No command fits.' : 'No command yet. The next call of an agent shows here.');
    byId('newest').hidden = scrollTop < height * 2;
    this.#drawAxis(range);
  }

  /** The time that the bars share. @param {Row[]} rows on the screen @param {boolean} isAtTop @returns {{from: number, to: number}} */
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
    [...this.#axis.children].forEach((node, number) => {
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
    const now = this.#shown.findIndex(({ id }) => id === this.#chosen);
    const last = this.#shown.length - 1;
    const steps = /** @type {Record<string, number>} */ ({ ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: last });
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      if (now >= 0) this.onOpen(this.#shown[now]);
      byId('detail').focus();
      return;
    }
    if (!(event.key in steps) || last < 0) return;
    event.preventDefault();
    const next = Math.min(last, Math.max(0, steps[event.key]));
    this.#chosen = this.#shown[next].id;
    if (next * height < this.#list.scrollTop) this.#list.scrollTop = next * height;
    const bottom = (next + 1) * height - this.#list.clientHeight;
    if (bottom > this.#list.scrollTop) this.#list.scrollTop = bottom;
    this.draw();
    if (!byId('detail').hidden) this.onOpen(this.#shown[next]);
  }
}

let numbered = 0;

function emptyRow() {
  numbered += 1;
  return element('div', { class: 'row', role: 'option', id: `row-${numbered}` },
    element('time'), element('span', { class: 'action' }), element('span', { class: 'target' }), element('span', { class: 'agent' }),
    element('span', { class: 'track' }), element('span', { class: 'ms' }), element('span', { class: 'heard' }));
}

/** @param {HTMLElement} node @param {Row} row @param {{top: number, position: number, count: number, range: {from: number, to: number}, isChosen: boolean}} place */
function fill(node, row, { top, position, count, range, isChosen }) {
  const [time, action, target, agent, track, ms, heard] = /** @type {HTMLElement[]} */ ([...node.children]);
  node.style.transform = `translateY(${top}px)`;
  node.setAttribute('aria-selected', String(isChosen));
  node.setAttribute('aria-posinset', String(position));
  node.setAttribute('aria-setsize', String(count));
  const took = length((row.to ?? Date.now()) - row.from);
  if (node.dataset.id !== row.id || node.dataset.status !== row.status) {
    Object.assign(node.dataset, { id: row.id, status: row.status, end: row.end });
    say(time, clock(row.from));
    say(action, row.action);
    say(target, [row.target.replace(/^https?:\/\//, ''), row.where].filter(Boolean).join(' · '));
    say(agent, row.agent);
    // The colours say it to those who see them.
    say(heard, row.told.reason ?? row.status.replaceAll('_', ' '));
    target.title = row.target;
  }
  say(ms, took);
  drawSegments(track, row.segments, range);
}

/** @param {HTMLElement} track @param {Row['segments']} segments @param {{from: number, to: number}} range of its whole width */
export function drawSegments(track, segments, range) {
  const whole = range.to - range.from;
  segments.forEach((segment, number) => {
    const bar = /** @type {HTMLElement} */ (track.children[number] ?? track.appendChild(element('i')));
    const [from, to] = [segment.from, segment.to ?? Date.now()];
    bar.hidden = to < range.from || from > range.to;
    if (bar.className !== segment.kind) bar.className = segment.kind;
    bar.style.left = `${(from - range.from) / whole * 100}%`;
    bar.style.width = `${Math.max(0, to - from) / whole * 100}%`;
  });
  for (const extra of [...track.children].slice(segments.length)) /** @type {HTMLElement} */ (extra).hidden = true;
}

/** @param {number} least @returns {number} a round length of at least this */
function niceStep(least) {
  for (let unit = 1; ; unit *= 10) for (const part of [1, 2, 5]) if (unit * part >= least) return unit * part;
}
