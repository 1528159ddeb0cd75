// @ts-check
// The frame that shows the person an element. The browser draws it over the page, so the page can neither see nor cover
// it. One that a killed worker leaves on is removed when the next one takes the debugger over.

import { cdp } from './debugger.js';

const COLOR = { r: 255, g: 110, b: 0 };
const FRAME = { borderColor: { ...COLOR, a: 1 }, contentColor: { ...COLOR, a: 0.2 }, paddingColor: { ...COLOR, a: 0.2 }, showInfo: false };

class Highlights {
  /** When the one of a tab ends. @type {Map<number, ReturnType<typeof setTimeout>>} */
  #timers = new Map();

  /**
   * @param {number} tabId to which the debugger is attached @param {{objectId: string} | {box: number[]}} place an element of
   * the page's own process, which it follows, or x, y, width and height in CSS px of the view @param {number} ms
   */
  async show(tabId, place, ms) {
    clearTimeout(this.#timers.get(tabId));
    await Promise.all([cdp(tabId, 'DOM.enable'), cdp(tabId, 'Overlay.enable')]);
    if ('objectId' in place) await cdp(tabId, 'Overlay.highlightNode', { objectId: place.objectId, highlightConfig: FRAME });
    else {
      const [x, y, width, height] = place.box.map(Math.round);
      await cdp(tabId, 'Overlay.highlightRect', { x, y, width, height, color: FRAME.contentColor, outlineColor: FRAME.borderColor });
    }
    this.#timers.set(tabId, setTimeout(() => { this.end(tabId).catch(console.debug); }, ms));
  }

  /** @param {number} tabId @returns {Promise<boolean>} whether there was one */
  async end(tabId) {
    clearTimeout(this.#timers.get(tabId));
    if (!this.#timers.delete(tabId)) return false;
    await Promise.all([cdp(tabId, 'Overlay.hideHighlight'), cdp(tabId, 'Overlay.disable'), cdp(tabId, 'DOM.disable')]);
    return true;
  }

  /** The person stops all agents. */
  endAll() {
    for (const tabId of [...this.#timers.keys()]) this.end(tabId).catch(console.debug);
  }

  /** @param {number} tabId that is closed, or to which the debugger is not attached any more */
  handleGone(tabId) {
    clearTimeout(this.#timers.get(tabId));
    this.#timers.delete(tabId);
  }
}

export const highlights = new Highlights();
