// @ts-check
// A drag: by the pointer alone, or, if the page begins one, as a drag and drop with its data. The browser's own would
// take the person's pointer, so it is intercepted.

/** @import {SeenDocument} from '../browser/page_world.js' */
/** @import {ReadyTarget} from '../browser/targets.js' */
/** @import {ActPlace} from './place.js' */
/** @import {ViewPoint} from './mouse_events.js' */
/** @import {InputEventCommand, InputSession} from './session.js' */

import { cdp, onEventOf } from '../browser/debugger.js';
import { askDocument } from '../browser/page_world.js';
import { whilePainting } from '../browser/painting.js';
import { within } from '../lib/within.js';
import { DRAG_SWAY, DRAG_BEGIN_MS, MOVES_AT_ONCE } from './limits.js';
import { flush, moved, pointOf, pressed, released } from './mouse_events.js';
import { assertQuiet } from './pointer.js';

/** @typedef {{start: ReadyTarget, end: ReadyTarget, hasData: boolean}} DoneDrag */

/**
 * @param {InputSession} input @param {ActPlace} from @param {ActPlace} to @param {number} steps moves on the way
 * @returns {Promise<DoneDrag>}
 */
export async function dragBetween(input, from, to, steps) {
  // Before anything is picked up the other end has to be there.
  await input.reach(to, { kind: 'view' });
  const found = await input.reach(from, { kind: 'click' });
  await assertQuiet(input, 'Dragging');
  const start = 'point' in from ? found : await input.approach(found, { kind: 'click' });
  return whilePainting(input.tabId, () => carry(input, start, to, steps));
}

/** @param {InputSession} input @param {ReadyTarget} start @param {ActPlace} to @param {number} steps @returns {Promise<DoneDrag>} */
async function carry(input, start, to, steps) {
  const pointer = new DragPointer(input, start);
  try {
    await input.send({ method: 'Input.setInterceptDrags', enabled: true });
    await pointer.press();
    for (const by of [3, 9]) await pointer.move({ x: pointer.at.x + by, y: pointer.at.y + by });
    if (await askDocument(start.tabId, start.document, 'hasDragStarted')) await pointer.intercepted();
    // It may have to be scrolled to, and something that is dragged may cover it.
    const end = 'point' in to ? await input.at(to.point, { arm: false }) : await input.reach(to, { kind: 'view', atOnce: true, arm: false });
    const aim = end.point ?? middleOf(end.box);
    await input.ready(end);
    const origin = pointer.at;
    const way = Array.from({ length: steps }, (_, at) => (at + 1) / steps).map((part) => ({ x: origin.x + (aim.x - origin.x) * part, y: origin.y + (aim.y - origin.y) * part }));
    for (let at = 0; at < steps; at += MOVES_AT_ONCE) await pointer.move(...way.slice(at, at + MOVES_AT_ONCE));
    // Pages look where it is when they paint.
    await askDocument(input.tabId, end.document, 'nextFrame');
    await sway(pointer, end.document);
    await pointer.drop();
    return { start, end, hasData: pointer.data !== null };
  } finally {
    await pointer.letGo();
    await cdp(input.tabId, 'Input.setInterceptDrags', { enabled: false }).catch(console.debug);
  }
}

/**
 * Around the end by a little. Lists that are sorted by dragging put a row before or after the one under the pointer, by the
 * way of its last move and the half that it is over, and measure their rows anew in a timer, later than moves follow each
 * other. So a row comes to the place where it is dropped, whichever way it has come.
 * @param {DragPointer} pointer @param {SeenDocument} document
 */
async function sway(pointer, document) {
  const { x, y } = pointer.at;
  for (const by of [-DRAG_SWAY, DRAG_SWAY, 0]) {
    await pointer.move({ x: Math.max(0, x + by), y: Math.max(0, y + by) });
    await askDocument(pointer.tabId, document, 'timersTurn');
  }
}

/** @param {number[]} box @returns {ViewPoint} */
function middleOf([x, y, width, height]) {
  return { x: x + width / 2, y: y + height / 2 };
}

class DragPointer {
  /** Of a drag and drop; null: only the pointer is moved. @type {any} */
  data = null;
  #isHeld = false;
  #hasEntered = false;
  #input;
  #start;
  #endListening;
  /** @type {() => void} */
  #begun = () => {};

  /** @param {InputSession} input @param {ReadyTarget} start */
  constructor(input, start) {
    this.#input = input;
    this.tabId = input.tabId;
    this.#start = start;
    this.at = pointOf(start);
    this.#endListening = onEventOf(input.tabId, 'Input.dragIntercepted', ({ data }) => {
      this.data = data;
      this.#begun();
    });
  }

  /** Waits for the data of a drag and drop that the page has begun. */
  async intercepted() {
    const begun = new Promise((resolve) => { this.#begun = () => resolve(undefined); });
    if (this.data === null) await within(DRAG_BEGIN_MS, begun).catch(console.debug);
  }

  async press() {
    this.#input.signal.throwIfAborted();
    this.#isHeld = true;
    await this.#input.send(moved(this.at), pressed(this.at, 'left'));
  }

  /** @param {ViewPoint[]} way */
  async move(...way) {
    await this.#input.ready(this.#start);
    const hasData = this.data !== null;
    const isEntering = hasData && !this.#hasEntered;
    this.#hasEntered ||= hasData;
    const events = way.flatMap((to, at) => {
      this.at = to;
      if (!hasData) return [moved(to, { held: 'left' }), flush(to, { held: 'left' })];
      return [...(isEntering && at === 0 ? [this.#dragEvent('dragEnter')] : []), this.#dragEvent('dragOver')];
    });
    await this.#input.send(...events);
  }

  async drop() {
    await this.#input.ready();
    this.#isHeld = false;
    if (this.data === null) return this.#input.send(released(this.at, 'left'));
    await this.#input.send(this.#dragEvent('drop'), released(this.at, 'left'));
  }

  /** If it was not dropped. */
  async letGo() {
    this.#endListening();
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const cancelled = this.data === null ? [] : [this.#dragEvent('dragCancel')];
    await this.#input.letGo(...cancelled, released(this.at, 'left'));
  }

  /** @param {'dragEnter' | 'dragOver' | 'drop' | 'dragCancel'} type @returns {InputEventCommand} */
  #dragEvent(type) {
    return { method: 'Input.dispatchDragEvent', type, ...this.at, data: this.data };
  }
}
