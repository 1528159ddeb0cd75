// @ts-check
// The script that watches a page from inside, and its reports. It reaches pages through the debugger: no
// further permission, no policy of the page in its way, and out of reach of the page's own script.

/** @import {RecordedStream} from '../../types/protocol.js' */

import { WATCH_ACTIONS } from '../injected/watch_actions.js';
import { WATCH_VITALS } from '../injected/watch_vitals.js';
import { clip } from '../lib/clip.js';
import { URL_MAX } from './limits.js';

/** Of the world that it runs in, and of nothing else. */
export const WORLD = 'tabwire';

/** @param {Set<RecordedStream>} streams @returns {boolean} whether they need it at all */
export function needsWatch(streams) {
  return streams.has('actions') || streams.has('performance');
}

/** @param {Set<RecordedStream>} streams @param {string} binding the name of the function that takes its reports */
export function watchSource(streams, binding) {
  const actions = streams.has('actions') ? `${WATCH_ACTIONS}\nwatchActions((action) => tell('actions', action), stop.signal);` : '';
  // How a page comes is measured where the person looks, not in the frames within.
  const vitals = streams.has('performance')
    ? `if (self === top) { ${WATCH_VITALS}\nwatchVitals((metrics) => tell('performance', { metrics }), stop.signal); }` : '';
  return `(() => {
    if (Object.hasOwn(globalThis, 'tabwireStop')) return;
    const stop = new AbortController();
    globalThis.tabwireStop = () => { delete globalThis.tabwireStop; stop.abort(); };
    const say = globalThis[${JSON.stringify(binding)}];
    const tell = (stream, fields) => say(JSON.stringify({ stream, origin: self.origin, entry: { t: Date.now(), url: location.href, ...fields } }));
    ${actions}
    ${vitals}
  })()`;
}

/** Of its own: an element of that name in the page shows as a property, too. */
export const STOP_WATCH = "Object.hasOwn(globalThis, 'tabwireStop') && globalThis.tabwireStop()"

/**
 * @param {string} payload the script's report @param {Set<RecordedStream>} streams
 * @returns {{stream: 'actions' | 'performance', origin: string, entry: any} | null} null: it is not asked for
 */
export function readWatch(payload, streams) {
  const { stream, origin, entry } = JSON.parse(payload);
  if (!streams.has(stream)) return null;
  return { stream, origin, entry: { ...entry, url: clip(entry.url, URL_MAX) } };
}
