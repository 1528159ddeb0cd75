// The size of a picture is read from its header, without decoding all of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imageSize } from '../../src/lib/image_size.js';

/** @param {number} bytes in its descriptions before the size @returns {Uint8Array} a JPEG of 640 × 480 up to its size, and a megabyte of the rest */
function jpeg(bytes) {
  const segments = [];
  for (let left = bytes; left > 0; left -= 60_000) {
    const length = Math.min(left, 60_000) + 2;
    segments.push(Uint8Array.of(0xff, 0xe2, length >> 8, length & 0xff), new Uint8Array(length - 2));
  }
  const frame = Uint8Array.of(0xff, 0xc0, 0, 17, 8, 480 >> 8, 480 & 0xff, 640 >> 8, 640 & 0xff, 3);
  return Buffer.concat([Uint8Array.of(0xff, 0xd8), ...segments, frame, new Uint8Array(1_000_000)]);
}

/** @param {Uint8Array} bytes */
const base64 = (bytes) => Buffer.from(bytes).toString('base64');

test('a JPEG has its size behind its descriptions, however long they are', () => {
  for (const described of [0, 100, 3_060, 10_000, 200_000]) assert.deepEqual(imageSize(base64(jpeg(described))), { width: 640, height: 480 }, String(described));
});

test('of a large picture only the beginning is decoded', (t) => {
  const decoded = t.mock.method(globalThis, 'atob');
  imageSize(base64(jpeg(600)));
  const lengths = decoded.mock.calls.map(({ arguments: [text] }) => String(text).length);
  assert.ok(lengths.length > 0 && lengths.every((length) => length < 10_000), lengths.join());
});

test('bytes that are no picture have no size', () => {
  for (const bytes of ['', 'AAAA', base64(new Uint8Array(10_000))]) assert.deepEqual(imageSize(bytes), { width: 0, height: 0 });
});
