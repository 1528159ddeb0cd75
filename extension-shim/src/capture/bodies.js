// @ts-check
// The bodies of a request and its answer, as an entry of `bodies`: text only, cut to size. Pure.

/** @import {BodyEntry} from '../../types/protocol.js' */
/** @import {FinishedRequest, Request} from './requests.js' */

import { BODY_FETCH_MAX_BYTES, KEPT_BODY_MAX_BYTES } from './limits.js';
import { clipBytes, present } from './text.js';

const TEXTUAL = /^text\/|[/+](json|xml|ndjson|graphql|x-www-form-urlencoded|javascript|ecmascript|yaml)\b/i;

/** Code and styles are the page's own; the few places are for the data that it exchanges. */
const TYPES = new Set(['document', 'xhr', 'fetch', 'ping', 'prefetch', 'other']);

/** @typedef {{body: string, base64Encoded: boolean}} ResponseBody as the debugger gives it */

/** @param {FinishedRequest} finished whether there is an answer that can be read */
export function hasTextAnswer({ request: { response }, entry }) {
  return entry.error === undefined && TYPES.has(entry.resource_type) && TEXTUAL.test(response?.mimeType ?? '')
    && !(entry.status !== undefined && entry.status >= 300 && entry.status < 400);
}

/** @param {FinishedRequest} finished whether the answer is worth being handed over as a whole */
export function isFetchable(finished) {
  return hasTextAnswer(finished) && (finished.entry.bytes ?? 0) <= BODY_FETCH_MAX_BYTES;
}

/** @param {Request} request whether it has a body that did not come with the event */
export function hasLongPostData({ sent: { request } }) {
  return Boolean(request.hasPostData) && request.postData === undefined;
}

/**
 * @param {FinishedRequest} finished @param {string | undefined} postData @param {ResponseBody | undefined} answer
 * @returns {Omit<BodyEntry, 'tab_id'> | null} null: there is nothing to read
 */
export function bodyEntry(finished, postData, answer) {
  const { t, request_id, method, url, page_url, status, mime_type } = finished.entry;
  if (postData === undefined && !answer && !hasTextAnswer(finished)) return null;
  const asked = clipped(postData);
  const received = clipped(answer?.body, answer?.base64Encoded);
  const tooLarge = hasTextAnswer(finished) && !isFetchable(finished);
  return present({
    t,
    request_id,
    method,
    url,
    page_url,
    status,
    mime_type,
    request_body: asked?.text,
    response_body: received?.text,
    base64: answer?.base64Encoded || undefined,
    truncated: Boolean(asked?.truncated || received?.truncated || tooLarge),
  });
}

/** @param {string | undefined} body @param {boolean} [base64] */
function clipped(body, base64 = false) {
  if (body === undefined) return undefined;
  // 16 KiB divide by four: no group of base64 is cut in two.
  return base64 ? { text: body.slice(0, KEPT_BODY_MAX_BYTES), truncated: body.length > KEPT_BODY_MAX_BYTES } : clipBytes(body, KEPT_BODY_MAX_BYTES);
}
