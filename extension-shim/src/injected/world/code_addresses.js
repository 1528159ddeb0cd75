// @ts-check
// Code in the addresses of a document's links and forms: whether an act runs it. A classic script.

class CodeAddresses {
  static #ADDRESSES = /** @type {Record<string, string[]>} */ ({ a: ['href', 'xlink:href'], area: ['href'], button: ['formaction'], input: ['formaction'], form: ['action'] });
  static #FIELDS = new Set(['button', 'input', 'select', 'textarea', 'output', 'fieldset', 'object']);
  #dom;

  /** @param {PageDom} dom */
  constructor(dom) {
    this.#dom = dom;
  }

  /** Whether a press of an element, Enter in it, or the sending of its form runs the code in an address. @param {any} element null: nothing is there */
  runs(element) {
    const pressed = element ? [element] : [];
    const seen = new Set();
    // It grows by what is pressed with what it has.
    for (const one of pressed) {
      for (let around = one; around && !seen.has(around); around = this.#dom.shownParent(around)) {
        seen.add(around);
        if (this.#isCode(around)) return true;
        pressed.push(...this.#pressedWith(around));
      }
    }
    return false;
  }

  /** Whether a press of the key that an element names as its own does. */
  runsByKey() {
    return this.#dom.roots().some((root) => this.#dom.select(root, '[accesskey]').some((element) => this.runs(element)));
  }

  /** What the browser presses with an element: the field of a label, the form of a field and the buttons that send it. @param {any} element @returns {any[]} */
  #pressedWith(element) {
    const tag = this.#dom.tag(element);
    if (tag === 'label') return [this.#dom.labelled(element)].filter(Boolean);
    const form = CodeAddresses.#FIELDS.has(tag) ? this.#dom.formOf(element) : null;
    if (!form) return [];
    const senders = this.#dom.select(this.#dom.root(form), 'button, input[type=submit i], input[type=image i]');
    return [form, ...senders.filter((one) => this.#dom.formOf(one) === form)];
  }

  /** @param {any} element */
  #isCode(element) {
    const names = CodeAddresses.#ADDRESSES[this.#dom.tag(element)] ?? [];
    const addresses = names.map((name) => this.#dom.attribute(element, name) ?? '');
    // An animation gives a link another address than its attribute has.
    if (element instanceof SVGAElement) addresses.push(element.href.animVal);
    return addresses.some((address) => CodeAddresses.#runsIn(address));
  }

  /** As the URL parser reads it. @param {string} address */
  static #runsIn(address) {
    return /^[\0- ]*javascript:/i.test(address.replace(/[\t\n\r]/g, ''));
  }
}
