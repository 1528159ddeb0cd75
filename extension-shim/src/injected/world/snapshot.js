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

class PageSnapshot {
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
    const active = this.#dom.active();
    const add = (/** @type {AccessibleItem} */ item, /** @type {number} */ level) => {
      if (typeof item === 'string') {
        const text = interactiveOnly ? '' : this.#words.shown(item, 2_000);
        if (text) lines.push(`${'  '.repeat(level)}- ${text}`);
        return;
      }
      const isShown = !interactiveOnly || item.isActedOn || ['iframe', 'dialog', 'alertdialog', 'alert'].includes(item.role);
      if (isShown) lines.push(`${'  '.repeat(level)}${this.#line(item, { boxes, urls, active })}`);
      const below = isShown && !interactiveOnly ? level + 1 : level;
      if (below <= depth) for (const inner of item.items) add(inner, below);
    };
    for (const top of this.#tree.read(start)) add(top, 0);
    return lines.join('\n');
  }

  /** @param {AccessibleNode} node @param {{boxes: boolean, urls: boolean, active: any}} how @returns {string} */
  #line(node, { boxes, urls, active }) {
    const { role, name, element, states, value } = node;
    let line = role;
    const level = this.#accessible.level(element, role);
    if (level !== undefined) line += ` ${level}`;
    if (name) line += ` ${JSON.stringify(name)}`;
    line += ` ${LINE_MARKS.id}${this.#refs.of(element, role, name)}`;
    if (element === active) line += ' focused';
    for (const state of states) line += ` ${state}`;
    if (urls && role === 'link') line += ` <${this.#words.shown(this.#dom.attribute(element, 'href') ?? '', 300)}>`;
    if (boxes) {
      const { x, y, width, height } = this.#dom.rect(element);
      line += ` [${[x, y, width, height].map(Math.round).join(',')}]`;
    }
    if (value !== undefined) line += `: ${value}`;
    return role === 'iframe' ? `${line}${LINE_MARKS.frame}${this.#dom.placeOf(element)}` : line;
  }
}
