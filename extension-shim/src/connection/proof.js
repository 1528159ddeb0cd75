// @ts-check
// The mutual proof of the pairing key. Strings are joined as they stand on the wire.

/** The version of the protocol, which the proofs cover too. */
export const PROTOCOL_VERSION = 2;

const encoder = new TextEncoder();

/** @param {Uint8Array} bytes base64url without padding */
export function toBase64Url(bytes) {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** @param {string} text */
export function fromBase64Url(text) {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (char) => char.charCodeAt(0));
}

/** 32 random bytes, as every nonce has. */
export function makeNonce() {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** @param {string} extKey @param {string[]} parts */
async function hmac(extKey, parts) {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', fromBase64Url(extKey), algorithm, false, ['sign']);
  const mac = await crypto.subtle.sign('HMAC', key, encoder.encode(parts.join('\n')));
  return toBase64Url(new Uint8Array(mac));
}

/**
 * The content that the proofs of both sides cover. It has the port that was dialled, so a program on another
 * port cannot relay a proof.
 * @typedef {{port: number, challengeNonce: string, helloNonce: string, instanceId: string}} Transcript
 */

/** @param {string} role @param {Transcript} transcript */
function covered(role, { port, challengeNonce, helloNonce, instanceId }) {
  return [`tabwire ${PROTOCOL_VERSION}`, role, String(port), challengeNonce, helloNonce, instanceId];
}

/** @param {string} extKey @param {Transcript} transcript */
export function helloMac(extKey, transcript) {
  return hmac(extKey, covered('extension', transcript));
}

/** @param {string} extKey @param {Transcript & {epoch: string}} transcript */
export function welcomeMac(extKey, { epoch, ...transcript }) {
  return hmac(extKey, [...covered('daemon', transcript), epoch]);
}

/**
 * Compares every character, so that the time does not show how many were right.
 * @param {string} ours @param {unknown} theirs
 */
export function sameMac(ours, theirs) {
  if (typeof theirs !== 'string' || theirs.length !== ours.length) return false;
  let difference = 0;
  for (let i = 0; i < ours.length; i += 1) difference |= ours.charCodeAt(i) ^ theirs.charCodeAt(i);
  return difference === 0;
}
