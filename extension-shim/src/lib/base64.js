// @ts-check
// Bytes as base64.

/** @param {Uint8Array} bytes @returns {string} */
export function base64Of(bytes) {
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** @param {string} text @returns {Uint8Array<ArrayBuffer>} */
export function bytesOf(text) {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
