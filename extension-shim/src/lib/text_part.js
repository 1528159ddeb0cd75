// @ts-check
// A part of a long text, and how to get the next one.

import { headOf } from './clip.js';

/** The line that says how to go on is not longer. */
const NOTE_BYTES = 80;

/** @param {string} text @param {{offset: number, maxBytes: number}} part offset in UTF-16 units @returns {string} */
export function textPart(text, { offset, maxBytes }) {
  const rest = text.slice(offset);
  const fitting = (/** @type {number} */ bytes) => new TextEncoder().encodeInto(rest, new Uint8Array(bytes)).read;
  if (fitting(maxBytes) >= rest.length) return rest;
  const read = fitting(Math.max(maxBytes - NOTE_BYTES, 4));
  // A line is not cut if that leaves most of the part.
  const line = rest.lastIndexOf('\n', read);
  const head = line > read * 0.8 ? rest.slice(0, line) : headOf(rest, read);
  return `${head}\n… ${rest.length - head.length} more characters: call again with offset ${offset + head.length}`;
}
