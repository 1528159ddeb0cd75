// @ts-check
// A page as lines of text, one a node: role, name, ref, states, value. A classic script.

/**
 * @typedef {object} SnapshotOptions
 * @property {number} [id] of the element that it begins with; absent: the whole document
 * @property {boolean} [interactiveOnly] only elements that a person acts on
 * @property {number} [depth] levels of lines below the first
 * @property {boolean} [boxes] where each is, in CSS px of its frame
 * @property {boolean} [urls] where links lead
 */

/** In the lines of a document \x01 stands before the number of an element and \x02 before the place of a frame whose lines belong below. */
const LINE_MARKS = { id: '\x01', frame: '\x02' };

/**
 * @typedef {object} MarkedElement an element that a person acts on, in CSS px of the view of its frame
 * @property {number} id
 * @property {string} role
 * @property {string} name
 * @property {number} x
 * @property {number} y
 * @property {number} width
 * @property {number} height
 */

class PageSnapshot {
  /** More marks on a picture are not told apart. */
  static #MARKS_MAX = 200;
  /** Where only elements are told that a person acts on, their names and values need not be read whole. */
  static #SHORT = 48;
  /** A longer text would fill the worker, which serves all tabs. */
  static #TEXT_MAX = 8_000_000;
  /** Whether the last text has left something out. */
  isCut = false;
  #dom;
  #accessible;
  #tree;
  #refs;
  #words;

  /** @param {PageDom} dom @param {Accessible} accessible @param {AccessibleTree} tree @param {RefTable} refs @param {PageWords} words */
  constructor(dom, accessible, tree, refs, words) {
    this.#dom = dom;
    this.#accessible = accessible;
    this.#tree = tree;
    this.#refs = refs;
    this.#words = words;
  }

  /** @param {any} start an element @param {SnapshotOptions} options @returns {string} */
  text(start, { interactiveOnly = false, depth = Infinity, boxes = false, urls = false }) {
    /** @type {string[]} */
    const lines = [];
    let left = PageSnapshot.#TEXT_MAX;
    const write = (/** @type {string} */ line, /** @type {number} */ level) => {
      left -= line.length + 2 * level;
      if (left >= 0) lines.push('  '.repeat(level) + line);
    };
    const active = this.#dom.active();
    const add = (/** @type {AccessibleItem} */ item, /** @type {number} */ level) => {
      if (left < 0) return;
      if (typeof item === 'string') {
        const text = interactiveOnly ? '' : this.#words.shown(item, 2_000);
        // Marks of punctuation between two nodes say nothing.
        if (/[^\s\p{P}]/u.test(text)) write(`- ${text}`, level);
        return;
      }
      const isShown = !interactiveOnly || item.isActedOn || ['iframe', 'dialog', 'alertdialog', 'alert'].includes(item.role);
      if (isShown) write(this.#line(item, { boxes, urls, active, isShort: interactiveOnly }), level);
      const below = isShown && !interactiveOnly ? level + 1 : level;
      if (below <= depth) for (const inner of item.items) add(inner, below);
    };
    for (const top of this.#tree.read(start)) add(top, 0);
    this.isCut = left < 0;
    return lines.join('\n');
  }

  /** The elements that a person sees and acts on. @param {any} start @param {boolean} isWhole also those outside of the view @returns {MarkedElement[]} */
  marks(start, isWhole) {
    /** @type {MarkedElement[]} */
    const marks = [];
    const add = (/** @type {AccessibleItem} */ item) => {
      if (typeof item === 'string' || marks.length >= PageSnapshot.#MARKS_MAX) return;
      const { role, name, element, isActedOn } = item;
      if (isActedOn && this.#isSeen(element, isWhole)) {
        const { x, y, width, height } = this.#dom.rect(element);
        marks.push({ id: this.#refs.of(element, role, name), role, name, x, y, width, height });
      }
      item.items.forEach(add);
    };
    this.#tree.read(start).forEach(add);
    return marks;
  }

  /** @param {any} element @param {boolean} isWhole */
  #isSeen(element, isWhole) {
    const { x, y, width, height } = this.#dom.rect(element);
    if (width < 1 || height < 1) return false;
    const [midX, midY] = [x + width / 2, y + height / 2];
    const isInView = midX >= 0 && midY >= 0 && midX < innerWidth && midY < innerHeight;
    if (!isInView) return isWhole;
    const hit = this.#dom.at(midX, midY);
    // An element behind its own label or icon is still seen; one behind a dialog is not.
    return hit !== null && (this.#dom.holds(element, hit) || this.#dom.holds(hit, element));
  }

  /** @param {AccessibleNode} node @param {{boxes: boolean, urls: boolean, active: any, isShort: boolean}} how @returns {string} */
  #line(node, { boxes, urls, active, isShort }) {
    const { role, name, element, states, value } = node;
    let line = role;
    const level = this.#accessible.level(element, role);
    if (level !== undefined) line += ` ${level}`;
    const told = (/** @type {string} */ text) => (isShort ? this.#words.clipped(text, PageSnapshot.#SHORT) : text);
    if (name) line += ` ${JSON.stringify(told(name))}`;
    line += ` ${LINE_MARKS.id}${this.#refs.of(element, role, name)}`;
    if (element === active) line += ' focused';
    for (const state of states) line += ` ${state}`;
    if (urls && role === 'link') line += ` <${this.#words.shown(this.#dom.attribute(element, 'href') ?? '', 300)}>`;
    if (boxes) {
      const { x, y, width, height } = this.#dom.rect(element);
      line += ` [${[x, y, width, height].map(Math.round).join(',')}]`;
    }
    if (value !== undefined) line += `: ${told(value)}`;
    return role === 'iframe' ? `${line}${LINE_MARKS.frame}${this.#dom.placeOf(element)}` : line;
  }
}
