// @ts-check
// The picture with the marks on it, as large as there is room for, and the field for a note.

/** @import {DrawMark, DrawPoint, DrawSize} from './geometry.js' */
/** @import {PagePicture} from '../drafts.js' */

import { SCREENSHOT_MAX_SIDE, SCREENSHOT_SIDES } from '../../browser/limits.js';
import { DRAW_PICTURE_MAX } from '../limits.js';
import { drawScale, drawWithin } from './geometry.js';
import { paintCanvas } from './painter.js';
import { drawElement } from './toolbar.js';

/** @typedef {{marks: DrawMark[], pending: DrawMark | null, cross: DrawPoint | null}} DrawScene */

export class DrawStage {
  root = drawElement('stage');
  /** @type {HTMLCanvasElement} */
  canvas = drawElement('canvas');
  /** @type {HTMLTextAreaElement} */
  note = drawElement('note');
  /** @type {DrawSize} size of the area in the picture, in CSS pixels of the page */
  size;
  #image;
  #scale = 1;
  /** @type {DrawScene} */
  #scene = { marks: [], pending: null, cross: null };
  #isToPaint = false;
  /** @type {DrawPoint} where the open note is */
  #noteAt = [0, 0];

  /** @param {HTMLImageElement} image decoded @param {DrawSize} size */
  constructor(image, size) {
    this.#image = image;
    this.size = size;
    new ResizeObserver(() => this.#fit()).observe(this.root);
    this.#fit();
  }

  /** @param {PagePicture} picture */
  static async of({ picture, width, height }) {
    const image = new Image();
    image.src = picture;
    await image.decode();
    return new DrawStage(image, { width, height });
  }

  #fit() {
    const room = { width: this.root.clientWidth, height: this.root.clientHeight };
    this.#scale = drawScale(this.size, room);
    const [width, height] = [this.size.width * this.#scale, this.size.height * this.#scale];
    // On whole pixels: text in the picture would blur.
    const left = Math.max(0, Math.floor((room.width - width) / 2));
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px`, left: `${left}px`, top: '0' });
    Object.assign(this.canvas, { width: Math.ceil(width * devicePixelRatio), height: Math.ceil(height * devicePixelRatio) });
    this.#paint();
    if (this.isNoting) this.#placeNote();
  }

  /** @param {DrawScene} scene */
  show(scene) {
    this.#scene = scene;
    // A pointer moves more often than the screen is painted.
    if (this.#isToPaint) return;
    this.#isToPaint = true;
    requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    this.#isToPaint = false;
    this.#paintOn(this.canvas, this.#scene);
  }

  /** @param {HTMLCanvasElement} canvas @param {DrawScene} scene */
  #paintOn(canvas, scene) {
    const paint = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
    paint.setTransform(canvas.width / this.size.width, 0, 0, canvas.height / this.size.height, 0, 0);
    paintCanvas(paint, { image: this.#image, size: this.size, ...scene });
  }

  /** Composes the picture that is sent: the same, without a crosshair. @param {DrawMark[]} marks @returns {string} a data URL */
  compose(marks) {
    const png = this.#composeAs('image/png', SCREENSHOT_MAX_SIDE, marks);
    if (png.length <= DRAW_PICTURE_MAX) return png;
    // A photograph as PNG can be larger than a frame; JPEG at half the size nearly never is.
    for (let maxSide = SCREENSHOT_MAX_SIDE; ; maxSide /= 2) {
      const jpeg = this.#composeAs('image/jpeg', maxSide, marks);
      if (jpeg.length <= DRAW_PICTURE_MAX || maxSide < SCREENSHOT_SIDES.least) return jpeg;
    }
  }

  /** @param {string} format @param {number} maxSide @param {DrawMark[]} marks */
  #composeAs(format, maxSide, marks) {
    const { naturalWidth, naturalHeight } = this.#image;
    const scale = Math.min(1, maxSide / Math.max(naturalWidth, naturalHeight));
    const canvas = document.createElement('canvas');
    Object.assign(canvas, { width: Math.round(naturalWidth * scale), height: Math.round(naturalHeight * scale) });
    this.#paintOn(canvas, { marks, pending: null, cross: null });
    return canvas.toDataURL(format);
  }

  /** @param {MouseEvent} event @returns {DrawPoint} in CSS pixels of the page */
  at({ clientX, clientY }) {
    const { left, top } = this.canvas.getBoundingClientRect();
    return drawWithin([(clientX - left) / this.#scale, (clientY - top) / this.#scale], this.size);
  }

  /** The keyboard draws here. */
  focus() {
    this.root.focus({ preventScroll: true });
  }

  get isNoting() {
    return !this.note.hidden;
  }

  /** @param {DrawPoint} at */
  openNote(at) {
    this.#noteAt = at;
    this.note.value = '';
    this.note.hidden = false;
    this.#placeNote();
    this.note.focus({ preventScroll: true });
  }

  closeNote() {
    this.note.hidden = true;
  }

  /** Beside its point, in view. */
  #placeNote() {
    const { offsetWidth, offsetHeight } = this.note;
    const [x, y] = this.#noteAt.map((value) => value * this.#scale);
    const left = Math.min(this.canvas.offsetLeft + x + 14, this.root.clientWidth - offsetWidth);
    const top = Math.min(y - 6, this.root.clientHeight - offsetHeight);
    Object.assign(this.note.style, { left: `${Math.max(0, left)}px`, top: `${Math.max(0, top)}px` });
  }
}
