// @ts-check
// Ways to name an element that outlive its document: the words that a person would use first, a selector last. A
// classic script.

class LastingNames {
  /** The longest words of a name. */
  static #MOST = 120;
  /** Roles of snapshots that the standard does not have, and those that say nothing. */
  static #NO_ROLES = new Set(['generic', 'none', 'presentation', 'clickable', 'date', 'time', 'datetime-local', 'month', 'week', 'file', 'color', 'summary']);
  static #FIELDS = new Set(['input', 'select', 'textarea']);
  #dom;
  #accessible;
  #tree;
  #words;

  /** @param {PageDom} dom @param {Accessible} accessible @param {AccessibleTree} tree @param {PageWords} words */
  constructor(dom, accessible, tree, words) {
    this.#dom = dom;
    this.#accessible = accessible;
    this.#tree = tree;
    this.#words = words;
  }

  /** @param {any} element @returns {{names: string[], isSecret: boolean, called: string, kind: string}} `names`: as targets, the best first; whether each fits it alone is not known */
  of(element) {
    const tag = this.#dom.tag(element);
    const isField = LastingNames.#FIELDS.has(tag);
    const role = this.#accessible.role(element);
    const name = this.#words.line(this.#tree.name(element));
    const quoted = (/** @type {string | null} */ words) => (words && words.length <= LastingNames.#MOST ? JSON.stringify(words) : null);
    const byRole = !LastingNames.#NO_ROLES.has(role) && quoted(name) ? [`role=${role}[name=${quoted(name)}s]`] : [];
    const byLabel = isField && quoted(name) ? [`label=${quoted(name)}`] : [];
    const of = (/** @type {string} */ kind, /** @type {string | null} */ words) => (quoted(words) ? [`${kind}=${quoted(words)}`] : []);
    // A field for passwords has no role for other tools.
    const isSecret = this.#accessible.isSecret(element);
    const text = isField || this.#dom.hasElements(element) ? null : this.#words.line(this.#dom.textOf(element));
    return {
      names: [
        ...(isSecret ? byLabel : byRole), ...(isSecret ? byRole : byLabel), ...of('testid', this.#dom.attribute(element, 'data-testid')),
        ...of('placeholder', this.#dom.attribute(element, 'placeholder')), ...of('text', text), `css=${this.#selector(element)}`,
      ],
      isSecret, called: name || String(this.#dom.attribute(element, 'name') ?? this.#dom.attribute(element, 'id') ?? ''), kind: this.#kind(element, tag),
    };
  }

  /** @param {any} element @param {string} tag @returns {string} as fields of `fill_form` are called */
  #kind(element, tag) {
    if (tag === 'select') return 'combobox';
    const type = tag === 'input' ? String(element.type) : '';
    return type === 'checkbox' || type === 'radio' ? type : 'textbox';
  }

  /** @param {any} element @returns {string} from the nearest element with an id that looks like a person's */
  #selector(element) {
    /** @type {string[]} */
    const parts = [];
    for (let at = element; at && this.#dom.isElement(at); at = this.#dom.parent(at)) {
      const id = this.#dom.attribute(at, 'id');
      if (id && /^[A-Za-z][\w-]*$/.test(id) && !/\d{3}/.test(id)) return [`#${id}`, ...parts].join(' > ');
      parts.unshift(this.#step(at));
      if (parts.length > 12) break;
    }
    return parts.join(' > ');
  }

  /** @param {any} element */
  #step(element) {
    const tag = this.#dom.tag(element);
    const parent = this.#dom.parent(element);
    if (!parent || tag === 'html' || tag === 'body') return tag;
    const alike = this.#dom.children(parent).filter((/** @type {any} */ one) => this.#dom.isElement(one) && this.#dom.tag(one) === tag);
    return alike.length === 1 ? tag : `${tag}:nth-of-type(${alike.indexOf(element) + 1})`;
  }
}
