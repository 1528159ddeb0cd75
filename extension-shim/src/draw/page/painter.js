// @ts-check
// Paints the picture with the marks on it, for the screen and for the drawing that is sent. Each line three times: the ink,
// and two edges that stand out on any page.

/** @import {DrawBox, DrawMark, DrawPoint, DrawSize} from './geometry.js' */

import { drawArrowHead, drawBoxOf } from './geometry.js';

/** The colour of all marks: few pages use one like it. */
const INK = '#e6006e';
/** @type {[string, number][]} */
const STROKES = [['rgb(0 0 0 / .55)', 8], ['#fff', 6], [INK, 3]];
const FONT = '14px system-ui, sans-serif';
const NUMBER_FONT = '600 12px system-ui, sans-serif';
/** Of a note's text, in CSS pixels of the page. */
const LINE_HEIGHT = 20;
const LABEL_WIDTH = 240;
const LABEL_EDGE = { across: 12, down: 8 };

/** @typedef {CanvasRenderingContext2D} Paint */

/**
 * @param {Paint} paint in CSS pixels of the page
 * @param {{image: CanvasImageSource, size: DrawSize, marks: DrawMark[], pending?: DrawMark | null, cross?: DrawPoint | null}} scene
 */
export function paintCanvas(paint, { image, size, marks, pending, cross }) {
  paint.drawImage(image, 0, 0, size.width, size.height);
  for (const mark of marks) paintPath(paint, drawPath(mark));
  for (const mark of marks) if (mark.text !== undefined) paintLabel(paint, mark, size);
  // Above all words: by its number a mark is known.
  for (const mark of marks) paintNumber(paint, mark);
  if (pending) paintPath(paint, drawPath(pending));
  if (cross) paintPath(paint, crossPath(cross), STROKES.slice(1));
}

/** @param {Paint} paint @param {string} path @param {[string, number][]} [strokes] */
function paintPath(paint, path, strokes = STROKES) {
  const line = new Path2D(path);
  Object.assign(paint, { lineCap: 'round', lineJoin: 'round' });
  for (const [strokeStyle, lineWidth] of strokes) {
    Object.assign(paint, { strokeStyle, lineWidth });
    paint.stroke(line);
  }
}

/** @param {DrawPoint[]} points */
function polyline(points) {
  return `M${points.map(([x, y]) => `${x} ${y}`).join('L')}`;
}

/** @param {DrawMark} mark @returns {string} the way of its line */
export function drawPath({ kind, points }) {
  if (points.length < 2) return '';
  if (kind === 'arrow') return polyline(points) + polyline(drawArrowHead(points));
  if (kind === 'freehand') return polyline(points);
  const { x, y, width, height } = drawBoxOf(points);
  return `M${x} ${y}h${width}v${height}h${-width}Z`;
}

/** @param {DrawPoint} at */
function crossPath([x, y]) {
  return `M${x - 14} ${y}h28M${x} ${y - 14}v28`;
}

/** The mark's number, as the annotation's id. @param {Paint} paint @param {DrawMark} mark */
function paintNumber(paint, { id, kind, points }) {
  const box = drawBoxOf(points);
  const [x, y] = kind === 'rectangle' ? [box.x, box.y] : points[0];
  const [centreX, centreY] = [Math.max(x, 12), Math.max(y, 12)];
  paint.beginPath();
  paint.arc(centreX, centreY, 10, 0, 2 * Math.PI);
  Object.assign(paint, { fillStyle: INK, strokeStyle: '#fff', lineWidth: 2 });
  paint.fill();
  paint.stroke();
  Object.assign(paint, { fillStyle: '#fff', font: NUMBER_FONT, textAlign: 'center', textBaseline: 'middle' });
  paint.fillText(String(id), centreX, centreY);
}

/** @param {Paint} paint @param {DrawMark} mark @param {DrawSize} size */
function paintLabel(paint, { text = '', points: [at] }, size) {
  Object.assign(paint, { font: FONT, textAlign: 'start', textBaseline: 'middle' });
  const measure = (/** @type {string} */ line) => paint.measureText(line).width;
  const lines = wrapText(text, LABEL_WIDTH - 2 * LABEL_EDGE.across, measure);
  const width = Math.ceil(Math.max(...lines.map(measure))) + 2 * LABEL_EDGE.across;
  const height = lines.length * LINE_HEIGHT + 2 * LABEL_EDGE.down;
  const { x, y } = labelBox(at, { width, height }, size);
  for (const [strokeStyle, lineWidth] of STROKES) {
    Object.assign(paint, { strokeStyle, lineWidth });
    paint.beginPath();
    paint.roundRect(x, y, width, height, 6);
    paint.stroke();
  }
  paint.fillStyle = '#fff';
  paint.fill();
  paint.fillStyle = '#16191d';
  lines.forEach((line, row) => paint.fillText(line, x + LABEL_EDGE.across, y + LABEL_EDGE.down + (row + 0.5) * LINE_HEIGHT));
}

/** Beside its point, so that all of it is in the picture. @param {DrawPoint} at @param {DrawSize} label @param {DrawSize} size @returns {DrawBox} */
export function labelBox([x, y], label, size) {
  const right = x + 14;
  const left = right + label.width <= size.width ? right : x - 14 - label.width;
  const within = (/** @type {number} */ value, /** @type {number} */ most) => Math.max(4, Math.min(value, most - 4));
  return { x: within(left, size.width - label.width), y: within(y - 6, size.height - label.height), ...label };
}

/**
 * Breaks a text at its own line ends, between words, and in words that are too long.
 * @param {string} text @param {number} width @param {(line: string) => number} measure @returns {string[]}
 */
export function wrapText(text, width, measure) {
  return text.split('\n').flatMap((line) => wrapLine(line, width, measure));
}

/** @param {string} text @param {number} width @param {(line: string) => number} measure @returns {string[]} */
function wrapLine(text, width, measure) {
  const lines = [''];
  for (const word of text.split(/(?<=\s)/)) {
    const last = lines[lines.length - 1];
    if (measure((last + word).trimEnd()) <= width) lines[lines.length - 1] = last + word;
    else if (measure(word.trimEnd()) <= width) lines.push(word);
    else lines.push(...brokenWord(word, width, measure));
  }
  return lines.filter((line, at) => line !== '' || at > 0 || lines.length === 1).map((line) => line.trimEnd());
}

const letters = new Intl.Segmenter();

/** @param {string} word @param {number} width @param {(line: string) => number} measure */
function brokenWord(word, width, measure) {
  const parts = [''];
  for (const { segment } of letters.segment(word)) {
    const last = parts[parts.length - 1];
    if (last !== '' && measure(last + segment) > width) parts.push(segment);
    else parts[parts.length - 1] = last + segment;
  }
  return parts;
}
