// @ts-check
// The costs in a trace of the browser: where the time of the page's main thread went, and which requests took long.
// Times in the trace are in µs.

import { clip } from '../lib/clip.js';
import { withoutEmpty } from '../lib/without_empty.js';

/**
 * @typedef {object} TraceEvent
 * @property {string} name
 * @property {string} ph
 * @property {number} ts
 * @property {number} [dur]
 * @property {number} pid
 * @property {number} tid
 * @property {any} [args]
 *
 * @typedef {object} Cost
 * @property {string} cost such as script, layout
 * @property {string} [url]
 * @property {string} [function]
 * @property {number} [line]
 * @property {number} ms
 * @property {number} count
 */

const COSTS_TOLD = 3;
const REQUESTS_TOLD = 3;
/** Names of events, by the word for the work of the thread. @type {Record<string, string[]>} */
const KINDS = {
  script: ['EvaluateScript', 'FunctionCall', 'TimerFire', 'EventDispatch', 'FireAnimationFrame', 'FireIdleCallback', 'RunMicrotasks', 'XHRReadyStateChange', 'XHRLoad', 'HandlePostMessage'],
  'script compilation': ['v8.compile', 'v8.compileModule', 'v8.evaluateModule', 'V8.CompileCode'],
  style: ['UpdateLayoutTree', 'RecalculateStyles', 'ScheduleStyleRecalculation', 'ParseAuthorStyleSheet'],
  layout: ['Layout', 'IntersectionObserverController::computeIntersections', 'HitTest'],
  paint: ['PrePaint', 'UpdateLayer', 'Paint', 'Layerize', 'Commit', 'CompositeLayers', 'Decode Image', 'RasterTask'],
  'HTML parsing': ['ParseHTML'],
  'garbage collection': ['MinorGC', 'MajorGC', 'BlinkGC.AtomicPhase'],
};
const KIND_OF = new Map(Object.entries(KINDS).flatMap(([kind, names]) => names.map((name) => /** @type {[string, string]} */ ([name, kind]))));

/** @param {TraceEvent[]} events @returns {Record<string, any>} */
export function summarizeTrace(events) {
  const mains = new Set(events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain').map(({ pid, tid }) => `${pid} ${tid}`));
  const timed = events.filter(({ ts, ph }) => ts > 0 && ph !== 'M');
  const [first, last] = timed.reduce(([from, to], { ts, dur = 0 }) => [Math.min(from, ts), Math.max(to, ts + dur)], [Infinity, 0]);
  const costs = costsOf(timed.filter(({ ph, pid, tid }) => ph === 'X' && mains.has(`${pid} ${tid}`)));
  const all = requests(timed);
  return {
    duration_ms: timed.length === 0 ? 0 : ms(last - first),
    busy_ms: ms(costs.reduce((sum, { time }) => sum + time, 0)),
    costs: costs.slice(0, COSTS_TOLD).map(({ time, count, ...cost }) => ({ ...withoutEmpty(cost), ms: ms(time), count })),
    slowest_requests: all.slice(0, REQUESTS_TOLD),
    requests: all.length,
    events: events.length,
  };
}

/** The time of each event without the events in it, summed. @param {TraceEvent[]} events of main threads @returns {(Omit<Cost, 'ms'> & {time: number})[]} the largest first */
function costsOf(events) {
  /** @type {Map<string, any>} */
  const sums = new Map();
  /** @type {Map<string, {end: number, place: object}[]>} */
  const stacks = new Map();
  const add = (/** @type {string} */ kind, /** @type {Record<string, any>} */ place, /** @type {number} */ time, /** @type {number} */ count) => {
    const cost = kind === 'script' || kind === 'script compilation' ? { cost: kind, ...place } : { cost: kind };
    const key = JSON.stringify(cost);
    const known = sums.get(key) ?? { ...cost, time: 0, count: 0 };
    sums.set(key, known);
    known.time += time;
    known.count += count;
  };
  for (const event of events.toSorted((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0))) {
    const { name, ts, dur = 0, pid, tid } = event;
    const thread = `${pid} ${tid}`;
    /** @type {any[]} */
    const stack = stacks.get(thread) ?? [];
    stacks.set(thread, stack);
    while (stack.length > 0 && stack.at(-1).end <= ts) stack.pop();
    const outer = stack.at(-1);
    const end = outer ? Math.min(ts + dur, outer.end) : ts + dur;
    const place = placeOf(event) ?? outer?.place ?? {};
    const kind = KIND_OF.get(name) ?? outer?.kind ?? 'other';
    // Its time is not that of the event around it.
    if (outer) add(outer.kind, outer.place, ts - end, 0);
    add(kind, place, end - ts, KIND_OF.has(name) ? 1 : 0);
    stack.push({ end, place, kind });
  }
  return [...sums.values()].filter(({ time }) => time > 0).sort((a, b) => b.time - a.time);
}

/** @param {TraceEvent} event @returns {{url?: string, function?: string, line?: number} | undefined} undefined: it names no script */
function placeOf({ args }) {
  const { url, functionName, lineNumber } = args?.data ?? {};
  if (typeof url !== 'string' || url === '') return undefined;
  return { url: clip(url, 200), ...(functionName && { function: clip(String(functionName), 100) }), ...(functionName && lineNumber > 0 && { line: Number(lineNumber) }) };
}

/** @param {TraceEvent[]} events @returns {{url: string, type?: string, status?: number, ms: number, failed?: boolean}[]} the slowest first */
function requests(events) {
  /** @type {Map<string, any>} */
  const open = new Map();
  for (const { name, ts, args } of events.toSorted((a, b) => a.ts - b.ts)) {
    const { requestId, url, resourceType, statusCode, didFail } = args?.data ?? {};
    if (typeof requestId !== 'string') continue;
    if (name === 'ResourceSendRequest') open.set(requestId, { url: clip(String(url), 200), type: resourceType, begin: ts });
    const known = open.get(requestId);
    if (known && name === 'ResourceReceiveResponse') known.status = statusCode;
    if (known && name === 'ResourceFinish') Object.assign(known, { time: ts - known.begin, failed: didFail });
  }
  const ended = [...open.values()].filter(({ time }) => time >= 0).sort((a, b) => b.time - a.time);
  return ended.map(({ url, type, status, time, failed }) => /** @type {any} */ ({ ...withoutEmpty({ url, type, status, failed }), ms: ms(time) }));
}

/** @param {number} us */
function ms(us) {
  return Math.round(us / 100) / 10;
}
