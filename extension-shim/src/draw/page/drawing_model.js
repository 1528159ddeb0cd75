// @ts-check
// The marks drawn so far, and the one being drawn. Pure.

/** @import {DrawMark, DrawPoint, DrawTool} from './geometry.js' */

import { headOf } from '../../lib/clip.js';
import { drawBoxOf, drawIsTiny, drawOn } from './geometry.js';

/** As many marks as a drawing may have. */
export const DRAW_MARKS_MAX = 200;
/** Longer notes would cover the picture. */
export const DRAW_TEXT_MAX = 1_000;

/** @type {Record<DrawTool, string>} */
export const DRAW_NAMES = { rectangle: 'Rectangle', arrow: 'Arrow', freehand: 'Line', note: 'Note' };

export class DrawingModel {
  /** @type {DrawTool} */
  tool = 'rectangle';
  /** @type {DrawMark[]} */
  marks;
  /** @type {DrawMark | null} begun and not ended */
  pending = null;

  /** @param {DrawMark[]} [marks] those that were drawn before */
  constructor(marks = []) {
    this.marks = marks;
  }

  /** Whether there is work to lose. */
  get isBegun() {
    return this.marks.length > 0 || this.pending !== null;
  }

  /** Begins a mark with the tool at hand. @param {DrawPoint} at @returns {boolean} false: there are too many */
  begin(at) {
    if (this.marks.length >= DRAW_MARKS_MAX) return false;
    this.pending = { id: this.marks.length + 1, kind: this.tool, points: [at] };
    return true;
  }

  /** @param {DrawPoint} at */
  extend(at) {
    if (!this.pending || this.pending.kind === 'note') return;
    const { kind, points } = this.pending;
    this.pending.points = kind === 'freehand' ? drawOn(points, at) : [points[0], at];
  }

  /** Ends the mark. @param {string} [text] a note's @returns {DrawMark | null} null: it was too small, or a note without text */
  end(text) {
    const mark = this.pending;
    this.pending = null;
    if (!mark || drawIsTiny(mark)) return null;
    const words = text && headOf(text.trim(), DRAW_TEXT_MAX);
    if (mark.kind === 'note' && !words) return null;
    if (words) mark.text = words;
    this.marks.push(mark);
    return mark;
  }

  /** Gives up the mark that is being drawn. @returns {boolean} whether there was one */
  drop() {
    const was = this.pending !== null;
    this.pending = null;
    return was;
  }

  /** Removes the last mark. @returns {DrawMark | null} */
  undo() {
    const last = this.pending ?? this.marks.pop() ?? null;
    this.pending = null;
    return last;
  }
}

/** Announces a new mark, for a person who uses a screen reader. @param {DrawMark} mark */
export function drawDescription({ id, kind, points, text }) {
  const { x, y, width, height } = drawBoxOf(points);
  if (kind === 'note') return `Note ${id} placed: ${text}`;
  if (kind === 'rectangle') return `Rectangle ${id} drawn, ${width} by ${height} pixels.`;
  if (kind === 'arrow') return `Arrow ${id} drawn to ${points[1].join(', ')}.`;
  return `Line ${id} drawn around ${Math.round(x + width / 2)}, ${Math.round(y + height / 2)}.`;
}
