// @ts-check
// The phases of a command: as parts of a bar, and as a table. The view in the chats of agents has this file, too.

import { element, length } from './parts.js';

/**
 * @typedef {'open' | 'held' | 'done' | 'bad'} CommandEnd
 * @typedef {{kind: string, from: number, to: number | undefined}} Segment a part of a bar, in ms
 */

/** Which part of the way begins with a phase. @type {Record<string, string>} */
const KINDS = { queued: 'queue', requeued: 'queue', delivered: 'way', claimed: 'way', held: 'held', started: 'run', first_pending: 'run' };
const LATER = new Set(['late_result', 'first_read']);

/** @type {Record<string, string>} */
const PHASES = {
  queued: 'accepted', delivered: 'sent to the browser', requeued: 'back in the queue', claimed: 'claimed', held: 'waits for you', started: 'began',
  first_pending: 'still runs', done: 'over', late_result: 'a late report', first_read: 'read by the agent',
};

/** @param {string} status @returns {CommandEnd} */
export function endOf(status) {
  if (status === 'pending') return 'open';
  if (status === 'waiting_for_user') return 'held';
  return status === 'complete' ? 'done' : 'bad';
}

/** @param {any[]} trace @param {number} from @param {number | undefined} to @param {CommandEnd} end @returns {Segment[]} */
export function segmentsOf(trace, from, to, end) {
  const marks = trace.filter(({ phase }) => !LATER.has(phase) && phase !== 'done');
  /** @type {Segment[]} */
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

/** @param {HTMLElement} track @param {Segment[]} segments @param {{from: number, to: number}} range of its whole width */
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

/** @param {any[]} trace */
export function phaseTable(trace) {
  const rows = trace.map(({ phase, after_ms, carrier }, number) => {
    const before = number === 0 ? 0 : trace[number - 1].after_ms;
    const name = (PHASES[phase] ?? phase) + (carrier ? ` by ${carrier}` : '');
    return element('tr', {}, element('td', {}, name), element('td', {}, number === 0 ? '' : `+${length(after_ms - before)}`), element('td', {}, length(after_ms)));
  });
  const head = element('tr', {}, element('th', { scope: 'col' }, 'Phase'), element('th', { scope: 'col' }, 'Step'), element('th', { scope: 'col' }, 'In all'));
  return element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows));
}
