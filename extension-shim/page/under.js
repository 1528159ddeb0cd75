// @ts-check
// The elements that marks are about. Runs beside the page, like `Look`.

/** @import {Look} from './look.js' */

/**
 * @typedef {{x: number, y: number, width: number, height: number}} Box
 * @typedef {{id: number, box: Box}} Target a mark; without width and height it is a point
 */

/** What is told of how an element looks, if it is asked for. */
const STYLES = `[
  'display', 'position', 'width', 'height', 'margin', 'padding', 'border', 'border-radius', 'color', 'background-color',
  'background-image', 'font-family', 'font-size', 'font-weight', 'line-height', 'text-align', 'opacity', 'visibility',
  'overflow', 'z-index', 'box-shadow', 'cursor']`;

/** What elements mean without a `role`. */
const ROLES = `{
  a: 'link', article: 'article', aside: 'complementary', button: 'button', dialog: 'dialog', fieldset: 'group', figure: 'figure',
  footer: 'contentinfo', form: 'form', h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading', h5: 'heading', h6: 'heading',
  header: 'banner', hr: 'separator', img: 'img', input: 'textbox', li: 'listitem', main: 'main', meter: 'meter', nav: 'navigation',
  ol: 'list', option: 'option', output: 'status', p: 'paragraph', progress: 'progressbar', select: 'combobox', summary: 'button',
  table: 'table', td: 'cell', textarea: 'textbox', th: 'columnheader', tr: 'row', ul: 'list',
  'input:button': 'button', 'input:checkbox': 'checkbox', 'input:image': 'button', 'input:number': 'spinbutton',
  'input:radio': 'radio', 'input:range': 'slider', 'input:reset': 'button', 'input:search': 'searchbox', 'input:submit': 'button' }`;

export class Under {
  #look;
  #roles;
  #styles;
  #named = new Set(['button', 'cell', 'checkbox', 'columnheader', 'combobox', 'gridcell', 'heading', 'img', 'link', 'menuitem', 'option',
    'radio', 'rowheader', 'searchbox', 'slider', 'spinbutton', 'switch', 'tab', 'textbox', 'tooltip', 'treeitem']);
  /** @type {Map<any, string>} */
  #keys = new Map();

  /** @param {Look} look @param {Record<string, string>} roles @param {string[]} styles empty: none are asked for */
  constructor(look, roles, styles) {
    this.#look = look;
    this.#roles = roles;
    this.#styles = styles;
  }

  /** @param {Target[]} marks @returns {{elements: Record<number, string>, element_details: Record<string, object>}} by the marks' ids */
  find(marks) {
    /** @type {Record<number, string>} */
    const elements = {};
    for (const { id, box } of marks) {
      const element = this.#about(box);
      if (element) elements[id] = this.#keyOf(element);
    }
    const details = [...this.#keys].map(([element, key]) => [key, this.#describe(element)]);
    return { elements, element_details: Object.fromEntries(details) };
  }

  /** The element that fits an area best, or the innermost at a point. @param {Box} box @returns {any} */
  #about(box) {
    const innermost = this.#innermost(box.x + box.width / 2, box.y + box.height / 2);
    if (!innermost || (box.width === 0 && box.height === 0)) return innermost;
    let best = { element: innermost, fit: -1 };
    for (let element = innermost; element; element = this.#outer(element)) {
      const fit = this.#fit(this.#look.box(element), box);
      if (fit > best.fit) best = { element, fit };
    }
    return best.element;
  }

  /** @param {number} x @param {number} y @returns {any} in shadow roots and frames of the same origin, too */
  #innermost(x, y) {
    let found = this.#at(document, x, y);
    let [left, top] = [0, 0];
    for (let host = found; host;) {
      const frame = this.#look.frameIn(host);
      if (frame) {
        const { x: frameX, y: frameY } = this.#look.rectOf(host);
        [left, top] = [left + frameX + host.clientLeft, top + frameY + host.clientTop];
      }
      const inside = frame ?? this.#look.shadowRoot(host);
      const next = inside && this.#at(inside, x - left, y - top);
      if (!next || next === host) break;
      host = next;
      found = next;
    }
    return found;
  }

  /** @param {any} root @param {number} x @param {number} y @returns {any} */
  #at(root, x, y) {
    const { prototype } = root.nodeType === 9 ? Document : ShadowRoot;
    return prototype.elementFromPoint.call(root, x, y);
  }

  /** @param {any} element @returns {any} what it is in, out of a shadow root, too, but not out of a frame */
  #outer(element) {
    const parent = this.#look.parent(element);
    if (parent?.nodeType === 1) return parent;
    return this.#look.rootOf(element).host ?? null;
  }

  /** How much of both they share, from 0 to 1. @param {Box} one @param {Box} other */
  #fit(one, other) {
    const across = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x);
    const down = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y);
    const shared = Math.max(across, 0) * Math.max(down, 0);
    return shared / (one.width * one.height + other.width * other.height - shared || 1);
  }

  /** @param {any} element */
  #keyOf(element) {
    const key = this.#keys.get(element) ?? `e${this.#keys.size + 1}`;
    this.#keys.set(element, key);
    return key;
  }

  /** @param {any} element */
  #describe(element) {
    const look = this.#look;
    look.renew(0.1);
    const within = look.within(element);
    const role = this.#roleOf(element);
    const name = this.#isNamed(element, role) ? look.name(element) : '';
    return {
      selector: look.selector(element),
      ...(within.length > 0 && { within }),
      tag: element.localName,
      ...(role && { role }),
      ...(name && { name }),
      text: look.cut(look.line(element, 199), 199),
      box: look.box(element),
      ...(this.#styles.length > 0 && { styles: this.#stylesOf(element) }),
    };
  }

  /** A paragraph's text is not its name. @param {any} element @param {string} role */
  #isNamed(element, role) {
    const labels = ['aria-label', 'aria-labelledby', 'alt', 'title'];
    return this.#named.has(role) || labels.some((label) => this.#look.attribute(element, label) !== null);
  }

  /** @param {any} element @returns {string} */
  #roleOf(element) {
    const [given] = (this.#look.attribute(element, 'role') ?? '').trim().split(/\s+/);
    if (given) return given;
    const tag = element.localName;
    if (tag === 'a' && this.#look.attribute(element, 'href') === null) return '';
    return this.#roles[`${tag}:${element.type}`] ?? this.#roles[tag] ?? '';
  }

  /** @param {any} element */
  #stylesOf(element) {
    const computed = getComputedStyle(element);
    return Object.fromEntries(this.#styles.map((name) => [name, computed.getPropertyValue(name)]));
  }
}

/** An expression whose value is a function that takes a `Look`. @param {boolean} styles whether they are asked for */
export const underSource = (styles) => `((look)=>new(${Under})(look,${ROLES},${styles ? STYLES : '[]'}))`;
