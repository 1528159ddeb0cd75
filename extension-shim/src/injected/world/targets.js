// @ts-check
// Finds the elements that an agent names: by ref, by selector, or by how a person would call them. A classic script.

/**
 * @typedef {object} TargetQuery all that is given must be true of an element
 * @property {number} [id] of an element that agents were told of
 * @property {string} [css] a selector
 * @property {[string, string][]} [splits] the selector in two parts: for a host, and for an element in its shadow tree
 * @property {string} [text] in its text
 * @property {string} [role]
 * @property {string} [name] in its accessible name
 * @property {string} [label] in the label of a field
 * @property {string} [placeholder]
 * @property {string} [testid] the whole value of `data-testid`
 * @property {boolean} [exact] texts are compared whole and with their case
 *
 * @typedef {object} TargetMatch an element as agents are told of it
 * @property {number} id
 * @property {string} role
 * @property {string} name or the beginning of its text, if it has none
 * @property {string} more its states and its value, as in a snapshot
 * @property {boolean} isVisible
 * @property {boolean} isExact the texts of the query are all that it says
 */

class TargetFinder {
  static #UNREAD = new Set(['script', 'style', 'template', 'noscript', 'head', 'title']);
  static #FIELD = 'input, select, textarea, button, meter, output, progress, [role], [contenteditable], [aria-label], [aria-labelledby]';
  /** Roles of the standard that a snapshot divides into several. @type {Record<string, string[]>} */
  static #WIDER = { textbox: ['date', 'time', 'datetime-local', 'month', 'week'], button: ['file', 'color', 'summary'] };
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

  /** @param {TargetQuery} query @returns {any[]} in the order of the document; throws a SyntaxError if the selector is none */
  all(query) {
    if (query.id !== undefined) {
      const element = this.#refs.find(query.id)?.element;
      return element && this.#dom.isThere(element) ? [element] : [];
    }
    const roots = this.#dom.roots();
    return this.#candidates(query, roots).filter((element) => this.#fits(element, query));
  }

  /** @param {TargetQuery} query @param {number} most @returns {{total: number, matches: TargetMatch[]}} */
  matches(query, most) {
    const found = this.all(query);
    return { total: found.length, matches: found.slice(0, most).map((element) => this.describe(element, query)) };
  }

  /** Those that may fit, by the narrowest part of the query. @param {TargetQuery} query @param {any[]} roots @returns {any[]} */
  #candidates({ css, splits = [], testid, placeholder, label, text, role }, roots) {
    const selected = (/** @type {string} */ selector) => roots.flatMap((root) => this.#dom.select(root, selector));
    if (css !== undefined) return this.#pierced(selected(css), splits, roots);
    if (testid !== undefined) return selected(`[data-testid=${CSS.escape(testid)}]`);
    if (placeholder !== undefined) return selected('[placeholder]');
    if (label !== undefined) return selected(TargetFinder.#FIELD);
    if (text !== undefined && role === undefined) return this.#saying(text, roots, selected);
    return selected('*').filter((element) => !TargetFinder.#UNREAD.has(this.#dom.tag(element)));
  }

  /** If a selector finds nothing in one tree, its beginning may be for a host. @param {any[]} found @param {[string, string][]} splits @param {any[]} roots */
  #pierced(found, splits, roots) {
    for (const [outer, inner] of found.length > 0 ? [] : splits) {
      const hosts = roots.flatMap((root) => this.#dom.select(root, outer));
      const inside = roots.slice(1).filter((root) => hosts.some((host) => this.#dom.holds(host, this.#dom.hostOf(root))));
      const pierced = inside.flatMap((root) => this.#dom.select(root, inner));
      if (pierced.length > 0) return pierced;
    }
    return found;
  }

  /** The innermost elements that say a text; if none does, those that are called by it. @param {string} text @param {any[]} roots @param {(selector: string) => any[]} selected */
  #saying(text, roots, selected) {
    const wanted = this.#words.line(text);
    /** @type {any[]} */
    const found = [];
    const says = (/** @type {string} */ said) => this.#words.says(this.#words.line(said), wanted, false);
    const search = (/** @type {any} */ node) => {
      let isInside = false;
      for (const child of this.#dom.children(node)) {
        if (!this.#dom.isElement(child) || TargetFinder.#UNREAD.has(this.#dom.tag(child)) || !says(this.#dom.textOf(child))) continue;
        if (search(child)) isInside = true;
        else if (says(this.#read(child))) {
          found.push(child);
          isInside = true;
        }
      }
      return isInside;
    };
    for (const root of roots) search(root);
    const buttons = selected('input').filter((input) => ['submit', 'button', 'reset'].includes(input.type) && says(this.#tree.name(input, 'button')));
    const all = [...found, ...buttons];
    return all.length > 0 ? all : selected('[aria-label], [aria-labelledby], [title], [alt], [placeholder]').filter((element) => says(this.#tree.name(element)));
  }

  /** The text of an element, without its scripts. @param {any} element @param {number} [most] enough of it @returns {string} */
  #read(element, most = Infinity) {
    let text = '';
    for (const child of this.#dom.children(element)) {
      if (text.length >= most) break;
      if (this.#dom.kind(child) === 3) text += this.#dom.data(child);
      else if (this.#dom.isElement(child) && !TargetFinder.#UNREAD.has(this.#dom.tag(child))) text += this.#read(child, most - text.length);
    }
    return text;
  }

  /** @param {any} element @param {TargetQuery} query */
  #fits(element, { text, role, name, label, placeholder, testid, exact = false }) {
    const says = (/** @type {string} */ said, /** @type {string} */ wanted) => this.#words.says(this.#words.line(said), this.#words.line(wanted), exact);
    const of = (/** @type {string} */ attribute) => this.#dom.attribute(element, attribute);
    if (testid !== undefined && of('data-testid') !== testid) return false;
    if (placeholder !== undefined && !says(of('placeholder') ?? '', placeholder)) return false;
    if (role !== undefined && !(this.#hasRole(element, role) && this.#isTold(element))) return false;
    if (text !== undefined && (role !== undefined || exact) && !says(this.#textOf(element), text)) return false;
    if (label !== undefined && !says(this.#tree.name(element), label)) return false;
    return name === undefined || says(this.#tree.name(element), name);
  }

  /** @param {any} element @param {string} wanted */
  #hasRole(element, wanted) {
    const role = wanted === 'clickable' ? this.#tree.role(element) : this.#accessible.role(element);
    return role === wanted || (TargetFinder.#WIDER[wanted] ?? []).includes(role);
  }

  /** Whether assistive technology is told of it. @param {any} element */
  #isTold(element) {
    return this.#dom.closest(element, '[aria-hidden=true], [inert]') === null;
  }

  /** @param {any} element */
  #textOf(element) {
    const isButton = this.#dom.tag(element) === 'input' && ['submit', 'button', 'reset'].includes(element.type);
    return isButton ? this.#tree.name(element, 'button') : this.#read(element);
  }

  /** @param {any} element @param {TargetQuery} [query] that it fits @returns {TargetMatch} */
  describe(element, query = {}) {
    const role = this.#tree.role(element);
    const ownName = this.#tree.name(element, role);
    const isPlain = role === 'generic' || role === 'none';
    const isPage = ['html', 'body'].includes(this.#dom.tag(element));
    // A container is known by the beginning of its text: answers of acts name many.
    const most = this.#dom.hasElements(element) ? 24 : 60;
    const name = ownName || (isPage ? '' : this.#words.shown(this.#read(element, 300), most));
    const value = this.#accessible.value(element, role);
    const states = this.#accessible.states(this.#tree.stated(element), role).map((state) => ` ${state}`).join('');
    return {
      id: this.#refs.of(element, isPlain ? this.#dom.tag(element) : role, name), role: isPlain ? this.#dom.tag(element) : role, name,
      more: states + (value === undefined ? '' : `: ${value}`), isVisible: this.#dom.isVisible(element), isExact: this.#isExact(element, ownName, query),
    };
  }

  /** @param {any} element @param {string} ownName @param {TargetQuery} query */
  #isExact(element, ownName, { text, name, label, placeholder }) {
    const wanted = [[text, () => this.#textOf(element)], [name, () => ownName], [label, () => ownName], [placeholder, () => this.#dom.attribute(element, 'placeholder') ?? '']];
    return wanted.every(([words, said]) => words === undefined || this.#words.line(/** @type {() => string} */ (said)()) === this.#words.line(/** @type {string} */ (words)));
  }

  /**
   * The elements that come nearest to one that is not there.
   * @param {{role?: string, name?: string}} lost @param {number} most @returns {(TargetMatch & {likeness: number})[]}
   */
  nearest({ role, name = '' }, most) {
    const isSame = (/** @type {string} */ is) => is === role || (TargetFinder.#WIDER[role ?? ''] ?? []).includes(is);
    const pairs = this.#words.pairs(name);
    const words = this.#wordsOf(name);
    /** @type {{element: any, likeness: number}[]} */
    const rated = [];
    for (const element of this.#dom.roots().flatMap((root) => this.#dom.select(root, '*'))) {
      const is = this.#accessible.role(element);
      if (!isSame(is) && !Accessible.INTERACTIVE.has(is)) continue;
      if (rated.length >= 2_000 || !this.#dom.isVisible(element)) continue;
      const said = this.#tree.name(element, is);
      const likeness = Math.max(this.#words.likeness(pairs, this.#words.pairs(said)), this.#words.likeness(words, this.#wordsOf(said))) + (isSame(is) ? 0.3 : 0);
      if (likeness >= (name ? 0.4 : 0.3)) rated.push({ element, likeness });
    }
    return rated.sort((a, b) => b.likeness - a.likeness).slice(0, most).map(({ element, likeness }) => ({ ...this.describe(element), likeness }));
  }

  /** @param {string} text @returns {string[]} */
  #wordsOf(text) {
    return text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 2);
  }
}
