// @ts-check
// How large a text is on the wire.

/** @param {string} text */
export function utf8Length(text) {
  // Nearly all results are far below every limit: then an upper bound is enough.
  return text.length < 100_000 ? text.length * 3 : new TextEncoder().encode(text).length;
}
