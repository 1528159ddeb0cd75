// @ts-check
// What the worker tells the popup, and what the popup can ask of it.

/** @import {RecordedTab, RunningCommand} from './protocol.js' */
/** @import {Status} from './link.js' */

/**
 * @typedef {{status: Status, detail: string, daemon_version: string | null}} Connection
 * @typedef {RunningCommand & {tab_title: string}} RunningRow
 * @typedef {RecordedTab & {tab_title: string}} RecordingRow
 * @typedef {Connection & {shim_version: string, now: number, running: RunningRow[], recording: RecordingRow[]}} PanelState
 * @typedef {{ask: 'state'} | {ask: 'opened'} | {ask: 'reconnect'} | {ask: 'stop', correlation_id: string}} Ask
 *
 * @typedef {object} Parts what the panel shows and drives
 * @property {() => Connection} connection
 * @property {() => RunningCommand[]} running
 * @property {() => RecordedTab[]} recording
 * @property {(tabId: number | undefined) => string} titleOf
 * @property {() => void} opened the person has looked
 * @property {() => void} reconnect
 * @property {(correlationId: string) => void} stop
 */

/** @param {Parts} parts @returns {(ask: Ask) => PanelState | undefined} undefined: not a question of the popup */
export function makePanel(parts) {
  const state = () => ({
    ...parts.connection(),
    shim_version: chrome.runtime.getManifest().version,
    now: Date.now(),
    running: parts.running().map((one) => ({ ...one, tab_title: parts.titleOf(one.tab_id) })),
    recording: parts.recording().map((one) => ({ ...one, tab_title: parts.titleOf(one.tab_id) })),
  });
  return (ask) => {
    switch (ask?.ask) {
      case 'state': break;
      case 'opened': parts.opened(); break;
      case 'reconnect': parts.reconnect(); break;
      case 'stop': parts.stop(ask.correlation_id); break;
      default: return undefined;
    }
    return state();
  };
}
