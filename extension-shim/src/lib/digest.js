// @ts-check
// Short digests of texts.

/** @param {string} text @param {number} bytes of its SHA-256 @returns {Promise<string>} in hexadecimal digits */
export async function shortDigest(text, bytes) {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest, 0, bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
