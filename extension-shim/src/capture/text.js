// @ts-check
// How much of a page's text goes over the wire. Pure.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @param {string} text */
export function byteLength(text) {
  return encoder.encode(text).length;
}

/**
 * At most that many bytes of UTF-8, and no half a character at the end.
 * @param {string} text @param {number} most @returns {{text: string, truncated: boolean}}
 */
export function clipBytes(text, most) {
  if (text.length * 3 <= most) return { text, truncated: false };
  const bytes = encoder.encode(text.slice(0, most + 1));
  if (bytes.length <= most) return { text, truncated: false };
  let end = most;
  while (end > 0 && (bytes[end] & 0xc0) === 0x80) end -= 1;
  return { text: decoder.decode(bytes.subarray(0, end)), truncated: true };
}

/** Drops undefined fields, which do not go over the wire. @template {object} T @param {T} fields @returns {T} */
export function present(fields) {
  return /** @type {T} */ (Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));
}
