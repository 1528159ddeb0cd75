// @ts-check
// Which window the person types into. A window that a page opens by an agent's act comes to the front: the person's own
// gets the focus again.

import { AWAY_MS, FOCUS_BACK_MS } from './limits.js';

/** The browser's word for no window of its own. */
const NONE = -1;

export class FrontWindow {
  /** @type {number | undefined} */
  #front;
  /** The one before. @type {number | undefined} */
  #before;
  /** When the person went to another program. @type {number | null} */
  #leftAt = null;
  /** Windows that acts have opened, and which one had the focus. @type {Map<number, number>} */
  #kept = new Map();

  /** @param {number} windowId */
  handleFocusChanged(windowId) {
    if (windowId === NONE) {
      this.#leftAt = performance.now();
      // Some systems report this between two windows, too, and do not report the second.
      setTimeout(() => this.look().catch(console.debug), AWAY_MS);
      return;
    }
    const isBack = this.#isAway;
    this.#leftAt = null;
    const front = this.#kept.get(windowId);
    // Once: a person may want to see it after all.
    this.#kept.delete(windowId);
    if (front !== undefined) return giveFocus(front);
    this.#before = isBack ? undefined : this.#front;
    this.#front = windowId;
  }

  /** Asks the browser. */
  async look() {
    const { id, focused } = await chrome.windows.getLastFocused();
    if (focused && id !== undefined && id !== this.#front) this.handleFocusChanged(id);
    if (focused) this.#leftAt = null;
  }

  get #isAway() {
    return this.#leftAt !== null && performance.now() - this.#leftAt > AWAY_MS;
  }

  /**
   * A window that an act has opened. @param {number} windowId @param {{home: number, isSeen: boolean}} act its window, and whether
   * that window shows its tab
   */
  keepBehind(windowId, { home, isSeen }) {
    const isFront = this.#front === windowId;
    const front = isFront ? this.#before : this.#isAway ? undefined : this.#front;
    // They are in another program, or look at the act itself.
    if (front === undefined || (isSeen && front === home)) return;
    if (isFront) [this.#front, this.#before] = [front, undefined];
    else this.#kept.set(windowId, front);
    setTimeout(() => this.#kept.delete(windowId), FOCUS_BACK_MS);
    giveFocus(front);
  }
}

/** @param {number} windowId */
function giveFocus(windowId) {
  chrome.windows.update(windowId, { focused: true }).catch(console.debug);
}
