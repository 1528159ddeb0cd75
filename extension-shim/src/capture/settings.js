// @ts-check
// The daemon's settings: the streams to record in each tab. Pure.

/** @import {CaptureSettings, RecordedStream} from '../../types/protocol.js' */

/** @type {readonly RecordedStream[]} */
export const STREAMS = ['logs', 'network', 'bodies', 'websocket', 'actions', 'performance'];

/** @typedef {{all: RecordedStream[], tabs: Map<number, RecordedStream[]>}} Settings */

/** @type {Settings} */
export const NOTHING = { all: [], tabs: new Map() };

/**
 * Unknown streams and shapes of a newer daemon are left out, and not recorded.
 * @param {any} capture as it stands in a frame @returns {Settings}
 */
export function readSettings(capture) {
  const entries = Array.isArray(capture?.tabs) ? capture.tabs : [];
  const tabs = new Map();
  for (const entry of entries) {
    const streams = known(entry?.streams);
    if (Number.isInteger(entry?.tab_id) && streams.length > 0) tabs.set(entry.tab_id, streams);
  }
  return { all: known(capture?.all), tabs };
}

/** The same, as it can be stored and read again. @param {Settings} settings @returns {CaptureSettings} */
export function writeSettings({ all, tabs }) {
  return { all, tabs: Array.from(tabs, ([tab_id, streams]) => ({ tab_id, streams })) };
}

/** @param {Settings} settings @param {number} tabId @returns {Set<RecordedStream>} */
export function streamsOf({ all, tabs }, tabId) {
  return new Set([...all, ...tabs.get(tabId) ?? []]);
}

/** @param {unknown} streams @returns {RecordedStream[]} */
function known(streams) {
  return Array.isArray(streams) ? STREAMS.filter((stream) => streams.includes(stream)) : [];
}
