// @ts-check
// The elements that match a selector. Runs beside the page, like `Look`.

/** @import {Look} from './look.js' */

/** How much an answer has of one element. */
const ABOUT = `{ text: 300, attributes: 30, value: 200 }`;

export class Matches {
  #look;
  #about;

  /** @param {Look} look @param {{text: number, attributes: number, value: number}} about */
  constructor(look, about) {
    this.#look = look;
    this.#about = about;
  }

  /** @param {string} selector @param {number} limit @returns {object} `wrong`: what is wrong with the selector */
  find(selector, limit) {
    try {
      document.createDocumentFragment().querySelector(selector);
    } catch {
      return { wrong: true };
    }
    let count = 0;
    /** @type {any[]} */
    const first = [];
    this.#look.walk(document.documentElement, (node) => {
      if (node.nodeType !== 1 || !this.#look.matches(node, selector)) return;
      count += 1;
      if (first.length < limit) first.push(node);
    });
    const complete = !this.#look.full;
    this.#look.renew();
    const matches = first.map((element) => this.describe(element));
    return { url: location.href, count, shown: matches.length, ...(!complete && { more_not_counted: true }), matches };
  }

  /** @param {any} element */
  describe(element) {
    const look = this.#look;
    const within = look.within(element);
    const hidden = look.hiddenBy(element);
    const box = look.box(element);
    const isField = ['input', 'select', 'textarea'].includes(element.localName);
    const text = hidden === 'display' ? this.#raw(element) : look.line(element, this.#about.text);
    return {
      tag: element.localName,
      selector: look.selector(element),
      ...(within.length > 0 && { within }),
      ...(text && !this.#isSecretText(element) && { text }),
      attributes: this.#attributes(element),
      ...(isField && look.entered(element)),
      ...(look.matches(element, ':disabled') && { disabled: true }),
      visible: hidden === null,
      ...(hidden ? { hidden_by: hidden } : { in_view: look.isInView(box) }),
      ...(hidden !== 'display' && { box }),
      ...(element.childElementCount > 0 && { children: element.childElementCount }),
    };
  }

  /** What is typed into it is its text. @param {any} element */
  #isSecretText(element) {
    return (element.isContentEditable || element.localName === 'textarea') && this.#look.isSecret(element);
  }

  /** The text of what is not shown, as it stands in the source. @param {any} element */
  #raw(element) {
    const look = this.#look;
    return look.cut(look.head(look.textContent(element) ?? '', 5000).replace(/\s+/g, ' ').trim(), this.#about.text);
  }

  /** @param {any} element */
  #attributes(element) {
    const all = this.#look.attributes(element);
    const told = Object.create(null);
    for (let i = 0; i < Math.min(all.length, this.#about.attributes); i += 1) {
      const { name, value } = all[i];
      const secret = name === 'value' && this.#look.isSecret(element);
      told[name] = secret ? '(not shown)' : this.#look.cut(value, this.#about.value);
    }
    return told;
  }
}

/** An expression whose value is a function that takes a `Look`. */
export const matchesSource = () => `((look)=>new(${Matches})(look,${ABOUT}))`;
