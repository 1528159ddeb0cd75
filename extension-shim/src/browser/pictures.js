// @ts-check
// The pictures that agents have got, and where their pixels are in the view. A picture is good for acts as long as the tab
// shows the same: once its document, scroll, zoom or size is another, its points would hit something else.

/** @import {PageArea} from './capture_tab.js' */

import { ActionError } from '../lib/errors.js';
import { cdp } from './debugger.js';
import { PICTURES_MAX } from './limits.js';

/**
 * @typedef {object} ShownView how a tab shows its page
 * @property {string} document
 * @property {number} left scroll position in CSS px
 * @property {number} top
 * @property {number} width of the view in CSS px
 * @property {number} height
 * @property {string} size of the tab, scroll bars included: a capture may hide those; and the screen that is emulated
 * @property {number} zoom
 * @property {number} pixelRatio pixels of the screen for a CSS px
 *
 * @typedef {object} KeptPicture
 * @property {number} tabId
 * @property {ShownView} view in which it was taken
 * @property {PageArea} area
 * @property {number} scale pixels of the picture for a CSS px
 */

/** Set where the states of pages are. */
export const screens = {
  /** The one that is emulated in a tab; empty: none is. @type {(tabId: number) => string} */
  emulatedIn: () => '',
};

/** CSS px that browsers round away. */
const ROUNDING = 0.75;

/** @param {any} metrics of Page.getLayoutMetrics @param {number} zoom @param {string} document @param {{width?: number, height?: number, screen: string}} tab @returns {ShownView} */
function shownView({ cssVisualViewport: seen, visualViewport: device }, zoom, document, { width, height, screen }) {
  return {
    document, left: seen.pageX, top: seen.pageY, width: seen.clientWidth, height: seen.clientHeight, size: `${width} ${height} ${screen}`, zoom,
    pixelRatio: device.clientWidth / seen.clientWidth,
  };
}

/** @param {number} tabId to which the debugger is attached @returns {Promise<{view: ShownView, metrics: any, tab: chrome.tabs.Tab}>} `metrics`: of Page.getLayoutMetrics */
export async function viewNow(tabId) {
  const [metrics, zoom, frame, tab] = await Promise.all([
    cdp(tabId, 'Page.getLayoutMetrics'), chrome.tabs.getZoom(tabId), chrome.webNavigation.getFrame({ tabId, frameId: 0 }), chrome.tabs.get(tabId),
  ]);
  return { view: shownView(metrics, zoom, frame?.documentId ?? '', { ...tab, screen: screens.emulatedIn(tabId) }), metrics, tab };
}

export class PictureMemory {
  /** @type {Map<string, KeptPicture>} oldest first */
  #known = new Map();
  #last = 0;
  // A worker that starts anew must not give an id that an agent still has.
  #prefix = `p${crypto.randomUUID().slice(0, 4)}`;

  /** @param {KeptPicture} picture @returns {string} its id */
  keep(picture) {
    this.#last += 1;
    const id = `${this.#prefix}-${this.#last}`;
    this.#known.set(id, picture);
    for (const oldest of [...this.#known.keys()].slice(0, -PICTURES_MAX)) this.#known.delete(oldest);
    return id;
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    for (const [id, picture] of this.#known) if (picture.tabId === tabId) this.#known.delete(id);
  }

  /**
   * The points of the view at pixels of a picture, which may lie outside of the view.
   * @param {number} tabId @param {string} id @param {{x: number, y: number}[]} pixels @returns {Promise<{points: {x: number, y: number}[], view: ShownView}>}
   */
  async pointsOf(tabId, id, pixels) {
    const picture = this.#known.get(id);
    if (!picture) throw stale(id, UNKNOWN);
    if (picture.tabId !== tabId) throw stale(id, `is of tab ${picture.tabId}`, picture.tabId);
    const { view } = await viewNow(tabId);
    const change = changeOf(picture.view, view);
    if (change) throw stale(id, change);
    const { area, scale } = picture;
    if (pixels.some(({ x, y }) => x > area.width * scale || y > area.height * scale)) {
      throw new ActionError('invalid_params', `picture ${id} has ${Math.round(area.width * scale)} by ${Math.round(area.height * scale)} px`, undefined, { mayHaveRun: false });
    }
    return { points: pixels.map(({ x, y }) => ({ x: area.x + x / scale, y: area.y + y / scale })), view };
  }
}

/** @param {ShownView} then @param {ShownView} now @returns {string | null} why a picture of then is none of now */
export function changeOf(then, now) {
  const differs = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b) > ROUNDING;
  if (then.document !== now.document) return 'shows another page than the tab does now';
  if (Math.abs(then.zoom - now.zoom) > 0.001 || Math.abs(then.pixelRatio - now.pixelRatio) > 0.01) return 'was taken at another zoom';
  if (then.size !== now.size) return 'was taken in a view of another size';
  return differs(then.left, now.left) || differs(then.top, now.top) ? 'was taken before the page was scrolled' : null;
}

const UNKNOWN = 'is not known any more';

/** @param {string} id @param {string} why @param {number} [tabId] of which it is, if that is another one than the command's */
function stale(id, why, tabId) {
  const about = tabId === undefined ? undefined : { tabId, message: `picture ${id} ${UNKNOWN}` };
  return new ActionError('picture_stale', `picture ${id} ${why}`, undefined, { mayHaveRun: false, ...(about && { about }) });
}
