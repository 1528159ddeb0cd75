// @ts-check
// The browser's timings of a page's load. Runs beside the page, like `Look`.

/** The fields that are needed, of the many that the browser keeps. */
const FIELDS = {
  navigation: ['type', 'startTime', 'redirectCount', 'requestStart', 'responseStart', 'responseEnd', 'domInteractive',
    'domContentLoadedEventEnd', 'loadEventEnd', 'transferSize', 'decodedBodySize', 'nextHopProtocol', 'responseStatus'],
  resource: ['name', 'initiatorType', 'startTime', 'duration', 'transferSize', 'decodedBodySize', 'responseStatus', 'renderBlockingStatus'],
  paint: ['name', 'startTime'],
  'largest-contentful-paint': ['startTime', 'size', 'url'],
  'layout-shift': ['value', 'hadRecentInput', 'startTime'],
  longtask: ['startTime', 'duration'],
  event: ['name', 'startTime', 'duration', 'processingStart', 'processingEnd', 'interactionId'],
  'first-input': ['name', 'startTime', 'duration', 'processingStart', 'processingEnd', 'interactionId'],
  'long-animation-frame': ['startTime'],
};

/** @param {Record<string, string[]>} fields @returns {Promise<Record<string, any>>} */
async function readTimings(fields) {
  /** @type {Record<string, any>} */
  const told = { url: location.href, now: performance.now(), visibility: document.visibilityState, interactions: /** @type {any} */ (performance).interactionCount ?? 0 };
  const called = (/** @type {any} */ element) => element.localName + (element.id ? `#${element.id}` : '');
  const pick = (/** @type {string} */ type, /** @type {any} */ entry) => {
    const picked = Object.fromEntries(fields[type].map((name) => [name, entry[name]]));
    if (type === 'largest-contentful-paint' && entry.element) picked.element = called(entry.element);
    if (entry.interactionId && entry.target instanceof Element) picked.element = called(entry.target);
    if (type === 'long-animation-frame') picked.scripts = Array.from(entry.scripts, ({ startTime, duration, sourceURL, sourceFunctionName, invoker }) => ({ startTime, duration, sourceURL, sourceFunctionName, invoker }));
    return picked;
  };
  await Promise.all(Object.keys(fields).map(async (type) => {
    const timeline = performance.getEntriesByType(type);
    const entries = timeline.length > 0 ? timeline : await new Promise((resolve) => {
      if (!PerformanceObserver.supportedEntryTypes.includes(type)) return resolve([]);
      const observer = new PerformanceObserver((list) => { observer.disconnect(); resolve(list.getEntries()); });
      observer.observe({ type, buffered: true });
      // Nothing was noted: then nothing comes either. A busy page hands over late what was.
      setTimeout(() => { resolve(observer.takeRecords()); observer.disconnect(); }, 50);
    });
    told[type] = Array.from(entries, (entry) => pick(type, entry));
  }));
  return told;
}

/** An expression whose value is the timings. */
export const timingsSource = () => `(${readTimings})(${JSON.stringify(FIELDS)})`;
