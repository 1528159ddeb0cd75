// @ts-check
// Scrolls the page and the boxes in it. A classic script.

/**
 * @typedef {object} ScrollWish
 * @property {number} [id] of an element: it is scrolled, or the box around it
 * @property {number} [dx] CSS px to the right
 * @property {number} [dy] CSS px down
 * @property {number} [viewsX] the same in parts of the visible size
 * @property {number} [viewsY]
 * @property {'top' | 'bottom'} [to]
 *
 * @typedef {object} ScrolledBox
 * @property {{id: number, role: string, name: string} | null} box null: the page
 * @property {number} left @property {number} top @property {number} mostLeft @property {number} mostTop
 * @property {boolean} hasMoved
 */

class ScrollControl {
  static #get = (/** @type {string} */ name) => /** @type {(element: any) => number} */ ((element) => /** @type {any} */ (Object.getOwnPropertyDescriptor(Element.prototype, name)).get.call(element));
  static #left = ScrollControl.#get('scrollLeft');
  static #top = ScrollControl.#get('scrollTop');
  static #width = ScrollControl.#get('scrollWidth');
  static #height = ScrollControl.#get('scrollHeight');
  static #seenWidth = ScrollControl.#get('clientWidth');
  static #seenHeight = ScrollControl.#get('clientHeight');
  /** Browsers round sizes of their own accord. */
  static #ROUNDED = 1;
  #scrollTo = Element.prototype.scrollTo;
  #dom;
  #finder;

  /** @param {PageDom} dom @param {TargetFinder} finder */
  constructor(dom, finder) {
    this.#dom = dom;
    this.#finder = finder;
  }

  /** @param {any} element absent: the page @param {ScrollWish} wish @returns {ScrolledBox | null} null: nothing there can be scrolled that way */
  scroll(element, { dx = 0, dy = 0, viewsX = 0, viewsY = 0, to }) {
    const isSideways = dx !== 0 || viewsX !== 0;
    const box = this.#boxAround(element, isSideways) ?? (element ? null : this.#largestBox(isSideways));
    if (!box) return null;
    const before = this.#place(box);
    const top = to === 'top' ? 0 : to === 'bottom' ? before.mostTop : before.top + dy + viewsY * ScrollControl.#seenHeight(box);
    const left = before.left + dx + viewsX * ScrollControl.#seenWidth(box);
    /** @type {any} */ (this.#scrollTo).call(box, { left, top, behavior: 'instant' });
    const after = this.#place(box);
    const { id, role, name } = this.#finder.describe(box);
    const hasMoved = Math.abs(after.top - before.top) >= 0.5 || Math.abs(after.left - before.left) >= 0.5;
    return { ...after, hasMoved, box: box === this.#page ? null : { id, role, name } };
  }

  get #page() {
    return /** @type {any} */ (Object.getOwnPropertyDescriptor(Document.prototype, 'scrollingElement')).get.call(document) ?? this.#dom.page;
  }

  /** @param {any} box */
  #place(box) {
    const whole = (/** @type {number} */ size) => Math.round(size * 10) / 10;
    return {
      left: whole(ScrollControl.#left(box)), top: whole(ScrollControl.#top(box)),
      mostLeft: Math.max(0, ScrollControl.#width(box) - ScrollControl.#seenWidth(box)), mostTop: Math.max(0, ScrollControl.#height(box) - ScrollControl.#seenHeight(box)),
    };
  }

  /** @param {any} element @param {boolean} isSideways @returns {any} the nearest that can be scrolled */
  #boxAround(element, isSideways) {
    for (let around = element; around; around = this.#dom.shownParent(around)) if (this.#canScroll(around, isSideways)) return around;
    const page = this.#page;
    return this.#hasMore(page, isSideways) && this.#isOpen(page, isSideways) ? page : null;
  }

  /** Pages that fill the window with boxes scroll one of these. @param {boolean} isSideways @returns {any} */
  #largestBox(isSideways) {
    let largest = null;
    let most = 0;
    for (const root of this.#dom.roots()) {
      for (const element of this.#dom.select(root, '*')) {
        if (!this.#hasMore(element, isSideways) || !this.#canScroll(element, isSideways) || !this.#dom.isVisible(element)) continue;
        const { x, y, width, height } = this.#dom.rect(element);
        const area = Math.max(0, Math.min(x + width, innerWidth) - Math.max(x, 0)) * Math.max(0, Math.min(y + height, innerHeight) - Math.max(y, 0));
        if (area > most) [largest, most] = [element, area];
      }
    }
    return largest;
  }

  /** @param {any} element @param {boolean} isSideways */
  #hasMore(element, isSideways) {
    const [all, seen] = isSideways ? [ScrollControl.#width(element), ScrollControl.#seenWidth(element)] : [ScrollControl.#height(element), ScrollControl.#seenHeight(element)];
    return all > seen + ScrollControl.#ROUNDED;
  }

  /** @param {any} element @param {boolean} isSideways */
  #canScroll(element, isSideways) {
    if (element === this.#page || !this.#hasMore(element, isSideways)) return false;
    const { overflowX, overflowY } = getComputedStyle(element);
    return ['auto', 'scroll', 'overlay'].includes(isSideways ? overflowX : overflowY) || this.#dom.tag(element) === 'textarea';
  }

  /** A page can keep people from scrolling it, for one behind a dialog. @param {any} page @param {boolean} isSideways */
  #isOpen(page, isSideways) {
    const of = (/** @type {any} */ element) => getComputedStyle(element)[isSideways ? 'overflowX' : 'overflowY'];
    const own = of(page);
    const body = this.#dom.body;
    return !['hidden', 'clip'].includes(own === 'visible' && body ? of(body) : own);
  }
}
