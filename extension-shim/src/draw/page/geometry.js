// @ts-check
// Where marks are, in CSS pixels from the top left of the pictured area. Pure.

/**
 * @typedef {[number, number]} DrawPoint
 * @typedef {{x: number, y: number, width: number, height: number}} DrawBox
 * @typedef {{width: number, height: number}} DrawSize
 * @typedef {'rectangle' | 'arrow' | 'freehand' | 'note'} DrawTool
 *
 * @typedef {object} DrawMark
 * @property {number} id counted from 1; the number beside the mark in the picture
 * @property {DrawTool} kind
 * @property {DrawPoint[]} points a rectangle's corners, an arrow's ends, a line's way, a note's place
 * @property {string} [text] a note's
 */

/** As many points as a drawing may have in one line. */
export const DRAW_POINTS_MAX = 500;
/** Less than this is a hand that shook, not a mark. */
export const DRAW_LEAST = 4;

/** @param {DrawPoint[]} points @returns {DrawBox} */
export function drawBoxOf(points) {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

/** @param {DrawPoint} point @param {DrawSize} area @returns {DrawPoint} the nearest within it */
export function drawWithin([x, y], { width, height }) {
  const between = (/** @type {number} */ value, /** @type {number} */ most) => Math.min(Math.max(Math.round(value), 0), most - 1);
  return [between(x, width), between(y, height)];
}

/** @param {DrawMark} mark whether it is too small to be meant */
export function drawIsTiny({ kind, points }) {
  if (kind === 'note') return false;
  const { width, height } = drawBoxOf(points);
  return Math.max(width, height) < DRAW_LEAST;
}

/**
 * The way of a line, with its newest point: without those that hardly move, and with every second of the
 * older ones once there are too many.
 * @param {DrawPoint[]} points @param {DrawPoint} next @returns {DrawPoint[]}
 */
export function drawOn(points, next) {
  const [x, y] = points[points.length - 1];
  if (Math.hypot(next[0] - x, next[1] - y) < 2) return points;
  const kept = points.length < DRAW_POINTS_MAX ? points : points.filter((_, at) => at % 2 === 0);
  return [...kept, next];
}

/** How large a picture is shown: as large as there is room for, never larger than the page is. @param {DrawSize} picture @param {DrawSize} room */
export function drawScale(picture, room) {
  return Math.max(Math.min(1, room.width / picture.width, room.height / picture.height), 0.05);
}

/** The two strokes of an arrow's head. @param {DrawPoint[]} points from where, to where @returns {DrawPoint[]} */
export function drawArrowHead([[fromX, fromY], [toX, toY]]) {
  const length = Math.min(18, Math.hypot(toX - fromX, toY - fromY) / 2);
  const back = Math.atan2(fromY - toY, fromX - toX);
  const stroke = (/** @type {number} */ turn) => /** @type {DrawPoint} */ ([
    toX + length * Math.cos(back + turn), toY + length * Math.sin(back + turn)]);
  return [stroke(0.5), [toX, toY], stroke(-0.5)];
}

/**
 * The target of a mark: an area, or the one point that an arrow or a note is at.
 * @param {DrawMark} mark @returns {{id: number, box: DrawBox}}
 */
export function drawTarget({ id, kind, points }) {
  const isArea = kind === 'rectangle' || kind === 'freehand';
  return { id, box: drawBoxOf(isArea ? points : points.slice(-1)) };
}

/**
 * A mark as the daemon gets it.
 * @param {DrawMark} mark @param {string} [element] its key in the details @param {string[]} [near] keys of those in it and near it
 */
export function drawAnnotation({ id, kind, points, text }, element, near = []) {
  return {
    id,
    kind,
    ...(text !== undefined && { text }),
    box: drawBoxOf(points),
    ...((kind === 'arrow' || kind === 'freehand') && { points }),
    ...(element !== undefined && { element }),
    ...(near.length > 0 && { elements: near }),
  };
}
