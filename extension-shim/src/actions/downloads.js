// @ts-check
// The downloads that an agent's acts have begun, and no others: listed, waited for, cancelled. Nothing is opened.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { brokenDownload, downloadOf } from '../browser/downloads.js';
import { tabDownloads, tabEvents } from '../browser/state.js';
import { WaitBell } from '../browser/tab_events.js';
import { checkedChoice, checkedInteger } from '../commands/params.js';
import { ActionError } from '../lib/errors.js';
import { DOWNLOAD_IDS, DOWNLOAD_LOOK_MS, WAIT_REPORT_MS } from './limits.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function downloads({ operation, download_id }, context) {
  const wanted = checkedChoice('operation', operation, /** @type {const} */ (['list', 'wait', 'cancel']));
  const id = download_id === undefined ? undefined : checkedInteger('download_id', download_id, DOWNLOAD_IDS);
  const own = await tabDownloads.ofClient(context.clientId, context.seesAll);
  if (wanted === 'list') return { value: { downloads: own.map(described) }, type: 'object' };
  const [item] = own.filter((one) => (id === undefined ? true : one.id === id));
  if (!item) throw noDownload(id);
  if (wanted === 'wait') return { value: described(await ended(item.id, context)), type: 'object' };
  if (item.state !== 'in_progress') throw new ActionError('download_failed', `${downloadOf(item).file_name} has ended: there is nothing to cancel`, undefined, { mayHaveRun: false, hint: 'List the downloads to see the state of each.' });
  context.begin();
  await chrome.downloads.cancel(item.id);
  return { value: { cancelled: downloadOf(item).file_name, download_id: item.id }, type: 'object' };
}

/** @param {number} id @param {Context} context @returns {Promise<chrome.downloads.DownloadItem>} once it has ended; rejects if it failed */
async function ended(id, { clientId, seesAll, timeout_ms, signal }) {
  const end = performance.now() + timeout_ms - Math.min(WAIT_REPORT_MS, timeout_ms / 5);
  const bell = new WaitBell();
  const wake = () => bell.wake();
  const stopListening = tabEvents.listenToAll(wake);
  signal.addEventListener('abort', wake);
  try {
    for (;;) {
      const item = (await tabDownloads.ofClient(clientId, seesAll)).find((one) => one.id === id);
      signal.throwIfAborted();
      if (!item) throw noDownload(id);
      if (item.state === 'interrupted') throw brokenDownload(item);
      if (item.state === 'complete') return item;
      const left = end - performance.now();
      if (left <= 0) throw late(item, timeout_ms);
      await bell.next(Math.min(left, DOWNLOAD_LOOK_MS));
    }
  } finally {
    stopListening();
    signal.removeEventListener('abort', wake);
  }
}

/** @param {chrome.downloads.DownloadItem} item @returns {Record<string, unknown>} */
function described(item) {
  const { id, state, danger, fileSize, totalBytes, bytesReceived, filename, error, exists } = item;
  const isDone = state === 'complete';
  return {
    download_id: id, state, ...downloadOf({ ...item, totalBytes: isDone ? fileSize : totalBytes }),
    ...(!isDone && { bytes_received: bytesReceived }),
    ...(isDone && { path: filename, ...(!exists && { is_gone: true }) }),
    // The browser keeps such a file back until the person has looked at it.
    ...(!['safe', 'accepted'].includes(danger) && { danger }),
    ...(error && { error }),
  };
}

/** @param {number | undefined} id */
function noDownload(id) {
  const which = id === undefined ? 'no download' : `no download ${id}`;
  return new ActionError('invalid_params', `your acts have begun ${which}`, undefined, { mayHaveRun: false, hint: 'List the downloads with operation "list". Those of the person and of other agents are not told.' });
}

/** @param {chrome.downloads.DownloadItem} item @param {number} timeoutMs */
function late(item, timeoutMs) {
  const { file_name } = downloadOf(item);
  return new ActionError('execution_timeout', `${file_name} has ${item.bytesReceived} bytes so far, after ${timeoutMs / 1000} s`, undefined, { mayHaveRun: false, hint: 'Wait again with a larger timeout_ms, or cancel it.' });
}
