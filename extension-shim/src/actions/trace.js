// @ts-check
// A trace of a page load or of an act: started, stopped, its largest costs named, and all of it as a file for DevTools.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {TraceEvent} from '../analysis/trace_costs.js' */

import { cleanedTrace } from '../analysis/trace_cleaning.js';
import { summarizeTrace } from '../analysis/trace_costs.js';
import { TRACE_MS, traces } from '../analysis/trace_recording.js';
import { lookAtPage } from '../browser/attached_page.js';
import { cdp } from '../browser/debugger.js';
import { assertPage } from '../browser/site_guard.js';
import { policy } from '../browser/state.js';
import { RESULT_MAX_BYTES } from '../commands/limits.js';
import { checkedChoice } from '../commands/params.js';
import { base64Of } from '../lib/base64.js';
import { ActionError } from '../lib/errors.js';
import { originOf } from '../policy/pages.js';

/** The summary stands beside the file. */
const FILE_MAX_BYTES = RESULT_MAX_BYTES - 64 * 1024;

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function trace({ phase }, context) {
  const end = checkedChoice('phase', phase, ['start', 'stop']);
  // Pages of one site share a process, which is recorded as a whole.
  if (!context.seesAll) throw new ActionError('unsupported', 'a trace records all pages of a process, and this program may not see every tab', undefined, { mayHaveRun: false, hint: 'performance tells load times, the slowest interaction and the longest tasks.' });
  if (end === 'start') policy.handed.assertNoTrace();
  const { value, url, dialogs } = await lookAtPage(context, async (tabId) => {
    if (end === 'stop') return stopped(tabId, context);
    await traces.start(tabId, context.client);
    return { started: true, next: `Load the page or act, then call trace with phase stop; it ends by itself after ${TRACE_MS / 1000} s.` };
  });
  return { value, type: 'object', origin: originOf(url), dialogs };
}

/** @param {number} tabId @param {Context} context */
async function stopped(tabId, { client, signal }) {
  const { events, isCut, hasEnded, shown } = await traces.stop(tabId, client);
  signal.throwIfAborted();
  const url = await assertPage(tabId);
  // The tab may have shown other pages meanwhile, and so may other tabs of the same process.
  for (const page of new Set([...shown, ...documentsIn(events)])) await policy.admit(page);
  const cleaned = /** @type {TraceEvent[]} */ (cleanedTrace(events, (one) => policy.blocks(one)));
  const { frameTree } = await cdp(tabId, 'Page.getFrameTree');
  const told = summarizeTrace(cleaned);
  const file = await compressed({ traceEvents: [...opening(cleaned, frameTree.frame.id, cleanedTrace(url, () => false)), ...cleaned] });
  const isTooLarge = file.length > FILE_MAX_BYTES;
  return {
    ...told,
    ...(hasEnded && { note: `the trace ended by itself after ${TRACE_MS / 1000} s` }),
    ...(isCut && { cut: 'the browser\'s buffer was full: trace a shorter act' }),
    ...(isTooLarge ? { no_file: 'the trace is too large for a file: trace a shorter act' } : { mime_type: 'application/gzip', data: file }),
  };
}

/** Addresses of the page itself, from the navigations of the trace. @param {TraceEvent[]} events @returns {Set<string>} */
function documentsIn(events) {
  const loads = events.filter(({ name, args }) => name === 'CommitLoad' && args?.data?.isOutermostMainFrame === true);
  return new Set(loads.map(({ args }) => String(args.data.url)).filter((url) => url !== ''));
}

/**
 * The event by which DevTools knows which page a trace is of. The browser's own process, which notes it, is not recorded.
 * @param {TraceEvent[]} events @param {string} frame @param {string} url @returns {TraceEvent[]}
 */
function opening(events, frame, url) {
  const ofPage = events.find(({ args }) => args?.frame === frame || args?.data?.frame === frame) ?? events.find(({ ts }) => ts > 0);
  if (!ofPage) return [];
  const ts = events.reduce((first, event) => (event.ts > 0 ? Math.min(first, event.ts) : first), Infinity);
  const frames = [{ frame, url, name: '', processId: ofPage.pid, isOutermostMainFrame: true, isInPrimaryMainFrame: true }];
  const data = { persistentIds: true, frameTreeNodeId: 1, frames };
  return [/** @type {any} */ ({ name: 'TracingStartedInBrowser', cat: 'disabled-by-default-devtools.timeline', ph: 'I', s: 't', ts, pid: ofPage.pid, tid: ofPage.tid, args: { data } })];
}

/** @param {object} value @returns {Promise<string>} in base64 */
async function compressed(value) {
  const zipped = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream('gzip'));
  return base64Of(new Uint8Array(await new Response(zipped).arrayBuffer()));
}
