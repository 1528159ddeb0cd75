// Draws the extension's icons: `node scripts/icons.mjs` writes them to extension-shim/icons.
//
// The mark is a T: the strip of a browser's tabs, and a wire that hangs from it and ends in a node.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { encodePng } from './png.mjs';

/** @import {RasterImage} from './png.mjs' */

/**
 * The files: what is shown of the extension, and in grey what its button shows while no daemon is connected.
 * @type {{name: string, size: number, isGrey: boolean}[]}
 */
export const ICONS = [
  ...[16, 32, 48, 128].map((size) => ({ name: `icon-${size}.png`, size, isGrey: false })),
  ...[16, 32].map((size) => ({ name: `icon-grey-${size}.png`, size, isGrey: true })),
];

const GREEN = [13, 124, 102];
const GREY = [128, 134, 139];
const MARK = [255, 255, 255];
/** Samples a pixel's side, for smooth edges. */
const SAMPLES = 8;

/** @typedef {(x: number, y: number) => boolean} Shape on a grid of 16 by 16, which is that of the smallest icon's pixels */

/** @param {number} left @param {number} top @param {number} right @param {number} bottom @param {number} radius @returns {Shape} */
function roundedBox(left, top, right, bottom, radius) {
  return (x, y) => {
    const dx = Math.max(left + radius - x, x - (right - radius), 0);
    const dy = Math.max(top + radius - y, y - (bottom - radius), 0);
    return x >= left && x <= right && y >= top && y <= bottom && dx * dx + dy * dy <= radius * radius;
  };
}

const tile = roundedBox(0, 0, 16, 16, 3.6);
const strip = roundedBox(3, 3, 13, 5, 1);
const wire = roundedBox(7, 4, 9, 11, 0);
const node = (/** @type {number} */ x, /** @type {number} */ y) => Math.hypot(x - 8, y - 11) <= 2.6;
const hole = (/** @type {number} */ x, /** @type {number} */ y) => Math.hypot(x - 8, y - 11) <= 1;

/** @param {{size: number, isGrey: boolean}} icon `size` in pixels @returns {RasterImage} */
export function drawIcon({ size, isGrey }) {
  const pixels = Buffer.alloc(size * size * 4);
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) pixels.set(pixelAt(x, y, 16 / size, isGrey ? GREY : GREEN), (y * size + x) * 4);
  }
  return { width: size, height: size, pixels };
}

/** @param {number} x @param {number} y @param {number} scale of a pixel on the grid @param {number[]} background */
function pixelAt(x, y, scale, background) {
  let [inTile, inMark] = [0, 0];
  for (let i = 0; i < SAMPLES * SAMPLES; i += 1) {
    const at = /** @type {[number, number]} */ ([
      (x + ((i % SAMPLES) + 0.5) / SAMPLES) * scale, (y + (Math.floor(i / SAMPLES) + 0.5) / SAMPLES) * scale]);
    if (!tile(...at)) continue;
    inTile += 1;
    if ((strip(...at) || wire(...at) || node(...at)) && !hole(...at)) inMark += 1;
  }
  const share = inTile === 0 ? 0 : inMark / inTile;
  const colour = background.map((value, channel) => Math.round(value + (MARK[channel] - value) * share));
  return [...colour, Math.round(inTile / (SAMPLES * SAMPLES) * 255)];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = new URL('../extension-shim/icons/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  for (const icon of ICONS) writeFileSync(new URL(icon.name, folder), encodePng(drawIcon(icon)));
}
