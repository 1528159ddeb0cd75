// @ts-check
// The names by which agents call elements. A name is an element's for as long as the element lives. A classic script.

class RefTable {
  /** @type {Map<number, {element: WeakRef<object>, role: string, name: string}>} */
  #byNumber = new Map();
  /** @type {WeakMap<object, number>} */
  #numbers = new WeakMap();
  #prefix;
  #next;

  /** @param {string} prefix the tab's @param {number} first the number of the first name in this document */
  constructor(prefix, first) {
    this.#prefix = prefix;
    this.#next = first;
  }

  /** The number that the next name would have. */
  get next() {
    return this.#next;
  }

  /** @param {object} element @param {string} role @param {string} name as they are now @returns {string} */
  of(element, role, name) {
    let number = this.#numbers.get(element);
    if (number === undefined) {
      number = this.#next;
      this.#next += 1;
      this.#numbers.set(element, number);
      this.#byNumber.set(number, { element: new WeakRef(element), role, name });
    } else {
      const known = this.#byNumber.get(number);
      if (known) Object.assign(known, { role, name });
    }
    return this.#prefix + number;
  }

  /** @param {number} number @returns {{element: any, role: string, name: string} | undefined} `element` is undefined once it is gone */
  find(number) {
    const known = this.#byNumber.get(number);
    return known && { element: known.element.deref(), role: known.role, name: known.name };
  }
}
