// @ts-check
// A trace without the parts that no agent should read: headers, queries and fragments of addresses, addresses of sites
// that are closed to agents.

const URLS = /\b(?:https?|wss?|file|ftp|blob|filesystem):[^\s"'<>`()]+/gi;
const DATA = /\bdata:[^\s"'<>`()]{64,}/gi;
/** Members of events that hold headers, which may be cookies, and bodies. */
const LEFT_OUT = new Set(['headers', 'requestHeaders', 'responseHeaders', 'postData', 'cookies', 'sourceText']);

/**
 * @param {any} value of an event @param {(url: string) => boolean} isClosed @returns {any} a copy
 */
export function cleanedTrace(value, isClosed) {
  if (typeof value === 'string') return cleanedText(value, isClosed);
  if (Array.isArray(value)) return value.map((one) => cleanedTrace(one, isClosed));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !LEFT_OUT.has(name)).map(([name, one]) => [name, cleanedTrace(one, isClosed)]));
}

/** @param {string} text @param {(url: string) => boolean} isClosed */
function cleanedText(text, isClosed) {
  if (text.length < 6 || !text.includes(':')) return text;
  return text.replace(DATA, 'data:…').replace(URLS, (url) => (isClosed(url) ? 'closed-to-agents:' : url.replace(/[?#].*$/s, '').replace(/^(\w+:\/\/)[^/@]*@/, '$1')));
}
