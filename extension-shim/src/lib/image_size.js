// @ts-check
// Width and height of a picture, read from its own header.

import { bytesOf } from './base64.js';

/** Characters of base64, a multiple of four: sizes stand at the beginning, in a JPEG behind its descriptions. */
const HEAD = 4_096;

/** @param {string} base64 PNG, JPEG or WebP @returns {{width: number, height: number}} */
export function imageSize(base64) {
  const size = sizeIn(base64.slice(0, HEAD));
  // A JPEG may describe its colours at length before it comes to its size.
  return size.width === 0 && base64.length > HEAD ? sizeIn(base64) : size;
}

/** @param {string} base64 @returns {{width: number, height: number}} 0: it is not there */
function sizeIn(base64) {
  const view = new DataView(bytesOf(base64).buffer);
  if (view.byteLength < 4) return { width: 0, height: 0 };
  const kind = view.getUint32(0);
  if (kind === 0x89504e47) return { width: view.getUint32(16), height: view.getUint32(20) };
  return kind === 0x52494646 ? webpSize(view) : jpegSize(view);
}

/** Walks the segments to the frame header (SOF). @param {DataView} view */
function jpegSize(view) {
  let at = 2;
  while (at + 9 < view.byteLength) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += 2 + view.getUint16(at + 2);
  }
  return { width: 0, height: 0 };
}

/** By the kind of its first chunk: extended, lossless or lossy. @param {DataView} view */
function webpSize(view) {
  if (view.byteLength < 30) return { width: 0, height: 0 };
  const threeBytes = (/** @type {number} */ at) => view.getUint16(at, true) + view.getUint8(at + 2) * 0x10000;
  switch (view.getUint32(12)) {
    case 0x56503858: return { width: threeBytes(24) + 1, height: threeBytes(27) + 1 };
    case 0x5650384c: return { width: (view.getUint32(21, true) & 0x3fff) + 1, height: ((view.getUint32(21, true) >> 14) & 0x3fff) + 1 };
    case 0x56503820: return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  }
  return { width: 0, height: 0 };
}
