// Reads and writes PNG files of 8 bits a channel.
import { deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const RGB = 2;
const RGBA = 6;

/**
 * An image in memory.
 * @typedef {{width: number, height: number, pixels: Buffer}} RasterImage `pixels`: red, green, blue and alpha of each
 */

/** @param {RasterImage} image @returns {Buffer} a PNG file */
export function encodePng({ width, height, pixels }) {
  const rows = Buffer.alloc(height * (width * 4 + 1));
  for (let y = 0; y < height; y += 1) pixels.copy(rows, y * (width * 4 + 1) + 1, y * width * 4, (y + 1) * width * 4);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, RGBA, 0, 0, 0], 8);
  const chunks = [['IHDR', header], ['IDAT', deflateSync(rows, { level: 9 })], ['IEND', Buffer.alloc(0)]];
  return Buffer.concat([SIGNATURE, ...chunks.map(([name, data]) => encodeChunk(name, data))]);
}

/** @param {string} name @param {Buffer} data */
function encodeChunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}

/** @param {Buffer} bytes */
function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** @param {Buffer} file RGB or RGBA, not interlaced @returns {RasterImage} */
export function decodePng(file) {
  let [width, height, kind] = [0, 0, 0];
  const data = [];
  for (let at = SIGNATURE.length; at < file.length;) {
    const length = file.readUInt32BE(at);
    const name = file.toString('latin1', at + 4, at + 8);
    const body = file.subarray(at + 8, at + 8 + length);
    if (name === 'IHDR') [width, height, kind] = [body.readUInt32BE(0), body.readUInt32BE(4), body[9]];
    if (name === 'IDAT') data.push(body);
    at += length + 12;
  }
  if (kind !== RGB && kind !== RGBA) throw new Error(`a PNG of colour type ${kind} cannot be read here`);
  const channels = kind === RGB ? 3 : 4;
  const rows = unfiltered(inflateSync(Buffer.concat(data)), width * channels, height, channels);
  const pixels = Buffer.alloc(width * height * 4, 255);
  for (let i = 0; i < width * height; i += 1) rows.copy(pixels, i * 4, i * channels, (i + 1) * channels);
  return { width, height, pixels };
}

/** @param {Buffer} filtered @param {number} stride bytes of a row @param {number} height @param {number} step bytes of a pixel */
function unfiltered(filtered, stride, height, step) {
  const rows = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = filtered[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const left = x < step ? 0 : rows[y * stride + x - step];
      const above = y === 0 ? 0 : rows[(y - 1) * stride + x];
      const corner = x < step || y === 0 ? 0 : rows[(y - 1) * stride + x - step];
      rows[y * stride + x] = filtered[y * (stride + 1) + 1 + x] + predicted(filter, left, above, corner);
    }
  }
  return rows;
}

/** @param {number} filter @param {number} left @param {number} above @param {number} corner */
function predicted(filter, left, above, corner) {
  switch (filter) {
    case 1: return left;
    case 2: return above;
    case 3: return (left + above) >> 1;
    case 4: return paeth(left, above, corner);
    default: return 0;
  }
}

/** @param {number} left @param {number} above @param {number} corner */
function paeth(left, above, corner) {
  const guess = left + above - corner;
  const [toLeft, toAbove, toCorner] = [left, above, corner].map((value) => Math.abs(guess - value));
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

/** @param {RasterImage} image @param {{x: number, y: number, width: number, height: number}} box @returns {RasterImage} */
export function cropped(image, { x, y, width, height }) {
  const pixels = Buffer.alloc(width * height * 4);
  for (let row = 0; row < height; row += 1) {
    const from = ((y + row) * image.width + x) * 4;
    image.pixels.copy(pixels, row * width * 4, from, from + width * 4);
  }
  return { width, height, pixels };
}

/** Each pixel becomes a square of so many. @param {RasterImage} image @param {number} times @returns {RasterImage} */
export function magnified(image, times) {
  const [width, height] = [image.width * times, image.height * times];
  const pixels = Buffer.alloc(width * height * 4);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const from = (Math.floor(y / times) * image.width + Math.floor(x / times)) * 4;
      image.pixels.copy(pixels, (y * width + x) * 4, from, from + 4);
    }
  }
  return { width, height, pixels };
}
