// @ts-check
// The requests of one tab, put together from their events. Pure. A request that was on a denied
// site anywhere on its way ends without a trace: a page can have it sent with the person's cookies and without
// being allowed to read the answer, and a recording must not read it in the page's place.

/** @import {RequestEntry} from '../../types/protocol.js' */

import { clip } from '../lib/clip.js';
import { HEADER_MAX, OPEN_REQUESTS_MAX, URL_MAX } from './limits.js';
import { present } from './text.js';

/**
 * @typedef {object} Request
 * @property {string} id
 * @property {any} sent params of Network.requestWillBeSent
 * @property {any} response as the protocol has it; undefined until it came
 * @property {number | undefined} respondedAt the browser's own clock, in seconds
 * @property {boolean} cached
 * @property {boolean} denied it has been on a site that agents may not use, or is about to be
 *
 * @typedef {{endedAt: number, bytes?: number, error?: string}} RequestEnd
 * @typedef {{request: Request, entry: Omit<RequestEntry, 'tab_id'>}} FinishedRequest
 */

/** They open doors: the daemon need not have them even for a moment. */
const SECRET_HEADERS = new Set(['cookie', 'set-cookie', 'authorization', 'proxy-authorization']);

export class Requests {
  /** @type {Map<string, Request>} that have not ended, oldest first */
  #open = new Map();
  #isDenied;

  /** @param {(url: string) => boolean} isDenied whether agents may not use a site */
  constructor(isDenied) {
    this.#isDenied = isDenied;
  }

  /** @param {string} method of an event @param {any} params @returns {FinishedRequest[]} requests that it ended */
  handle(method, params) {
    switch (method) {
      case 'Network.requestWillBeSent': return this.#sent(params);
      case 'Network.requestServedFromCache': this.#with(params, (request) => { request.cached = true; }); break;
      case 'Network.responseReceived': this.#with(params, (request) => {
        request.response = params.response;
        request.respondedAt = params.timestamp;
        // A service worker may have answered with a response from elsewhere.
        request.denied ||= this.#isDenied(params.response.url ?? '');
      }); break;
      case 'Network.loadingFinished':
        return this.#end(params, { endedAt: params.timestamp, bytes: params.encodedDataLength });
      case 'Network.loadingFailed':
        return this.#end(params, { endedAt: params.timestamp, error: failure(params) });
      default:
    }
    return [];
  }

  /** @param {any} params @returns {FinishedRequest[]} */
  #sent(params) {
    const { requestId: id, redirectResponse, timestamp } = params;
    /** @type {FinishedRequest[]} */
    let redirected = [];
    let denied = this.#isDenied(params.request.url);
    if (redirectResponse) {
      this.#with(params, (request) => {
        request.response = redirectResponse;
        request.respondedAt = timestamp;
        // The redirect names a denied site, and that site may redirect back with a secret in the URL.
        denied ||= request.denied;
        request.denied = denied;
      });
      redirected = this.#end(params, { endedAt: timestamp, bytes: redirectResponse.encodedDataLength });
    }
    if (/^(data|blob):/.test(params.request.url)) return redirected; // They never leave the page.
    this.#open.set(id, { id, sent: params, response: undefined, respondedAt: undefined, cached: false, denied });
    if (this.#open.size > OPEN_REQUESTS_MAX) {
      const [oldest] = this.#open.keys();
      this.#open.delete(oldest);
    }
    return redirected;
  }

  /** @param {{requestId: string}} params @param {(request: Request) => void} change */
  #with({ requestId }, change) {
    const request = this.#open.get(requestId);
    if (request) change(request);
  }

  /** @param {{requestId: string}} params @param {RequestEnd} end @returns {FinishedRequest[]} */
  #end({ requestId }, end) {
    const request = this.#open.get(requestId);
    this.#open.delete(requestId);
    const isKept = request && !request.denied && !this.#isDenied(request.sent.request.url);
    return isKept ? [{ request, entry: entryOf(request, end) }] : [];
  }
}

/** @param {Request} request @param {RequestEnd} end @returns {Omit<RequestEntry, 'tab_id'>} */
function entryOf(request, { endedAt, bytes, error }) {
  const { id, sent, response } = request;
  return present({
    t: Math.round(sent.wallTime * 1000),
    request_id: id,
    method: sent.request.method,
    url: clip(sent.request.url, URL_MAX),
    page_url: clip(sent.documentURL, URL_MAX),
    resource_type: (sent.type ?? 'Other').toLowerCase(),
    status: response?.status,
    status_text: response?.statusText || undefined,
    mime_type: response?.mimeType || undefined,
    duration_ms: ms(endedAt - sent.timestamp),
    ttfb_ms: ttfb(request),
    bytes,
    from_cache: isCached(request) || undefined,
    error,
    request_headers: headers(sent.request.headers),
    response_headers: headers(response?.headers),
  });
}

/** @param {Request} request @returns {number | undefined} from its start to the first byte of its answer */
function ttfb({ sent, response, respondedAt }) {
  if (!response || respondedAt === undefined) return undefined;
  const timing = response.timing;
  const headersAt = timing?.receiveHeadersStart > 0 ? timing.receiveHeadersStart : timing?.receiveHeadersEnd;
  if (!(headersAt > 0)) return ms(respondedAt - sent.timestamp);
  return Math.max(0, ms(timing.requestTime + headersAt / 1000 - sent.timestamp));
}

/** @param {Request} request */
function isCached({ cached, response }) {
  return cached || Boolean(response?.fromDiskCache || response?.fromPrefetchCache);
}

/** @param {any} params of Network.loadingFailed @returns {string} */
function failure({ errorText, blockedReason, corsErrorStatus }) {
  const why = corsErrorStatus?.corsError ?? blockedReason;
  return why ? `${errorText || 'blocked'} (${why})` : errorText || 'failed';
}

/** @param {Record<string, unknown> | undefined} all @returns {Record<string, string> | undefined} */
function headers(all) {
  if (!all) return undefined;
  return Object.fromEntries(Object.entries(all).map(([name, value]) =>
    [name, SECRET_HEADERS.has(name.toLowerCase()) ? '[redacted]' : clip(String(value), HEADER_MAX)]));
}

/** @param {number} seconds @returns {number} to a tenth */
function ms(seconds) {
  return Math.round(seconds * 10_000) / 10;
}
