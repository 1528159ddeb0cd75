// @ts-check
// A script that no agent waits for any more must not block its tab: the steps after a timeout and
// after Stop. The gentle way first; the page is thrown away only if it does not answer to anything.

/** @import {StopReason} from '../../types/protocol.js' */

import { cdp, isAttached, nextEvent, stopLoading } from './debugger.js';
import { CRASH_MS, PAGE_ANSWER_MS, PAGE_PROBE_MS, RELOAD_MS } from './limits.js';

/** @typedef {'usable' | 'stopped' | 'reloaded' | 'stuck'} UnstickResult */

/**
 * @param {number} tabId whose page may still be at it
 * @param {{word?: string, silentMs?: number}} [known] `word`: an expression that aborts the script's signal; `silentMs`: how long
 *   the page has not answered already
 * @returns {Promise<string>} a note for the report
 */
export async function unstick(tabId, { word = '1', silentMs = 0 } = {}) {
  // While the tab waits for a server the page looks as if it hung: it would be thrown away for nothing.
  const waited = await stopWaiting(tabId).catch(notStopped);
  const patienceMs = Math.max(PAGE_PROBE_MS - (waited ? 0 : silentMs), PAGE_ANSWER_MS);
  return waited + unstickNote(await endScript(tabId, word, patienceMs));
}

/** @param {unknown} error such as a tab that is gone, which has nothing left to end */
function notStopped(error) {
  console.debug(error);
  return '';
}

/**
 * @param {number} tabId @param {string} [word] an expression that aborts the script's signal @param {number} [patienceMs] for its answer
 * @returns {Promise<UnstickResult>}
 */
export async function endScript(tabId, word = '1', patienceMs = PAGE_PROBE_MS) {
  // Without the debugger the page can be neither asked nor ended.
  if (!isAttached(tabId) || await answers(tabId, patienceMs, word)) return 'usable';
  // Ends the running JavaScript, and nothing else: the page stays as it is. Newer browsers refuse it to
  // extensions, at once.
  const refused = cdp(tabId, 'Runtime.terminateExecution').then(never, () => !isAttached(tabId));
  if (await Promise.race([answers(tabId, PAGE_PROBE_MS), refused])) return 'stopped';
  return await crashAndReload(tabId) ? 'reloaded' : 'stuck';
}

/**
 * A page that is waited for in vain is given up: the one that is there could not be used meanwhile. One that
 * has begun to load goes on loading.
 * @param {number} tabId @returns {Promise<string>} a note for the report
 */
export async function stopWaiting(tabId) {
  const { pendingUrl } = await chrome.tabs.get(tabId);
  if (!pendingUrl) return '';
  await stopLoading(tabId);
  return '; the server has not answered and the tab stays where it was';
}

/**
 * The end of a command that has done nothing: says why its page may not have answered in time.
 * @param {number} tabId @param {StopReason} why @returns {Promise<string>} a note for the report
 */
export async function endWait(tabId, why) {
  const note = await stopWaiting(tabId);
  if (note !== '' || why !== 'timeout') return note;
  const asked = chrome.scripting.executeScript({ target: { tabId }, injectImmediately: true, func: () => 1 });
  // A page that the browser keeps extensions out of answers by refusing.
  const silent = new Promise((resolve) => { setTimeout(resolve, PAGE_PROBE_MS, SILENT); });
  return Promise.race([asked.then(() => '', () => ''), silent]);
}

/** A dialog that was open before the debugger was attached can be neither seen nor closed by it. */
const SILENT = '; the page answers nothing: it is busy, or shows a dialog that the person has to answer (refresh gives up the page)';

/**
 * Ends a navigation. A cancelled one stops at once, at any stage: as if a person had
 * pressed Stop. @param {number} tabId @param {StopReason} why @returns {Promise<string>} a note for the report
 */
export async function stopNavigation(tabId, why) {
  if (why === 'timeout') return stopWaiting(tabId);
  await stopLoading(tabId);
  return '';
}

/** A loop inside the browser's own code, a synchronous request, an endless row of timers. @param {number} tabId */
async function crashAndReload(tabId) {
  const crashed = nextEvent(tabId, 'Inspector.targetCrashed', CRASH_MS);
  // No answer comes: the process that would give it is gone.
  cdp(tabId, 'Page.crash').catch(console.debug);
  if (!await crashed) return false;
  // Until its page has a process again, a tab answers nothing.
  const revived = nextEvent(tabId, 'Inspector.targetReloadedAfterCrash', RELOAD_MS);
  await chrome.tabs.reload(tabId).catch(console.debug);
  return await revived && answers(tabId, RELOAD_MS);
}

/** @returns {Promise<never>} */
const never = () => new Promise(() => {});

/** @param {number} tabId @param {number} withinMs @param {string} [expression] @returns {Promise<boolean>} */
function answers(tabId, withinMs, expression = '1') {
  const answer = cdp(tabId, 'Runtime.evaluate', { expression }).then(() => true, () => !isAttached(tabId));
  return Promise.race([answer, new Promise((resolve) => { setTimeout(resolve, withinMs, false); })]);
}

/** @param {UnstickResult} how @returns {string} a note for the report */
export function unstickNote(how) {
  switch (how) {
    case 'reloaded': return '; the tab was reloaded because the script would not stop';
    case 'stuck': return '; the script would not stop and the tab does not react: close it with tab_close';
    default: return '';
  }
}
