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
};

/** @param {Record<string, string[]>} fields @returns {Promise<Record<string, any>>} */
async function readTimings(fields) {
  /** @type {Record<string, any>} */
  const told = { url: location.href, now: performance.now(), visibility: document.visibilityState };
  const pick = (/** @type {string} */ type, /** @type {any} */ entry) => {
    const picked = Object.fromEntries(fields[type].map((name) => [name, entry[name]]));
    const { element } = entry;
    if (type === 'largest-contentful-paint' && element) picked.element = element.localName + (element.id ? `#${element.id}` : '');
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
