// @ts-check
// Summarises the browser's timings of a page's load. Times are in ms since the
// navigation began, sizes in bytes.

import { clip } from '../lib/clip.js';
import { withoutEmpty } from '../lib/without_empty.js';

/** How many of the slowest resources are listed. */
const SLOWEST = 10;
/** A task is long from here on; the time above it blocks. */
const LONG_MS = 50;
/** Two layout shifts are one burst if they are no further apart than this, and the burst no longer than five of it. */
const BURST_MS = 1_000;

/** @param {Record<string, any>} noted @param {{name: string, value: number}[]} metrics of the protocol's Performance domain */
export function summarizeTimings(noted, metrics) {
  const painted = Object.fromEntries(noted.paint.map((/** @type {any} */ { name, startTime }) => [`${name.replaceAll('-', '_')}_ms`, round(startTime)]));
  const shifts = noted['layout-shift'].filter((/** @type {any} */ { hadRecentInput }) => !hadRecentInput);
  const largest = noted['largest-contentful-paint'].at(-1);
  return {
    url: noted.url,
    since_navigation_ms: round(noted.now),
    ...(noted.visibility !== 'visible' && { note: 'the tab is in the background: what is painted there is not measured' }),
    navigation: navigation(noted.navigation[0]),
    paint: painted,
    ...(largest && { largest_contentful_paint: withoutEmpty({ ...largest, startTime: undefined, ms: round(largest.startTime) }) }),
    cumulative_layout_shift: { score: worstBurst(shifts), shifts: shifts.length },
    resources: resources(noted.resource),
    long_tasks: longTasks(noted.longtask),
    memory: memory(metrics),
  };
}

/** @param {any} entry */
function navigation(entry) {
  if (!entry) return null;
  return withoutEmpty({
    type: entry.type,
    status: entry.responseStatus,
    protocol: entry.nextHopProtocol,
    redirects: entry.redirectCount,
    first_byte_ms: round(entry.responseStart),
    response_end_ms: round(entry.responseEnd),
    dom_interactive_ms: round(entry.domInteractive),
    dom_content_loaded_ms: round(entry.domContentLoadedEventEnd),
    load_ms: round(entry.loadEventEnd),
    transfer_bytes: entry.transferSize,
    decoded_bytes: entry.decodedBodySize,
  });
}

/** @param {any[]} entries */
function resources(entries) {
  /** @type {Record<string, {count: number, transfer_bytes: number, decoded_bytes: number}>} */
  const byType = {};
  for (const { initiatorType, transferSize, decodedBodySize } of entries) {
    const type = (byType[initiatorType || 'other'] ??= { count: 0, transfer_bytes: 0, decoded_bytes: 0 });
    type.count += 1;
    type.transfer_bytes += transferSize;
    type.decoded_bytes += decodedBodySize;
  }
  const slowest = entries.toSorted((a, b) => b.duration - a.duration).slice(0, SLOWEST).map(resource);
  const failed = entries.filter(({ responseStatus }) => responseStatus >= 400);
  return {
    count: entries.length,
    transfer_bytes: entries.reduce((sum, { transferSize }) => sum + transferSize, 0),
    by_type: byType,
    slowest,
    ...(failed.length > 0 && { failed: failed.length }),
    // The browser notes 250 unless the page asks for more.
    ...(entries.length === 250 && { incomplete: true }),
  };
}

/** @param {any} entry */
function resource({ name, initiatorType, startTime, duration, transferSize, responseStatus, renderBlockingStatus }) {
  return withoutEmpty({
    url: clip(name, 200),
    type: initiatorType,
    status: responseStatus,
    start_ms: round(startTime),
    ms: round(duration),
    transfer_bytes: transferSize,
    render_blocking: renderBlockingStatus === 'blocking',
  });
}

/** @param {{duration: number}[]} tasks */
function longTasks(tasks) {
  const lengths = tasks.map(({ duration }) => duration);
  return {
    count: lengths.length,
    total_ms: round(lengths.reduce((sum, ms) => sum + ms, 0)),
    longest_ms: round(Math.max(0, ...lengths)),
    blocking_ms: round(lengths.reduce((sum, ms) => sum + Math.max(0, ms - LONG_MS), 0)),
  };
}

/** As the web vitals have it: the sum of the worst burst. @param {{value: number, startTime: number}[]} shifts */
function worstBurst(shifts) {
  let [worst, sum, first, last] = [0, 0, -Infinity, -Infinity];
  for (const { value, startTime } of shifts) {
    const goesOn = startTime - last < BURST_MS && startTime - first < 5 * BURST_MS;
    [sum, first] = goesOn ? [sum + value, first] : [value, startTime];
    last = startTime;
    worst = Math.max(worst, sum);
  }
  return Math.round(worst * 10_000) / 10_000;
}

/** @param {{name: string, value: number}[]} metrics */
function memory(metrics) {
  const of = Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  return {
    js_heap_used_bytes: of.JSHeapUsedSize,
    js_heap_total_bytes: of.JSHeapTotalSize,
    dom_nodes: of.Nodes,
    documents: of.Documents,
    event_listeners: of.JSEventListeners,
  };
}

/** @param {number} ms */
function round(ms) {
  return Math.round(ms * 10) / 10;
}
