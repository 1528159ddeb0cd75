// @ts-check
// The tab to draw in may come up while the person types or clicks in the page. Input until they pause
// was meant for the page. Pure.

/** More than lies between two keys of somebody who types, or between the clicks of a double click. */
export const DRAW_GRACE_MS = 400;

export class DrawGrace {
  /** @type {number | null} null: they have paused */
  #last;

  /** @param {number} now when the tab came up */
  constructor(now) {
    this.#last = now;
  }

  /** @param {number} now @returns {boolean} whether what the person does now is meant for the drawing */
  takes(now) {
    if (this.#last === null) return true;
    const hasPaused = now - this.#last >= DRAW_GRACE_MS;
    this.#last = hasPaused ? null : now;
    return hasPaused;
  }
}
