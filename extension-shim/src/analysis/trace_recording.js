// @ts-check
// Traces of a tab by the browser's own recorder, of which there is one. It keeps what it records until it is read.

/** @import {TraceEvent} from './trace_costs.js' */

import { cdp, onEventOf } from '../browser/debugger.js';
import { bytesOf } from '../lib/base64.js';
import { ActionError, messageOf } from '../lib/errors.js';
import { within } from '../lib/within.js';

/** A longer trace is larger than DevTools opens with ease. */
export const TRACE_MS = 60_000;
/** How long the browser may take to hand a trace over: it waits for all its processes. */
const HAND_OVER_MS = 15_000;
const BUFFER_KB = 64 * 1024;
const CHUNK_BYTES = 4 * 1024 * 1024;
/** Those of DevTools, without pictures and the sources of scripts. */
const CATEGORIES = ['blink.user_timing', 'devtools.timeline', 'disabled-by-default-devtools.timeline', 'disabled-by-default-devtools.timeline.frame', 'disabled-by-default-v8.cpu_profiler', 'loading', 'latencyInfo'];

/**
 * @typedef {object} OpenTrace
 * @property {number} tabId
 * @property {string} client
 * @property {number} startedAt
 * @property {Promise<{stream: string, dataLossOccurred?: boolean}>} complete
 * @property {ReturnType<typeof setTimeout>} timer
 * @property {boolean} hasEnded by itself
 * @property {Set<string>} shown addresses of the pages that the tab has shown meanwhile
 * @property {() => void} unread ends the noting of them
 *
 * @typedef {{events: TraceEvent[], isCut: boolean, hasEnded: boolean, shown: Set<string>}} ReadTrace
 */

class TraceRecorder {
  /** @type {OpenTrace | null} */
  #open = null;

  /** Whether one is recorded, or has ended and is still to be read. */
  get isAny() {
    return this.#open !== null;
  }

  /** @param {number} tabId to which the debugger is attached @param {string} client */
  async start(tabId, client) {
    const known = this.#open;
    if (known && (known.client !== client || known.tabId !== tabId) && !known.hasEnded) throw inUse(known, client);
    if (known) await this.#discard(known);
    const trace = this.#expect(tabId, client);
    this.#open = trace;
    try {
      trace.shown.add(addressOf((await cdp(tabId, 'Page.getFrameTree')).frameTree.frame));
      await begin(tabId);
    } catch (error) {
      this.#forget(trace);
      throw unsupported(error);
    }
  }

  /** @param {number} tabId @param {string} client @returns {Promise<ReadTrace>} */
  async stop(tabId, client) {
    const trace = this.#open;
    if (!trace || trace.tabId !== tabId || trace.client !== client) {
      if (trace && !trace.hasEnded) throw inUse(trace, client);
      throw new ActionError('invalid_params', `no trace of tab ${tabId} is recorded`, undefined, { hint: 'Call trace with phase start in this tab first; a trace is lost if the tab or the extension ends.' });
    }
    try {
      if (!trace.hasEnded) await cdp(tabId, 'Tracing.end');
      const { stream, dataLossOccurred } = await within(HAND_OVER_MS, trace.complete);
      const { traceEvents } = JSON.parse(await readStream(tabId, stream));
      return { events: traceEvents, isCut: dataLossOccurred === true, hasEnded: trace.hasEnded, shown: trace.shown };
    } catch (error) {
      throw error instanceof ActionError ? error : unsupported(error);
    } finally {
      this.#forget(trace);
    }
  }

  /** @param {number} tabId @param {string} client @returns {OpenTrace} */
  #expect(tabId, client) {
    const shown = new Set();
    // A process that ends with its page takes its last events with it, the page's own arrival among them.
    const unread = onEventOf(tabId, 'Page.frameNavigated', ({ frame }) => { if (!frame.parentId) shown.add(addressOf(frame)); });
    /** @type {OpenTrace} */
    const trace = { tabId, client, startedAt: Date.now(), hasEnded: false, shown, unread, complete: new Promise((resolve) => {
      const end = onEventOf(tabId, 'Tracing.tracingComplete', (told) => { end(); resolve(told); });
    }), timer: setTimeout(() => {
      trace.hasEnded = true;
      cdp(tabId, 'Tracing.end').catch(console.debug);
    }, TRACE_MS) };
    return trace;
  }

  /** What was recorded is lost. */
  async drop() {
    if (this.#open) await this.#discard(this.#open);
  }

  /** @param {OpenTrace} trace */
  async #discard(trace) {
    this.#forget(trace);
    if (!trace.hasEnded) await cdp(trace.tabId, 'Tracing.end').catch(console.debug);
    const told = await within(HAND_OVER_MS, trace.complete).catch(() => null);
    if (told) await cdp(trace.tabId, 'IO.close', { handle: told.stream }).catch(console.debug);
  }

  /** @param {OpenTrace} trace */
  #forget(trace) {
    clearTimeout(trace.timer);
    trace.unread();
    if (this.#open === trace) this.#open = null;
  }

  /** @param {number | undefined} tabId to which the debugger is no longer attached: its trace is lost */
  handleDetach(tabId) {
    if (this.#open && this.#open.tabId === tabId) this.#forget(this.#open);
  }
}

/** @param {{url: string, unreachableUrl?: string}} frame @returns {string} of the browser's page for an error: the address that failed */
function addressOf({ url, unreachableUrl }) {
  return unreachableUrl ?? url;
}

/** @param {number} tabId */
async function begin(tabId) {
  const params = {
    transferMode: 'ReturnAsStream',
    traceConfig: { recordMode: 'recordUntilFull', traceBufferSizeInKb: BUFFER_KB, includedCategories: CATEGORIES, excludedCategories: ['*'] },
  };
  try {
    await cdp(tabId, 'Tracing.start', params);
  } catch (error) {
    // A former worker's is still recorded.
    if (!/already/i.test(messageOf(error))) throw error;
    await cdp(tabId, 'Tracing.end');
    await cdp(tabId, 'Tracing.start', params);
  }
}

/** @param {number} tabId @param {string} handle @returns {Promise<string>} */
async function readStream(tabId, handle) {
  const decoder = new TextDecoder();
  const parts = [];
  for (;;) {
    const { data, eof, base64Encoded } = await cdp(tabId, 'IO.read', { handle, size: CHUNK_BYTES });
    parts.push(base64Encoded ? decoder.decode(bytesOf(data), { stream: true }) : data);
    if (eof) break;
  }
  await cdp(tabId, 'IO.close', { handle });
  return parts.join('');
}

/** @param {OpenTrace} trace @param {string} asking the client that asks */
function inUse({ tabId, client, startedAt }, asking) {
  const since = Math.round((Date.now() - startedAt) / 1000);
  const whose = client === asking ? 'yours' : 'another client\'s';
  return new ActionError('unsupported', `a trace of tab ${tabId} (${whose}) is recorded for ${since} s, and the browser records one at a time`, undefined,
    {
      hint: client === asking ? `Stop it with phase stop in tab ${tabId}.` : `Try again: it ends by itself after ${TRACE_MS / 1000} s.`,
      about: { tabId, message: 'a trace is recorded elsewhere, and the browser records one at a time', hint: `Try again: it ends by itself after ${TRACE_MS / 1000} s.` },
    });
}

/** @param {unknown} error */
function unsupported(error) {
  return new ActionError('unsupported', `this browser records no trace for extensions (${messageOf(error)})`, undefined, { hint: 'performance tells load times, the slowest interaction and the longest tasks.' });
}

export const traces = new TraceRecorder();
