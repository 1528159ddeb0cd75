// @ts-check
// The elements that marks are about. Runs beside the page, like `Look`.

/** @import {Box} from '../../types/protocol.js' */
/** @import {Look} from './look.js' */

/** How far from a mark an element may lie to be listed with it, in CSS pixels: a hand is no more exact. */
const DRAW_NEAR_PX = 10;
/** How many elements are listed with one mark, and with all marks of a drawing together. */
const DRAW_NEAR_MAX = 8;
const DRAW_NEAR_ALL_MAX = 100;
/** How long they are looked for and described: the elements that the marks are about come first. */
const DRAW_NEAR_MS = 1_000;

/**
 * @typedef {{id: number, box: Box}} MarkTarget a mark; without width and height it is a point
 * @typedef {{px: number, each: number, all: number, ms: number}} NearLimits how far from a mark, and how many
 * @typedef {{elements: Record<number, string>, near: Record<number, string[]>, element_details: Record<string, object>}} FoundElements
 *   by the marks' ids: the key of the one that it is about, and those of others in it or close to it
 */

/** The style properties of an element that an agent gets on request. */
const STYLES = `[
  'display', 'position', 'width', 'height', 'margin', 'padding', 'border', 'border-radius', 'color', 'background-color',
  'background-image', 'font-family', 'font-size', 'font-weight', 'line-height', 'text-align', 'opacity', 'visibility',
  'overflow', 'z-index', 'box-shadow', 'cursor']`;

/** The roles of elements without a `role` attribute. */
const ROLES = `{
  a: 'link', article: 'article', aside: 'complementary', button: 'button', dialog: 'dialog', fieldset: 'group', figure: 'figure',
  footer: 'contentinfo', form: 'form', h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading', h5: 'heading', h6: 'heading',
  header: 'banner', hr: 'separator', img: 'img', input: 'textbox', li: 'listitem', main: 'main', meter: 'meter', nav: 'navigation',
  ol: 'list', option: 'option', output: 'status', p: 'paragraph', progress: 'progressbar', select: 'combobox', summary: 'button',
  table: 'table', td: 'cell', textarea: 'textbox', th: 'columnheader', tr: 'row', ul: 'list',
  'input:button': 'button', 'input:checkbox': 'checkbox', 'input:image': 'button', 'input:number': 'spinbutton',
  'input:radio': 'radio', 'input:range': 'slider', 'input:reset': 'button', 'input:search': 'searchbox', 'input:submit': 'button' }`;

export class MarkElements {
  #look;
  #roles;
  #styles;
  #limits;
  /** Elements that are one thing to a person, whatever they are made of. */
  #whole = new Set(['button', 'checkbox', 'combobox', 'img', 'link', 'menuitem', 'option', 'radio', 'searchbox', 'slider', 'spinbutton',
    'switch', 'tab', 'textbox']);
  #media = new Set(['canvas', 'embed', 'object', 'svg', 'video']);
  #named = new Set(['button', 'cell', 'checkbox', 'columnheader', 'combobox', 'gridcell', 'heading', 'img', 'link', 'menuitem', 'option',
    'radio', 'rowheader', 'searchbox', 'slider', 'spinbutton', 'switch', 'tab', 'textbox', 'tooltip', 'treeitem']);
  /** @type {Map<any, string>} */
  #keys = new Map();

  /** @param {Look} look @param {Record<string, string>} roles @param {string[]} styles empty: none are asked for @param {NearLimits} limits */
  constructor(look, roles, styles, limits) {
    this.#look = look;
    this.#roles = roles;
    this.#styles = styles;
    this.#limits = limits;
  }

  /** @param {MarkTarget[]} marks @returns {FoundElements} */
  find(marks) {
    /** @type {Record<number, string>} */
    const elements = {};
    const areas = marks.map(({ id, box }) => {
      const about = this.#about(box);
      if (about) elements[id] = this.#keyOf(about);
      return { id, about, zone: this.#grown(box) };
    });
    /** @type {Record<string, object>} */
    const element_details = {};
    for (const [element, key] of this.#keys) element_details[key] = this.#describe(element);
    return { elements, near: this.#near(areas, element_details), element_details };
  }

  /**
   * What else lies in each mark or close to it, the nearest first.
   * @param {{id: number, about: any, zone: Box}[]} areas @param {Record<string, object>} details gets what is found
   */
  #near(areas, details) {
    const end = performance.now() + this.#limits.ms;
    const most = this.#keys.size + this.#limits.all;
    const candidates = this.#candidates(areas.map(({ zone }) => zone));
    /** @type {Record<number, string[]>} */
    const near = {};
    for (const { id, about, zone } of areas) {
      /** @type {string[]} */
      const keys = [];
      for (const { element, box } of this.#closest(candidates, zone)) {
        if (keys.length >= this.#limits.each || performance.now() > end) break;
        const isNew = !this.#keys.has(element);
        if ((isNew && this.#keys.size >= most) || !this.#isBeside(element, about) || !this.#isSeen(element, box, zone)) continue;
        const key = this.#keyOf(element);
        details[key] ??= this.#describe(element);
        keys.push(key);
      }
      if (keys.length > 0) near[id] = keys;
    }
    return near;
  }

  /** What a person would point at, as far as it touches one of these. @param {Box[]} zones @returns {{element: any, box: Box}[]} */
  #candidates(zones) {
    /** @type {{element: any, box: Box}[]} */
    const candidates = [];
    const visit = (/** @type {any} */ node) => {
      if (node.nodeType !== 1) return true;
      if (node.localName === 'head') return false;
      const isWhole = this.#isWhole(node);
      const isOne = isWhole || this.#media.has(node.localName) || this.#hasText(node);
      const box = isOne ? this.#look.box(node) : null;
      if (box && box.width > 0 && box.height > 0 && zones.some((zone) => this.#touches(box, zone))) candidates.push({ element: node, box });
      return !isWhole && !this.#media.has(node.localName);
    };
    this.#look.renew(0.5);
    this.#look.walk(document, visit, { flat: true });
    return candidates;
  }

  /** @param {any} element */
  #isWhole(element) {
    return this.#whole.has(this.#roleOf(element));
  }

  /** @param {any} element whether words stand in it directly */
  #hasText(element) {
    for (const node of this.#look.childNodes(element)) if (node.nodeType === 3 && /\S/.test(this.#look.head(node.data, 200))) return true;
    return false;
  }

  /** Those that touch a zone: first those in it, then by how far their middles are from its own. @param {{element: any, box: Box}[]} candidates @param {Box} zone */
  #closest(candidates, zone) {
    const rank = (/** @type {{box: Box}} */ { box }) => {
      const across = box.x + box.width / 2 - zone.x - zone.width / 2;
      const down = box.y + box.height / 2 - zone.y - zone.height / 2;
      const isIn = box.x >= zone.x && box.y >= zone.y && box.x + box.width <= zone.x + zone.width && box.y + box.height <= zone.y + zone.height;
      return (isIn ? 0 : 1e6) + Math.sqrt(across * across + down * down);
    };
    const touching = candidates.filter(({ box }) => this.#touches(box, zone));
    return touching.map((one) => ({ ...one, rank: rank(one) })).sort((one, other) => one.rank - other.rank).slice(0, this.#limits.each * 5);
  }

  /** What the mark is about, and what that is in, is not told again, but for the control that it is a part of. @param {any} element @param {any} about */
  #isBeside(element, about) {
    return element !== about && (this.#isWhole(element) || !this.#isIn(about, element));
  }

  /** @param {any} inner @param {any} outer */
  #isIn(inner, outer) {
    for (let element = inner; element; element = this.#outer(element)) if (element === outer) return true;
    return false;
  }

  /** Whether a person sees it there, and nothing that lies over it. @param {any} element @param {Box} box @param {Box} zone */
  #isSeen(element, box, zone) {
    if (this.#look.hiddenBy(element) !== null) return false;
    const left = Math.max(box.x, zone.x, 0);
    const top = Math.max(box.y, zone.y, 0);
    const right = Math.min(box.x + box.width, zone.x + zone.width, innerWidth);
    const bottom = Math.min(box.y + box.height, zone.y + zone.height, innerHeight);
    if (right <= left || bottom <= top) return false;
    const seen = this.#innermost((left + right) / 2, (top + bottom) / 2);
    return this.#isIn(seen, element) || this.#isIn(element, seen);
  }

  /** @param {Box} box @returns {Box} */
  #grown({ x, y, width, height }) {
    const { px } = this.#limits;
    return { x: x - px, y: y - px, width: width + 2 * px, height: height + 2 * px };
  }

  /** @param {Box} one @param {Box} other */
  #touches(one, other) {
    return one.x <= other.x + other.width && other.x <= one.x + one.width && one.y <= other.y + other.height && other.y <= one.y + one.height;
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

const LIMITS = JSON.stringify({ px: DRAW_NEAR_PX, each: DRAW_NEAR_MAX, all: DRAW_NEAR_ALL_MAX, ms: DRAW_NEAR_MS });

/** An expression whose value is a function that takes a `Look`. @param {boolean} styles whether they are asked for */
export const markElementsSource = (styles) => `((look)=>new(${MarkElements})(look,${ROLES},${styles ? STYLES : '[]'},${LIMITS}))`;
