// @ts-check
// Watches how quickly a page came and how steady it stands. Sent as text, as the watch over actions is.

/** @typedef {Record<string, number>} Metrics */

/** @param {(metrics: Metrics) => void} report @param {AbortSignal} signal ends it */
export function watchVitals(report, signal) {
  /** @type {Metrics} */
  const metrics = {};
  let told = '';
  /** @type {any} */
  let timer;
  // Soon for the first time: what a page says while it is left does not arrive.
  let restMs = 500;
  const tell = () => {
    timer = clearTimeout(timer);
    const now = JSON.stringify(metrics);
    if (now === told || now === '{}') return;
    told = now;
    restMs = Math.min(restMs * 4, 10_000); // A page that never settles is told seldom.
    report({ ...metrics });
  };
  /** @param {Metrics} more */
  const learn = (more) => {
    Object.assign(metrics, more);
    if (document.readyState === 'complete') timer ??= setTimeout(tell, restMs);
  };
  /** @param {string} type @param {(entry: any) => void} see @param {object} [options] */
  const observe = (type, see, options) => {
    if (!PerformanceObserver.supportedEntryTypes.includes(type)) return;
    const observer = new PerformanceObserver((list) => list.getEntries().forEach(see));
    observer.observe({ type, buffered: true, ...options });
    signal.addEventListener('abort', () => observer.disconnect());
  };
  observe('navigation', (entry) => learn(loadMetrics(entry)));
  observe('paint', ({ name, startTime }) => name === 'first-contentful-paint' && learn({ fcp_ms: rounded(startTime) }));
  observe('largest-contentful-paint', ({ startTime }) => learn({ lcp_ms: rounded(startTime) }));
  const shifts = makeShifts();
  if (PerformanceObserver.supportedEntryTypes.includes('layout-shift')) metrics.cls = 0; // Told even if none comes.
  observe('layout-shift', (entry) => entry.hadRecentInput || learn({ cls: shifts(entry) }));
  const inputs = makeInputs();
  const interaction = (/** @type {any} */ entry) => entry.interactionId && learn({ inp_ms: inputs(entry) });
  observe('event', interaction, { durationThreshold: 40 });
  observe('first-input', interaction);
  const hidden = () => { if (document.visibilityState === 'hidden') tell(); };
  addEventListener('visibilitychange', hidden, { capture: true, signal });
  addEventListener('pagehide', tell, { capture: true, signal });
  signal.addEventListener('abort', () => clearTimeout(timer));
}

/** @param {PerformanceNavigationTiming} entry @returns {Metrics} */
export function loadMetrics({ responseStart, domContentLoadedEventEnd, loadEventEnd }) {
  return { ttfb_ms: rounded(responseStart), dom_content_loaded_ms: rounded(domContentLoadedEventEnd), load_ms: rounded(loadEventEnd) };
}

/** The worst burst of shifts: at most 1 s between them, at most 5 s in all. */
export function makeShifts() {
  let [sum, first, last, worst] = [0, 0, -Infinity, 0];
  return (/** @type {{value: number, startTime: number}} */ { value, startTime }) => {
    if (startTime - last > 1_000 || startTime - first > 5_000) [sum, first] = [0, startTime];
    sum += value;
    last = startTime;
    worst = Math.max(worst, sum);
    return Math.round(worst * 10_000) / 10_000;
  };
}

/** The slowest interaction, but for one in fifty. `all`: how many there were, if the browser keeps only slow ones. */
export function makeInputs() {
  /** @type {Map<number, number>} */
  const durations = new Map();
  return (/** @type {{interactionId: number, duration: number}} */ { interactionId, duration }, all = 0) => {
    durations.set(interactionId, Math.max(duration, durations.get(interactionId) ?? 0));
    const slowest = [...durations.values()].sort((a, b) => b - a);
    return slowest[Math.min(slowest.length - 1, Math.floor(Math.max(all, slowest.length) / 50))];
  };
}

/** @param {number} ms */
export function rounded(ms) {
  return Math.round(ms * 10) / 10;
}

/** All of it as text; `watchVitals` stands last. */
export const WATCH_VITALS = [loadMetrics, makeShifts, makeInputs, rounded, watchVitals].join('\n');
