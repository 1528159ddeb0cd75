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

  /**
   * @typedef {object} LastingWords
   * @property {[string, TargetQuery][]} ways targets with their meaning, the best first; whether each fits the element alone is not known
   * @property {boolean} isSecret
   * @property {string} called
   * @property {string} kind
   *
   * @param {any} element @returns {LastingWords}
   */
  of(element) {
    const tag = this.#dom.tag(element);
    const isField = LastingNames.#FIELDS.has(tag);
    const role = this.#accessible.role(element);
    const name = this.#words.line(this.#tree.name(element));
    /** @param {string | null} words @param {(quoted: string, words: string) => [string, TargetQuery]} way @returns {[string, TargetQuery][]} */
    const by = (words, way) => (words && words.length <= LastingNames.#MOST ? [way(JSON.stringify(words), words)] : []);
    const byRole = LastingNames.#NO_ROLES.has(role) ? [] : by(name, (quoted) => [`role=${role}[name=${quoted}s]`, { role, name, exact: true }]);
    const byLabel = isField ? by(name, (quoted) => [`label=${quoted}`, { label: name, exact: true }]) : [];
    // A field for passwords has no role for other tools.
    const isSecret = this.#accessible.isSecret(element);
    // The text in a field is what somebody has entered.
    const text = isField || this.#dom.isEdited(element) || this.#dom.hasElements(element) ? null : this.#words.line(this.#dom.textOf(element));
    const css = this.#selector(element);
    return {
      ways: [
        ...(isSecret ? byLabel : byRole), ...(isSecret ? byRole : byLabel),
        ...by(this.#dom.attribute(element, 'data-testid'), (quoted, testid) => [`testid=${quoted}`, { testid }]),
        ...by(this.#dom.attribute(element, 'placeholder'), (quoted, placeholder) => [`placeholder=${quoted}`, { placeholder, exact: true }]),
        ...by(text, (quoted, words) => [`text=${quoted}`, { text: words, exact: true }]), [`css=${css}`, { css }],
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
