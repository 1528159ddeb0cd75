// @ts-check
// The frames of a drawing: one for each session that waits for it.

/** @import {DrawingFrame} from '../../types/protocol.js' */
/** @import {DrawingWait} from './open_drawings.js' */

/**
 * A drawing, as its page hands it over.
 * @typedef {Pick<DrawingFrame, 'drawing_id' | 'screenshot_data_url' | 'annotations' | 'element_details' | 'page_url' | 'page_title'>} Drawing
 */

/**
 * A drawing ends all waits of its session, so only the newest of each is named.
 * @param {Drawing} drawing @param {DrawingWait[]} asks @param {number} tab_id @returns {DrawingFrame[]}
 */
export function framesOf(drawing, asks, tab_id) {
  return waits(asks).map((ask, at) => ({
    type: 'annotations', ...drawing, drawing_id: numbered(drawing.drawing_id, at), tab_id, ...named(ask),
  }));
}

/**
 * Nothing was drawn: each wait gets a frame, since nothing else would end it.
 * @param {DrawingWait[]} asks @param {{page_url: string, page_title?: string}} page @param {number} tab_id @param {'user' | 'page_closed'} cancelled
 * @returns {DrawingFrame[]}
 */
export function cancelledFrames(asks, page, tab_id, cancelled) {
  return asks.map((ask) => ({
    type: 'annotations', drawing_id: newDrawingId(), annotations: [], element_details: {}, ...page, tab_id, ...named(ask), cancelled,
  }));
}

/** @param {DrawingWait | undefined} ask */
function named(ask) {
  if (!ask) return {};
  const { correlation_id, session } = ask;
  return { ...(session !== undefined && { annot_session_name: session }), correlation_id };
}

/** The newest wait of each session, in the order of their first. @param {DrawingWait[]} asks @returns {(DrawingWait | undefined)[]} */
function waits(asks) {
  /** @type {Map<string | undefined, DrawingWait>} */
  const newest = new Map();
  for (const ask of asks) newest.set(ask.session, ask);
  // A person may draw unasked.
  return newest.size > 0 ? [...newest.values()] : [undefined];
}

/** The same drawing has the same ids whenever it is sent: the last byte numbers its frames. @param {string} id @param {number} at */
function numbered(id, at) {
  return id.slice(0, -2) + at.toString(16).padStart(2, '0');
}

export function newDrawingId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
