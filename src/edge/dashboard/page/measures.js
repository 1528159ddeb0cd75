// @ts-check
// The daemon's own measures: small plots of the last minutes, and its health.

import { byId, element, length, say, size } from './parts.js';

const [MINUTES, MINUTE_MS] = [30, 60_000];
/** One a second. The daemon keeps no past of its queue, so that plot begins with this page. */
const SAMPLES = 300;
/** Over how many seconds the share of the processor goes. */
const SHARE_SAMPLES = 10;
const [WIDTH, HEIGHT] = [150, 24];
const SVG = 'http://www.w3.org/2000/svg';

/**
 * @typedef {object} Minute in which commands ended
 * @property {number} at
 * @property {Record<string, number>} ends
 * @property {number | null} p50_ms
 * @property {number | null} p99_ms
 */

/** @type {[string, (words: Record<string, number>) => number][]} bottom up */
const STACK = [
  ['done', ({ complete = 0 }) => complete],
  ['cancelled', ({ cancelled = 0 }) => cancelled],
  ['bad', ({ error = 0, timeout = 0, expired = 0 }) => error + timeout + expired],
];

export class MeasuresPanel {
  /** How many commands were queued, oldest first. @type {number[]} */
  #queued = [];
  /** @type {{at: number, seconds: number}[]} */
  #processor = [];

  /** @param {any} daemon as the stream tells it, every second */
  draw({ uptime_seconds, storage, measures }) {
    const slots = slotsOf(measures.minutes, Date.now());
    drawEnds(slots);
    drawTimes(slots);
    this.#drawQueue(measures.open.queued);
    for (const part of ['p50', 'p95', 'p99']) say(byId(`n-${part}`), length(measures.last[`${part}_ms`] ?? NaN));
    const uptime = length(uptime_seconds * 1_000);
    say(byId('n-memory'), measures.memory === undefined ? uptime : size(measures.memory));
    say(byId('n-daemon'), `up ${uptime}, ${measures.kept} kept, ${counted(measures.clients, 'agent')}`);
    fill('health-list', {
      Uptime: uptime,
      Memory: measures.memory === undefined ? 'not told by this system' : size(measures.memory),
      Processor: this.#share(measures.processor_seconds),
      Journal: journalOf(storage, measures),
      Browsers: `${listed(measures.links) || 'none connected'}; ${counted(measures.links_opened, 'connection')} in all, ${measures.links_returned} of them came back`,
      Requests: `${measures.admitted.toLocaleString('en')} let in, ${turnedAway(measures.refused, measures.rejected_requests)}`,
      Calls: turnedAway(sum(measures.rejected_calls), measures.rejected_calls),
    });
  }

  /** @param {number} now */
  #drawQueue(now) {
    this.#queued.push(now);
    if (this.#queued.length > SAMPLES) this.#queued.shift();
    const most = Math.max(...this.#queued);
    const step = WIDTH / (SAMPLES - 1);
    const first = WIDTH - (this.#queued.length - 1) * step;
    const points = this.#queued.map((count, number) => `${(first + number * step).toFixed(1)} ${heightOf(count, most)}`);
    setPath('plot-queue', 'area', `M${first.toFixed(1)} ${HEIGHT}L${points.join('L')}V${HEIGHT}Z`);
    const text = `${now} queued, at most ${most} in the ${this.#queued.length < SAMPLES ? 'time that this page is open' : 'last 5 minutes'}`;
    byId('plot-queue').setAttribute('aria-label', `Commands that wait for their turn: ${text}`);
    say(byId('n-queued'), `${now} queued`);
  }

  /** @param {number} seconds of the processor since the start @returns {string} */
  #share(seconds) {
    this.#processor.push({ at: performance.now(), seconds });
    if (this.#processor.length > SHARE_SAMPLES) this.#processor.shift();
    const [first] = this.#processor;
    const last = /** @type {{at: number, seconds: number}} */ (this.#processor.at(-1));
    const share = last.at > first.at ? (last.seconds - first.seconds) / (last.at - first.at) * 100_000 : 0;
    return `${share.toFixed(1)} % of one now, ${length(seconds * 1_000)} in all`;
  }
}

/** @param {Minute[]} minutes @param {number} now @returns {(Minute | undefined)[]} the last half hour, oldest first */
function slotsOf(minutes, now) {
  const newest = Math.floor(now / MINUTE_MS);
  /** @type {(Minute | undefined)[]} */
  const slots = Array.from({ length: MINUTES });
  for (const minute of minutes) slots[MINUTES - 1 - (newest - Math.floor(minute.at / MINUTE_MS))] = minute;
  return slots.slice(0, MINUTES);
}

/** @param {(Minute | undefined)[]} slots */
function drawEnds(slots) {
  const stacks = slots.map((minute) => STACK.map(([, count]) => (minute ? count(minute.ends) : 0)));
  const most = Math.max(1, ...stacks.map((stack) => stack.reduce((all, count) => all + count, 0)));
  STACK.forEach(([kind], place) => {
    const bars = stacks.map((stack, number) => {
      const below = stack.slice(0, place).reduce((all, count) => all + count, 0);
      const [bottom, top] = [heightOf(below, most), heightOf(below + stack[place], most)];
      return stack[place] > 0 ? `M${number * 5} ${bottom}h4V${top}h-4Z` : '';
    });
    setPath('plot-ends', kind, bars.join('') || 'M0 0');
  });
  const [done, cancelled, bad] = STACK.map((_, place) => stacks.reduce((all, stack) => all + stack[place], 0));
  const text = `${done} done, ${bad} failed, ${cancelled} cancelled in 30 minutes, at most ${most} in one`;
  byId('plot-ends').setAttribute('aria-label', `Commands that ended in each minute: ${text}`);
}

/** From acceptance to the end, on a scale on which each doubling takes the same height. @param {(Minute | undefined)[]} slots */
function drawTimes(slots) {
  const known = slots.flatMap((minute) => (minute?.p50_ms != null && minute.p99_ms != null ? [minute.p50_ms, minute.p99_ms] : []));
  const [least, most] = [Math.log(Math.min(...known) / 1.5), Math.log(Math.max(...known) * 1.5)];
  const place = (/** @type {number} */ ms) => (HEIGHT * (1 - (Math.log(ms) - least) / (most - least))).toFixed(1);
  for (const part of /** @type {const} */ (['p50_ms', 'p99_ms'])) {
    let isLine = false;
    const steps = slots.map((minute, number) => {
      const ms = minute?.[part];
      const wasLine = isLine;
      isLine = ms != null;
      if (ms == null) return '';
      // A minute that stands alone is a dot.
      return wasLine ? `L${number * 5 + 2} ${place(ms)}` : `M${number * 5 + 2} ${place(ms)}h.01`;
    });
    setPath('plot-times', part === 'p50_ms' ? 'half' : 'most', steps.join('') || 'M0 0');
  }
  const last = slots.findLast((minute) => minute?.p50_ms != null);
  const text = last ? `half within ${length(last.p50_ms ?? NaN)} and 99 % within ${length(last.p99_ms ?? NaN)} in the newest minute; between ${length(Math.min(...known))} and ${length(Math.max(...known))} in 30 minutes` : 'none completed in 30 minutes';
  byId('plot-times').setAttribute('aria-label', `Times from acceptance to the end: ${text}`);
}

/** @param {number} count @param {number} most @returns {string} */
function heightOf(count, most) {
  return (HEIGHT - count / Math.max(1, most) * HEIGHT).toFixed(1);
}

/** @param {string} plot @param {string} kind @param {string} shape */
function setPath(plot, kind, shape) {
  const svg = byId(plot);
  const path = svg.querySelector(`.${kind}`) ?? svg.appendChild(document.createElementNS(SVG, 'path'));
  if (path.getAttribute('d') === shape) return;
  path.setAttribute('class', kind);
  path.setAttribute('d', shape);
}

/** @param {string} storage @param {any} measures @returns {string} */
function journalOf(storage, { journal_bytes, journal_writes, journal_times }) {
  if (storage === 'off') return 'off: commands end with the daemon';
  if (storage === 'unavailable') return 'cannot be written: new commands are refused. tabwire doctor names the cause.';
  const each = journal_writes > 0 ? `, half within ${length(journal_times.p50_ms)}, 99 % within ${length(journal_times.p99_ms)}` : '';
  return `${size(journal_bytes ?? 0)}; ${counted(journal_writes, 'write')}${each}`;
}

/** @param {number} count @param {Record<string, number>} codes */
function turnedAway(count, codes) {
  const named = listed(codes);
  return `${count.toLocaleString('en')} turned away${named ? ` (${named})` : ''}`;
}

/** @param {Record<string, number>} counts the most first */
function listed(counts) {
  return Object.entries(counts).filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a).slice(0, 5).map(([name, count]) => `${name.replaceAll('_', ' ')} ${count}`).join(', ');
}

/** @param {Record<string, number>} counts */
function sum(counts) {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}

/** @param {number} count @param {string} thing */
function counted(count, thing) {
  return `${count.toLocaleString('en')} ${thing}${count === 1 ? '' : 's'}`;
}

/** @param {string} list @param {Record<string, string>} facts the names are always the same */
function fill(list, facts) {
  const nodes = byId(list);
  if (nodes.children.length === 0) nodes.append(...Object.keys(facts).flatMap((name) => [element('dt', {}, name), element('dd')]));
  Object.values(facts).forEach((fact, number) => say(nodes.children[number * 2 + 1], fact));
}
