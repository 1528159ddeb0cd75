// @ts-check
// A page as lines of text, one a node: role, name, ref, states, value. A classic script.

/**
 * @typedef {object} SnapshotOptions
 * @property {boolean} [interactiveOnly] only what can be acted on, and headings
 * @property {number} [depth] levels of lines below the first
 * @property {boolean} [boxes] where each is, in CSS px
 * @property {boolean} [urls] where links lead
 *
 * @typedef {object} SnapshotNode
 * @property {string} role
 * @property {string} name
 * @property {any} element
 * @property {boolean} isActedOn
 * @property {string[]} states
 * @property {string | undefined} value
 * @property {(SnapshotNode | string)[]} items
 *
 * @typedef {object} SnapshotLine
 * @property {number} level
 * @property {string} text
 * @property {number} [frame] the place of the frame in its document whose lines stand below this one
 */

class PageSnapshot {
  /** Their content is drawn or carried out, and not read. */
  static #UNREAD = new Set(['script', 'style', 'noscript', 'template', 'head', 'title', 'meta', 'link', 'base', 'object', 'embed', 'param', 'source', 'track', 'datalist', 'textarea', 'svg', 'canvas', 'video', 'audio', 'iframe', 'frame']);
  /** They say nothing by themselves: what is in them stands in their place. */
  static #PLAIN = new Set(['generic', 'none', 'rowgroup', 'emphasis', 'strong', 'insertion', 'deletion', 'subscript', 'superscript', 'mark', 'code', 'time', 'term', 'definition', 'blockquote', 'document']);
  #dom;
  #accessible;
  #refs;
  #secrets;

  /** @param {PageDom} dom @param {Accessible} accessible @param {RefTable} refs @param {any} secrets */
  constructor(dom, accessible, refs, secrets) {
    this.#dom = dom;
    this.#accessible = accessible;
    this.#refs = refs;
    this.#secrets = secrets;
  }

  /** @param {any} start an element @param {SnapshotOptions} options @returns {SnapshotLine[]} */
  lines(start, { interactiveOnly = false, depth = Infinity, boxes = false, urls = false }) {
    const node = this.#node(start);
    const tops = node === null ? [] : this.#isPlain(node) ? node.items : [node];
    /** @type {SnapshotLine[]} */
    const lines = [];
    const add = (/** @type {SnapshotNode | string} */ item, /** @type {number} */ level) => {
      if (typeof item === 'string') {
        const text = this.#tidy(item);
        if (text && !interactiveOnly && level <= depth) lines.push({ level, text });
        return;
      }
      const isShown = !interactiveOnly || item.isActedOn || ['heading', 'iframe', 'dialog', 'alert'].includes(item.role);
      if (isShown && level <= depth) lines.push(this.#line(item, level, { boxes, urls }));
      for (const inner of item.items) add(inner, isShown ? level + 1 : level);
    };
    for (const top of tops) add(top, 0);
    return lines;
  }

  /** @param {string} text */
  #tidy(text) {
    const line = this.#secrets.hide(text.replace(/\s+/g, ' ').trim());
    return line.length > 2_000 ? `${line.slice(0, 2_000)}…` : line;
  }

  /** @param {SnapshotNode} node @param {number} level @param {{boxes: boolean, urls: boolean}} how @returns {SnapshotLine} */
  #line(node, level, { boxes, urls }) {
    const { role, name, element, states, value } = node;
    let text = role === 'generic' ? 'clickable' : role;
    const headingLevel = this.#accessible.level(element, role);
    if (headingLevel !== undefined) text += ` ${headingLevel}`;
    if (name) text += ` ${JSON.stringify(name)}`;
    text += ` ${this.#refs.of(element, role, name)}`;
    for (const state of states) text += ` ${state}`;
    if (urls && role === 'link') text += ` <${this.#dom.attribute(element, 'href')}>`;
    if (boxes) {
      const { x, y, width, height } = this.#dom.rect(element);
      text += ` [${[x, y, width, height].map(Math.round).join(',')}]`;
    }
    if (value !== undefined) text += `: ${value}`;
    return role === 'iframe' ? { level, text, frame: this.#placeOf(element) } : { level, text };
  }

  /** The place of a frame among those of its document; -1: it shows nothing. @param {any} element */
  #placeOf(element) {
    const { contentWindow } = element;
    for (let place = 0; place < window.length; place += 1) if (window[place] === contentWindow) return place;
    return -1;
  }

  /** @param {any} element @param {boolean} [isInClickable] @returns {SnapshotNode | null} null: nobody is told of it */
  #node(element, isInClickable = false) {
    if (this.#accessible.isHidden(element)) return null;
    const isSeen = this.#dom.isVisible(element);
    if (!isSeen && !this.#dom.hasBox(element)) return null;
    const role = isSeen ? this.#accessible.role(element) : 'none';
    const isClickable = isSeen && (role === 'generic' || role === 'none' || role === 'img') && !isInClickable && this.#looksClickable(element);
    const isActedOn = isClickable || (isSeen && this.#accessible.isInteractive(element, role));
    const items = this.#items(element, isInClickable || isActedOn, isSeen);
    if (!isSeen) return { role: 'none', name: '', element, isActedOn: false, states: [], value: undefined, items };
    const named = isClickable && role !== 'img' ? 'button' : role;
    const isPlain = !isActedOn && PageSnapshot.#PLAIN.has(role) && !this.#hasLabel(element);
    const name = isPlain ? '' : this.#accessible.name(element, named);
    const node = {
      role: role === 'none' && isActedOn ? 'generic' : role, name, element, isActedOn, items,
      states: isPlain ? [] : this.#accessible.states(element, role), value: isPlain ? undefined : this.#accessible.value(element, role),
    };
    if (name && Accessible.NAMED_BY_CONTENT.has(named)) node.items = items.filter((item) => typeof item !== 'string');
    // Edited text stands behind the colon.
    if (role === 'textbox' || (role === 'combobox' && element.localName === 'select')) node.items = [];
    return node;
  }

  /** @param {any} element */
  #hasLabel(element) {
    return this.#dom.has(element, 'aria-label') || this.#dom.has(element, 'aria-labelledby');
  }

  /** A hand shows over it, and not over all around it. @param {any} element */
  #looksClickable(element) {
    if (this.#dom.has(element, 'onclick')) return true;
    if (getComputedStyle(element).cursor !== 'pointer') return false;
    const parent = this.#dom.shownParent(element);
    return parent === null || getComputedStyle(parent).cursor !== 'pointer';
  }

  /** @param {SnapshotNode} node */
  #isPlain({ role, name, isActedOn, states }) {
    return !isActedOn && !name && states.length === 0 && PageSnapshot.#PLAIN.has(role);
  }

  /** What stands in an element: texts that are read in one go, with the spaces at their ends, and nodes. @param {any} element @param {boolean} isInClickable @param {boolean} isSeen */
  #items(element, isInClickable, isSeen) {
    /** @type {(SnapshotNode | string)[]} */
    const items = [];
    if (PageSnapshot.#UNREAD.has(element.localName)) return items;
    let text = '';
    const endText = () => {
      if (text) items.push(text);
      text = '';
    };
    for (const child of this.#dom.shownIn(element)) {
      if (child.nodeType === 3 && isSeen) text += child.data;
      if (child.nodeType !== 1) continue;
      if (child.localName === 'br') text += ' ';
      const node = this.#node(child, isInClickable);
      if (node === null) continue;
      const isInline = getComputedStyle(child).display.startsWith('inline');
      if (this.#isPlain(node)) {
        if (!isInline) endText();
        for (const item of node.items) {
          if (typeof item === 'string') text += isInline ? item : ` ${item} `;
          else {
            endText();
            items.push(item);
          }
        }
        if (!isInline) endText();
      } else {
        endText();
        items.push(node);
      }
    }
    endText();
    return items;
  }
}
