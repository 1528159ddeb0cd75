// @ts-check
// Summarises the browser's timings of a page's load. Times are in ms since the
// navigation began, sizes in bytes.

import { makeInputs, rounded as round } from '../injected/watch_vitals.js';
import { clip } from '../lib/clip.js';
import { withoutEmpty } from '../lib/without_empty.js';

/** How many of the slowest resources are listed. */
const SLOWEST = 10;
/** How many of the longest tasks are listed, and the scripts of each. */
const LONGEST = 5;
const TASK_SCRIPTS = 3;
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
    ...interaction(noted),
    resources: resources(noted.resource),
    long_tasks: longTasks(noted.longtask, noted['long-animation-frame'].flatMap((/** @type {any} */ { scripts }) => scripts)),
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

const NOT_PAINTED = 'the browser measured no paint after the interactions, as in a background tab: bring the tab to the front with tab_activate, act, and ask again';

/** The interaction to next paint, as the web vitals have it; nothing while nobody has clicked, tapped or typed. @param {Record<string, any>} noted */
function interaction(noted) {
  /** @type {any[]} */
  const entries = [...noted.event, ...noted['first-input']].filter(({ interactionId }) => interactionId > 0);
  const interactions = Math.max(noted.interactions, new Set(entries.map(({ interactionId }) => interactionId)).size);
  if (interactions === 0) return {};
  if (entries.length === 0) return { interaction_to_next_paint: { interactions, note: NOT_PAINTED } };
  const inputs = makeInputs();
  const ms = entries.map((entry) => inputs(entry, interactions)).at(-1) ?? 0;
  const { interactionId, startTime } = entries.find(({ duration }) => duration === ms);
  // A click is several events: pressed, released, clicked.
  const events = entries.filter((entry) => entry.interactionId === interactionId).sort((a, b) => processing(b) - processing(a));
  const [begin, end] = [Math.min(...events.map(({ processingStart }) => processingStart)), Math.max(...events.map(({ processingEnd }) => processingEnd))];
  return {
    interaction_to_next_paint: withoutEmpty({
      ms: round(ms),
      event: events[0].name,
      element: events.find(({ element }) => element)?.element,
      at_ms: round(startTime),
      input_delay_ms: round(begin - startTime),
      processing_ms: round(end - begin),
      // The browser rounds durations to 8 ms.
      presentation_ms: round(Math.max(0, startTime + ms - end)),
      interactions,
    }),
  };
}

/** @param {{processingStart: number, processingEnd: number}} entry */
function processing({ processingStart, processingEnd }) {
  return processingEnd - processingStart;
}

/** @param {{startTime: number, duration: number}[]} tasks @param {any[]} scripts that the browser has noted of slow frames */
function longTasks(tasks, scripts) {
  const lengths = tasks.map(({ duration }) => duration);
  const longest = tasks.toSorted((a, b) => b.duration - a.duration).slice(0, LONGEST).map(({ startTime, duration }) => {
    const within = scripts.filter((script) => script.startTime >= startTime && script.startTime <= startTime + duration);
    return { start_ms: round(startTime), ms: round(duration), ...(within.length > 0 && { scripts: within.toSorted((a, b) => b.duration - a.duration).slice(0, TASK_SCRIPTS).map(script) }) };
  });
  return {
    count: lengths.length,
    total_ms: round(lengths.reduce((sum, ms) => sum + ms, 0)),
    longest_ms: round(Math.max(0, ...lengths)),
    blocking_ms: round(lengths.reduce((sum, ms) => sum + Math.max(0, ms - LONG_MS), 0)),
    ...(longest.length > 0 && { longest }),
  };
}

/** @param {any} script */
function script({ sourceURL, sourceFunctionName, invoker, duration }) {
  return withoutEmpty({ url: clip(sourceURL, 200), function: clip(sourceFunctionName, 100), invoker: clip(invoker, 100), ms: round(duration) });
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
