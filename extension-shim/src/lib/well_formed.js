// @ts-check
// Frames must be JSON that every parser takes. A page can hold half an emoji, which JSON.stringify writes as an escape
// that strict parsers refuse.

/** @param {string} json of JSON.stringify, which escapes surrogates only if they are alone @returns {string} with U+FFFD in their place */
export function wellFormed(json) {
  if (!json.includes('\\ud')) return json;
  // Escaped backslashes are escapes of their own: the letters after one are text.
  return json.replace(/\\(?:ud[89a-f]..|.)/g, (escape) => (escape.length > 2 ? '\\ufffd' : escape));
}
