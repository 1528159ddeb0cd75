// @ts-check
// Marks on a picture of a tab: the ref of each element that a person acts on. They are drawn in the worker, so the page
// neither sees them nor can make them look otherwise.

/** @import {PageArea, TabCapture} from './capture_tab.js' */
/** @import {SeenDocument} from './page_world.js' */

import { base64Of, bytesOf } from '../lib/base64.js';
import { askDocument, askDocuments, askFrames, documentsOf } from './page_world.js';
import { elementRefs } from './state.js';

/**
 * @typedef {{ref: string, role: string, name: string} & PageArea} PictureMark
 * @typedef {{left: number, top: number, scaleX: number, scaleY: number}} FramePlace of the view of a frame in the tab's view
 */

const COLOURS = ['#c2185b', '#1565c0', '#2e7d32', '#6a1b9a', '#bf360c', '#00695c'];
const LABEL_PX = 11;

/** @param {number} tabId @param {boolean} isWhole also elements outside of the view @returns {Promise<PictureMark[]>} */
export async function marksOf(tabId, isWhole) {
  const { seen: [page, ...frames] } = await documentsOf(tabId);
  const [[own], inner] = await Promise.all([askDocuments(tabId, [page], 'marks', { isWhole }), askFrames(tabId, frames, 'marks', { isWhole })]);
  await elementRefs.restore();
  const places = new Map([[0, { left: 0, top: 0, scaleX: 1, scaleY: 1 }]]);
  const marks = [];
  for (const { document, value } of own ? [own, ...inner] : []) {
    // A frame has a higher number than the one around it.
    const place = document.frameId === 0 ? places.get(0) : await placeOf(tabId, document, value.place, frames.concat(page), places);
    if (!place || !value.found) continue;
    places.set(document.frameId, place);
    const ref = elementRefs.names(tabId, document.documentId, value.count);
    for (const { id, role, name, x, y, width, height } of value.found) {
      marks.push({ ref: ref(id), role, name, x: place.left + x * place.scaleX, y: place.top + y * place.scaleY, width: width * place.scaleX, height: height * place.scaleY });
    }
  }
  return marks;
}

/** @param {number} tabId @param {SeenDocument} inner @param {number} place @param {SeenDocument[]} seen @param {Map<number, FramePlace>} places @returns {Promise<FramePlace | null>} */
async function placeOf(tabId, inner, place, seen, places) {
  const around = seen.find(({ frameId }) => frameId === inner.parentFrameId);
  const outer = places.get(inner.parentFrameId);
  if (!around || !outer) return null;
  const { view } = await askDocument(tabId, around, 'frameAt', { place });
  if (!view) return null;
  return {
    left: outer.left + view.left * outer.scaleX, top: outer.top + view.top * outer.scaleY,
    scaleX: outer.scaleX * view.scaleX, scaleY: outer.scaleY * view.scaleY,
  };
}

/** @param {PictureMark} mark @param {PageArea} area @returns {boolean} */
export function isIn({ x, y, width, height }, area) {
  return x + width > area.x && y + height > area.y && x < area.x + area.width && y < area.y + area.height;
}

/** @param {TabCapture} picture as PNG @param {PictureMark[]} marks @param {string} format @returns {Promise<string>} base64 */
export async function drawMarks({ data, area, scale }, marks, format) {
  const picture = await createImageBitmap(new Blob([bytesOf(data)]));
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const paint = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d'));
  paint.drawImage(picture, 0, 0);
  marks.forEach((mark, at) => drawMark(paint, mark, area, scale, COLOURS[at % COLOURS.length]));
  const blob = await canvas.convertToBlob({ type: `image/${format}`, quality: 0.8 });
  return base64Of(new Uint8Array(await blob.arrayBuffer()));
}

/** @param {OffscreenCanvasRenderingContext2D} paint @param {PictureMark} mark @param {PageArea} area @param {number} scale @param {string} colour */
function drawMark(paint, { ref, ...box }, area, scale, colour) {
  const [x, y] = [(box.x - area.x) * scale, (box.y - area.y) * scale];
  const [width, height] = [box.width * scale, box.height * scale];
  paint.strokeStyle = colour;
  paint.lineWidth = 2;
  paint.strokeRect(x, y, width, height);
  paint.font = `bold ${LABEL_PX}px sans-serif`;
  paint.textBaseline = 'top';
  const label = paint.measureText(ref).width + 4;
  // Above its box, where it hides least; inside at the upper edge of the picture.
  const left = Math.max(0, Math.min(x - 1, paint.canvas.width - label));
  const top = y >= LABEL_PX + 3 ? y - LABEL_PX - 3 : Math.max(0, y);
  paint.fillStyle = colour;
  paint.fillRect(left, top, label, LABEL_PX + 3);
  paint.fillStyle = '#fff';
  paint.fillText(ref, left + 2, top + 2);
}
