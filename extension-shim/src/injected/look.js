// @ts-check
// Reads the visible content of a page. Runs in an isolated world beside the page's scripts, which can neither see nor
// change it. Its source text is sent, so it may use only itself, `clip.js` and the globals of every page.

import { clip, headOf } from '../lib/clip.js';

/** @import {Secrets} from './secrets.js' */

/**
 * @typedef {object} Budget
 * @property {number} nodes how many nodes are visited at most
 * @property {number} ms how long the visits may take
 */

export class Look {
  /** Whether it gave up because there was too much to visit. */
  full = false;
  /** What nobody should read. */
  secrets;
  #budget;
  #nodes = 0;
  #end = 0;
  #unread = new Set(['script', 'style', 'noscript', 'template', 'svg', 'canvas', 'video', 'audio', 'object', 'select', 'textarea', 'iframe']);

  // Forms and documents answer to the names of what is in them before their own properties, so a page could
  // pass one thing off as another.
  childNodes = this.#getter(Node, 'childNodes');
  parent = this.#getter(Node, 'parentNode');
  textContent = this.#getter(Node, 'textContent');
  attributes = this.#getter(Element, 'attributes');
  shadowRoot = this.#getter(Element, 'shadowRoot');
  documentOf = this.#getter(Node, 'ownerDocument');
  rootOf = this.#method(Node, 'getRootNode');
  attribute = this.#method(Element, 'getAttribute');
  matches = this.#method(Element, 'matches');
  isRendered = this.#method(Element, 'checkVisibility');
  rectOf = this.#method(Element, 'getBoundingClientRect');

  /** @param {Budget} budget @param {Secrets} secrets */
  constructor(budget, secrets) {
    this.#budget = budget;
    this.secrets = secrets;
    this.renew();
  }

  /** For the next walk. A part of the whole budget is enough where little is looked for. */
  renew(part = 1) {
    this.full = false;
    this.#nodes = this.#budget.nodes * part;
    this.#end = performance.now() + this.#budget.ms * part;
  }

  /** @param {any} Interface @param {string} name @returns {(node: any) => any} */
  #getter(Interface, name) {
    const { get } = /** @type {any} */ (Object.getOwnPropertyDescriptor(Interface.prototype, name));
    return (node) => get.call(node);
  }

  /** @param {any} Interface @param {string} name @returns {(node: any, ...args: any[]) => any} */
  #method(Interface, name) {
    const method = Interface.prototype[name];
    return (node, ...args) => method.apply(node, args);
  }

  /**
   * Visits a node and all below it, shadow roots and frames of the same origin included, until there are too many.
   * @param {any} start @param {(node: any) => boolean | void} visit false: nothing below it
   * @param {{flat?: boolean, leave?: (node: any) => void}} [how] flat: as shown, what stands in a slot there
   */
  walk(start, visit, { flat = false, leave } = {}) {
    const stack = [{ node: start, left: false }];
    for (let top = stack.pop(); top; top = stack.pop()) {
      if (top.left) {
        leave?.(top.node);
        continue;
      }
      this.#nodes -= 1;
      if (this.#nodes < 0 || ((this.#nodes & 255) === 0 && performance.now() > this.#end)) this.full = true;
      if (this.full) return;
      if (visit(top.node) === false) continue;
      if (leave) stack.push({ node: top.node, left: true });
      const below = flat ? this.#shownIn(top.node) : this.#allIn(top.node);
      for (let i = below.length - 1; i >= 0; i -= 1) stack.push({ node: below[i], left: false });
    }
  }

  /** @param {any} node @returns {ArrayLike<any>} */
  #shownIn(node) {
    if (node.nodeType !== 1) return this.childNodes(node);
    if (node.localName === 'slot') {
      const assigned = HTMLSlotElement.prototype.assignedNodes.call(node);
      if (assigned.length > 0) return assigned;
    }
    return this.childNodes(this.shadowRoot(node) ?? this.frameIn(node) ?? node);
  }

  /** @param {any} node @returns {ArrayLike<any>} */
  #allIn(node) {
    const light = this.childNodes(node);
    const inner = node.nodeType === 1 ? this.shadowRoot(node) ?? this.frameIn(node) : null;
    return inner ? [...this.childNodes(inner), ...light] : light;
  }

  /** The document in a frame, if it is of the same origin. @param {any} node @returns {any} */
  frameIn(node) {
    const Frame = { iframe: HTMLIFrameElement, frame: HTMLFrameElement }[/** @type {string} */ (node.localName)];
    if (!Frame || !('contentWindow' in node)) return null;
    return /** @type {any} */ (Object.getOwnPropertyDescriptor(Frame.prototype, 'contentDocument')).get.call(node);
  }

  /** Why a person does not see an element; null: it is shown, if scrolled to. @param {any} element @returns {string | null} */
  hiddenBy(element) {
    let shown = element;
    // It has no box of its own, but what is in it has.
    while (shown && getComputedStyle(shown).display === 'contents') shown = shown.parentElement;
    if (!shown || !this.isRendered(shown)) return 'display';
    if (!this.isRendered(shown, { visibilityProperty: true })) return 'visibility';
    if (!this.isRendered(shown, { opacityProperty: true })) return 'opacity';
    const { width, height } = this.rectOf(shown);
    return width > 0 || height > 0 || element !== shown ? null : 'size';
  }

  /** Where it is in the visible part of the page, in CSS px. @param {any} element */
  box(element) {
    const { x, y, width, height } = this.rectOf(element);
    const box = { x, y, width, height };
    for (let frame = this.#frameOf(element); frame; frame = this.#frameOf(frame)) {
      const outer = this.rectOf(frame);
      box.x += outer.x + frame.clientLeft;
      box.y += outer.y + frame.clientTop;
    }
    return { x: Math.round(box.x), y: Math.round(box.y), width: Math.round(width), height: Math.round(height) };
  }

  /** @param {{x: number, y: number, width: number, height: number}} box */
  isInView({ x, y, width, height }) {
    return x < innerWidth && y < innerHeight && x + width > 0 && y + height > 0;
  }

  /** The frame element that an element's document is in. @param {any} element @returns {any} */
  #frameOf(element) {
    const view = this.documentOf(element).defaultView;
    return view === window ? null : view?.frameElement ?? null;
  }

  /** What a person reads in it, a line a block. @param {any} start @param {number} most characters */
  text(start, most) {
    let text = '';
    const visit = (/** @type {any} */ node) => {
      if (text.length > most * 2) return false;
      if (node.nodeType === 1 && node.isContentEditable && this.secrets.isField(node)) return false;
      if (node.nodeType === 3) text += headOf(node.data, most * 4).replace(/\s+/g, ' ');
      if (node.nodeType !== 1) return true;
      if (node !== start && this.#unread.has(node.localName)) return false;
      const { display, visibility } = getComputedStyle(node);
      if (display === 'none' || (visibility !== 'visible' && node.childElementCount === 0)) return false;
      if (!display.startsWith('inline') && display !== 'contents' || node.localName === 'br') text += '\n';
      return true;
    };
    const leave = (/** @type {any} */ node) => {
      if (node.nodeType === 1 && !getComputedStyle(node).display.startsWith('inline')) text += '\n';
    };
    this.walk(start, visit, { flat: true, leave });
    return this.cut(text.replace(/ *\n[\n ]*/g, '\n').replace(/ +/g, ' ').trim(), most);
  }

  /** The same in one line. @param {any} element @param {number} most */
  line(element, most) {
    return this.text(element, most).replaceAll('\n', ' ');
  }

  /** Without card numbers. @param {string} text @param {number} most */
  cut(text, most) {
    return clip(this.secrets.hide(text), most);
  }

  /** The beginning as it is, for those that are handed a look. @param {string} text @param {number} most */
  head(text, most) {
    return headOf(text, most);
  }

  /** What it is called: by its label, its text or its title. @param {any} element @returns {string} */
  name(element) {
    const most = 100;
    const of = (/** @type {string} */ name) => (this.attribute(element, name) ?? '').trim();
    const root = this.rootOf(element);
    const labelledBy = of('aria-labelledby').split(/\s+/).flatMap((/** @type {string} */ id) => (id && root.getElementById?.(id)) || []);
    const isField = ['input', 'select', 'textarea'].includes(element.localName);
    const isButton = element.localName === 'input' && ['submit', 'reset', 'button'].includes(element.type);
    const candidates = [
      () => labelledBy.map((/** @type {any} */ label) => this.line(label, most)).join(' '),
      () => of('aria-label'),
      () => (isField ? Array.from(element.labels ?? [], (/** @type {any} */ label) => this.line(label, most)).join(' ') : ''),
      () => (isButton ? element.value || { submit: 'Submit', reset: 'Reset' }[/** @type {string} */ (element.type)] || '' : ''),
      () => (isField ? '' : this.line(element, most)),
      () => of('alt') || (this.#first(element, 'img[alt]:not([alt=""])')?.alt ?? ''),
      () => this.#first(element, 'svg > title')?.textContent.trim() ?? '',
      () => of('title') || of('placeholder'),
    ];
    for (const candidate of candidates) {
      const name = candidate();
      if (name) return this.cut(name, most);
    }
    return '';
  }

  /** @param {any} element @param {string} selector @returns {any} */
  #first(element, selector) {
    return Element.prototype.querySelector.call(element, selector);
  }

  /** The shortest selector that finds it alone in its document or shadow root. @param {any} element @returns {string} */
  selector(element) {
    const root = this.rootOf(element);
    const isAlone = (/** @type {string} */ selector) => root.querySelectorAll(selector).length === 1;
    let path = '';
    for (let node = element; node?.nodeType === 1; node = this.parent(node)) {
      const id = this.attribute(node, 'id');
      const name = node === element && this.attribute(node, 'name');
      const short = [id && `#${CSS.escape(id)}`, name && `${node.localName}[name=${JSON.stringify(name)}]`];
      for (const step of short) if (step && isAlone(step + path)) return step + path;
      path = `${this.#step(node)}${path}`;
      if (isAlone(path)) return path;
      path = ` > ${path}`;
    }
    return path.slice(3);
  }

  /** @param {any} element @returns {string} it among its siblings */
  #step(element) {
    const is = (/** @type {any} */ { localName }) => localName === element.localName;
    let place = 1;
    for (let before = element.previousElementSibling; before; before = before.previousElementSibling) if (is(before)) place += 1;
    let after = place === 1 ? element.nextElementSibling : null;
    while (after && !is(after)) after = after.nextElementSibling;
    const tag = CSS.escape(element.localName);
    return place === 1 && !after ? tag : `${tag}:nth-of-type(${place})`;
  }

  /** The frames and shadow hosts that it is in, the outermost first. @param {any} element @returns {string[]} */
  within(element) {
    const hosts = [];
    const outside = (/** @type {any} */ node) => this.rootOf(node).host ?? this.#frameOf(node);
    for (let host = outside(element); host; host = outside(host)) hosts.unshift(this.selector(host));
    return hosts;
  }

  /** Whether nobody should read what was entered in a field. @param {any} field @returns {boolean} */
  isSecret(field) {
    return this.secrets.isField(field) || (typeof field.value === 'string' && this.secrets.isCardNumber(field.value));
  }

  /** The fields whose values nobody should read, in shadow roots and frames of the same origin too. @param {number} most @returns {any[]} */
  secretFields(most) {
    /** @type {any[]} */
    const fields = [];
    this.walk(document, (node) => {
      const isField = node.nodeType === 1 && (['input', 'select', 'textarea'].includes(node.localName) || node.isContentEditable);
      if (isField && fields.length < most && this.isSecret(node)) fields.push(node);
    });
    return fields;
  }

  /** What a person has entered, but no secrets. @param {any} field @returns {object} */
  entered(field) {
    const { type = '', value } = field;
    if (['checkbox', 'radio'].includes(type)) return { checked: field.checked };
    if (type === 'file') return { files: field.files.length };
    if (this.isSecret(field)) return value ? { filled: true } : {};
    if (field.localName === 'select') return { value: this.cut(Array.from(field.selectedOptions, ({ label }) => label).join(', '), 100) };
    return typeof value === 'string' && value ? { value: this.cut(value, 100) } : {};
  }
}
