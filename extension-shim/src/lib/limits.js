// @ts-check
// Limits that more than one folder needs, each with its reason.

/** The browser answers in milliseconds; a call that takes longer is repeated. */
export const BROWSER_CALL_MS = 5_000;
/** Chrome ends a worker after 30 s without an event or a chrome.* call. */
export const KEEPALIVE_MS = 20_000;
/** The browser loads an extension anew within a second, a busy one within some. */
export const HANDED_ON_MS = 60_000;
