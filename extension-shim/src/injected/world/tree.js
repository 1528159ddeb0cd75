// @ts-check
// Reads a document in one pass into the nodes that assistive technology is told of, without those that say nothing. A classic script.

/**
 * @typedef {object} AccessibleNode
 * @property {string} role `clickable`: of no other role, and a person can click it
 * @property {string} name
 * @property {any} element
 * @property {boolean} isActedOn
 * @property {boolean} isInline it stands in a line of text
 * @property {string[]} states
 * @property {string | undefined} value
 * @property {AccessibleItem[]} items
 *
 * @typedef {AccessibleNode | string} AccessibleItem a text ends with a line break where one is shown
 *
 * @typedef {object} ReadingPlace facts on the elements around the one that is read
 * @property {boolean} isActedOn
 * @property {string} cursor
 * @property {boolean} isNaming it is read for the name of something
 * @property {boolean} isLabel its texts name a field that is told
 */

/** The content of an element: texts that are read in one go, and nodes. */
class ItemCollector {
  /** One for all elements without. The browser collects garbage for longer than a page is read. @type {AccessibleItem[]} */
  static NONE = [];
  /** @type {AccessibleItem[]} */
  #items = ItemCollector.NONE;
  #text = '';

  /** @param {string} text */
  addText(text) {
    this.#text += text;
  }

  /** @param {AccessibleNode} node */
  addNode(node) {
    this.#flush();
    this.#add(node);
  }

  /** Another line begins. */
  breakLine() {
    if (this.#text) this.#text += '\n';
    this.#flush();
  }

  #flush() {
    if (this.#text) this.#add(this.#text);
    this.#text = '';
  }

  /** @param {AccessibleItem} item */
  #add(item) {
    if (this.#items.length === 0) this.#items = [item];
    else this.#items.push(item);
  }

  /** @returns {AccessibleItem[]} not to be changed */
  done() {
    this.#flush();
    return this.#items;
  }
}

class AccessibleTree {
  /** Their content is drawn or carried out, and not read. */
  static #UNREAD = new Set(['script', 'style', 'noscript', 'template', 'head', 'title', 'meta', 'link', 'base', 'param', 'source', 'track', 'datalist', 'desc', 'metadata', 'defs']);
  static #CLOSED = new Set(['textarea', 'select', 'input', 'img', 'canvas', 'video', 'audio', 'iframe', 'frame', 'object', 'embed', 'progress', 'meter']);
  /** They say nothing by themselves: their content stands in their place. */
  static #PLAIN = new Set(['generic', 'none', 'rowgroup', 'paragraph', 'emphasis', 'strong', 'insertion', 'deletion', 'subscript', 'superscript', 'mark', 'code', 'time', 'term', 'definition', 'blockquote', 'document', 'caption']);
  /** The recursion ends where the stack would. */
  static #DEPTH_MAX = 900;
  /** A page of more keeps its process busy for seconds. */
  static #ELEMENTS_MAX = 200_000;
  #dom;
  #accessible;
  #words;
  #left = 0;
  /** @type {NameReader} */
  #reader;
  /** @type {NameReader} of names that are parts of others */
  #innerReader;

  /** @param {PageDom} dom @param {Accessible} accessible @param {PageWords} words */
  constructor(dom, accessible, words) {
    this.#dom = dom;
    this.#accessible = accessible;
    this.#words = words;
    /** @type {NameReader['own']} */
    const own = (element, items) => (items ? this.joined(items) : this.#content(element));
    const label = (/** @type {any} */ element) => this.#content(element);
    this.#reader = { isNaming: false, own, label };
    this.#innerReader = { isNaming: true, own, label };
  }

  /** Whether the last reading has left something out. */
  get isCut() {
    return this.#left < 0;
  }

  /** @param {any} start an element @returns {AccessibleItem[]} it, or its content if it says nothing itself */
  read(start) {
    this.#left = AccessibleTree.#ELEMENTS_MAX;
    const out = new ItemCollector();
    const parent = this.#dom.shownParent(start);
    const cursor = parent ? getComputedStyle(parent).cursor : 'auto';
    this.#visit(start, out, { isActedOn: false, cursor, isNaming: false, isLabel: false }, 0);
    return out.done();
  }

  /** @param {any} element @param {string} [role] @returns {string} */
  name(element, role = this.role(element)) {
    this.#left = AccessibleTree.#ELEMENTS_MAX;
    return this.#accessible.name(element, role, this.#reader);
  }

  /** @param {any} element @returns {string} as it stands in a snapshot */
  role(element) {
    const role = this.#accessible.role(this.stated(element));
    if (role !== 'generic' && role !== 'none') return role;
    if (this.#accessible.isInteractive(element, role)) return 'clickable';
    const parent = this.#dom.shownParent(element);
    const isClickable = getComputedStyle(element).cursor === 'pointer' && !(parent && getComputedStyle(parent).cursor === 'pointer');
    return isClickable ? 'clickable' : role;
  }


  /** The text of an element for a name; one that is hidden names, too. @param {any} element @returns {string} */
  #content(element) {
    const label = (this.#dom.attribute(element, 'aria-label') ?? '').trim();
    if (label) return label;
    const out = new ItemCollector();
    this.#children(element, this.#dom.tag(element), out, { isActedOn: true, cursor: '', isNaming: true, isLabel: false }, 0, true);
    const text = this.joined(out.done());
    return text.trim() || (this.#dom.isVisible(element) ? '' : this.#dom.textOf(element));
  }

  /** @param {AccessibleItem[]} items @returns {string} as a person reads them in one go */
  joined(items) {
    return items.map((item) => {
      if (typeof item === 'string') return item;
      const text = item.name || (item.items.length > 0 ? this.joined(item.items) : '');
      return item.isInline ? text : ` ${text} `;
    }).join('');
  }

  /** The element whose role and states it has. @param {any} element @returns {any} */
  stated(element) {
    return this.#dom.tag(element) === 'label' ? this.#hiddenField(element) ?? element : element;
  }

  /** @param {any} element @param {ItemCollector} out @param {ReadingPlace} place @param {number} depth */
  #visit(element, out, place, depth) {
    const tag = this.#dom.tag(element);
    if (AccessibleTree.#UNREAD.has(tag) || depth > AccessibleTree.#DEPTH_MAX) return;
    this.#left -= 1;
    if (this.#left < 0) return;
    const style = getComputedStyle(element);
    const { display } = style;
    if (display === 'none') return;
    if (this.#dom.isMarked(element) && this.#accessible.isHidden(element)) return;
    if (tag === 'br') return out.addText('\n');
    const isInline = display.startsWith('inline') || display === 'contents';
    const isSeen = style.visibility === 'visible';
    const isOpen = style.contentVisibility !== 'hidden' && !AccessibleTree.#CLOSED.has(tag);
    const hiddenField = tag === 'label' && isSeen && !place.isNaming ? this.#hiddenField(element) : null;
    const role = hiddenField ? this.#accessible.role(hiddenField) : isSeen ? this.#accessible.role(element) : 'none';
    const { cursor } = style;
    const isActedOn = isSeen && (this.#accessible.isInteractive(element, role) || (!place.isActedOn && cursor === 'pointer' && place.cursor !== 'pointer' && !this.#namesShown(element, tag)));
    const inner = this.#inside(place, isActedOn, cursor, tag === 'label' && !place.isNaming && this.#isRepeated(element));
    if (isInline && !isActedOn && AccessibleTree.#PLAIN.has(role) && !this.#hasLabel(element)) {
      if (isOpen) this.#children(element, tag, out, inner, depth, isSeen);
      return;
    }
    if (!isInline) out.breakLine();
    if (!isActedOn && AccessibleTree.#PLAIN.has(role) && !this.#hasLabel(element)) {
      if (isOpen) this.#children(element, tag, out, inner, depth, isSeen);
    } else {
      this.#addNode(element, tag, { role: role === 'none' || (role === 'generic' && isActedOn) ? 'clickable' : role, isActedOn, isInline, isOpen, inner, depth }, out);
    }
    if (!isInline) out.breakLine();
  }

  /** @param {ReadingPlace} place @param {boolean} isActedOn @param {string} cursor @param {boolean} isLabel @returns {ReadingPlace} */
  #inside(place, isActedOn, cursor, isLabel) {
    // Most elements change nothing: one object serves all of them.
    if (cursor === place.cursor && (place.isActedOn || !isActedOn) && (place.isLabel || !isLabel)) return place;
    return { isActedOn: place.isActedOn || isActedOn, cursor, isNaming: place.isNaming, isLabel: place.isLabel || isLabel };
  }

  /**
   * @param {any} element @param {string} tag
   * @param {{role: string, isActedOn: boolean, isInline: boolean, isOpen: boolean, inner: ReadingPlace, depth: number}} known @param {ItemCollector} out
   */
  #addNode(element, tag, { role, isActedOn, isInline, isOpen, inner, depth }, out) {
    const below = new ItemCollector();
    // Edited text is its value.
    if (isOpen && role !== 'textbox') this.#children(element, tag, below, inner, depth, true);
    const items = below.done();
    const name = this.#accessible.name(element, role, inner.isNaming ? this.#innerReader : this.#reader, items);
    const states = inner.isNaming ? Accessible.NO_STATES : this.#accessible.states(this.stated(element), role);
    const value = inner.isNaming ? undefined : this.#accessible.value(element, role);
    const node = { role, name, element, isActedOn, isInline, states, value, items };
    const told = inner.isNaming ? node : this.#withoutRepeats(node);
    if (told) out.addNode(told);
  }

  /** The check box or radio button that a label is drawn in the place of. @param {any} label @returns {any} */
  #hiddenField(label) {
    const field = this.#dom.labelled(label);
    const isChecked = field !== null && this.#dom.tag(field) === 'input' && ['checkbox', 'radio'].includes(field.type);
    return isChecked && !this.#dom.isVisible(field) ? field : null;
  }

  /** @param {any} element @param {string} tag @param {ItemCollector} out @param {ReadingPlace} place @param {number} depth @param {boolean} isSeen whether its own texts are shown */
  #children(element, tag, out, place, depth, isSeen) {
    const isShut = tag === 'details' && element.open !== true;
    const text = this.#dom.onlyText(element, tag);
    if (text !== null) {
      if (text !== '' && isSeen && !place.isLabel && !isShut) out.addText(text);
      return;
    }
    let summaries = 0;
    this.#dom.eachShown(element, tag, (child) => {
      const kind = this.#dom.kind(child);
      if (kind === 3 && isSeen && !place.isLabel && !isShut) out.addText(this.#dom.data(child));
      if (kind !== 1 || (isShut && (this.#dom.tag(child) !== 'summary' || summaries > 0))) return;
      summaries += 1;
      this.#visit(child, out, place, depth + 1);
    });
  }

  /** @param {any} element */
  #hasLabel(element) {
    return this.#dom.isMarked(element) && (this.#dom.has(element, 'aria-label') || this.#dom.has(element, 'aria-labelledby'));
  }

  /** Whether it is the label of a field that a person sees: the field is acted on. @param {any} element @param {string} tag */
  #namesShown(element, tag) {
    const field = tag === 'label' ? this.#dom.labelled(element) : null;
    return field !== null && this.#dom.isVisible(field);
  }

  /** Whether the field that it is the label of says the same. @param {any} label */
  #isRepeated(label) {
    const field = this.#dom.labelled(label);
    if (!field || !this.#dom.isVisible(field)) return false;
    const name = this.#accessible.name(field, this.#accessible.role(field), this.#reader);
    return name.includes(this.#words.line(this.#content(label)));
  }

  /** @param {AccessibleNode} node @returns {AccessibleNode | null} null: it says nothing */
  #withoutRepeats(node) {
    const { role, name, isActedOn } = node;
    const isNamed = Accessible.NAMED_BY_CONTENT.has(role);
    if (node.items.some((item) => this.#isSaid(item, name))) node.items = node.items.length === 1 ? ItemCollector.NONE : node.items.filter((item) => !this.#isSaid(item, name));
    if (node.items.length > 0 && isActedOn && isNamed && name && !name.endsWith('…')) node.items = node.items.flatMap((item) => this.#actedOn(item));
    const [only] = node.items;
    if (node.items.length === 0 || typeof only === 'string') return this.#withText(node);
    // A heading that is a link says its name once.
    if (node.items.length === 1 && !isActedOn && isNamed && only.name === name) return ['cell', 'columnheader', 'rowheader'].includes(role) ? only : Object.assign(node, { name: '' });
    if (node.items.length === 1 && role === 'listitem' && !isActedOn && !name && node.states.length === 0) return only;
    return role === 'row' ? this.#row(node) : node;
  }

  /** Whether it is a text that is empty, or that the name says, too. @param {AccessibleItem} item @param {string} name */
  #isSaid(item, name) {
    return typeof item === 'string' && (!/\S/.test(item) || (name !== '' && name.includes(this.#words.line(item))));
  }

  /** @param {AccessibleNode} node that has no content or begins with a text @returns {AccessibleNode} */
  #withText(node) {
    const [only] = node.items;
    if (node.items.length === 1 && typeof only === 'string' && node.value === undefined && !node.name) return Object.assign(node, { value: this.#words.shown(only, 2_000), items: ItemCollector.NONE });
    return node.role === 'row' ? this.#row(node) : node;
  }

  /** The cells of a row are not its name; a row of texts only stands in one line. @param {AccessibleNode} node @returns {AccessibleNode} */
  #row(node) {
    const { items, element } = node;
    const name = this.#hasLabel(element) ? node.name : '';
    const isText = (/** @type {AccessibleItem} */ item) => typeof item !== 'string' && ['cell', 'columnheader', 'rowheader'].includes(item.role) && !item.isActedOn && item.items.length === 0 && item.states.length === 0;
    if (items.length === 0 || !items.every(isText)) return Object.assign(node, { name });
    const cells = /** @type {AccessibleNode[]} */ (items);
    return Object.assign(node, { name, value: cells.map((cell) => cell.name || cell.value || '').join(' | '), items: ItemCollector.NONE });
  }

  /** The elements that are acted on within another one, whose name says the rest. @param {AccessibleItem} item @returns {AccessibleItem[]} */
  #actedOn(item) {
    if (typeof item === 'string') return [];
    return item.isActedOn || item.value !== undefined ? [item] : item.items.flatMap((inner) => this.#actedOn(inner));
  }
}
