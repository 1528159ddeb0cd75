// The scripts' eyes: these functions run in the page and change nothing there. They say where a person would see things.

const EYES = {
  /** @param {string} selector @param {ParentNode} [root] @returns {HTMLElement[]} */
  all(selector, root = document) {
    return [...root.querySelectorAll(selector)];
  },
  /** @param {string} selector @returns {HTMLElement[]} */
  visible(selector) {
    return this.all(selector).filter((element) => this.seen(element));
  },
  /** @param {Element} element */
  seen(element) {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && height > 0 && element.checkVisibility({ visibilityProperty: true });
  },
  /** @param {Element | string} element */
  text(element) {
    const found = typeof element === 'string' ? document.querySelector(element) : element;
    return (found?.textContent ?? '').replace(/\s+/g, ' ').trim();
  },
  /** A CSS selector of this element alone. @param {Element} element */
  path(element) {
    const steps = [];
    for (let at = element; at !== document.documentElement; at = at.parentElement) {
      const named = /^[a-z][\w-]*$/i.test(at.id) && document.querySelectorAll(`#${at.id}`).length === 1;
      if (named) return [`#${at.id}`, ...steps].join(' > ');
      steps.unshift(`${at.localName}:nth-child(${[...at.parentElement.children].indexOf(at) + 1})`);
    }
    return steps.join(' > ');
  },
  /** @param {Element | Range} shape @returns {[number, number]} */
  center(shape) {
    const { left, top, width, height } = shape.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  },
  /** Where a text begins and ends, to drag over. @param {Node} node @param {number} from @param {number} to */
  ends(node, from, to) {
    const edge = (start, side) => {
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, start + 1);
      const boxes = range.getClientRects();
      const box = side === 'left' ? boxes[0] : boxes[boxes.length - 1];
      return [box[side], box.top + box.height / 2];
    };
    return [edge(from, 'left'), edge(to - 1, 'right')];
  },
};

const SOURCE = `{ ${Object.values(EYES).map(String).join(',\n')} }`;

/** The script that calls a function in the page with the eyes and these values. @param {Function} look @param {unknown[]} values */
export function lookingScript(look, values) {
  return `return await (${look})(${[SOURCE, ...values.map((value) => JSON.stringify(value))].join(', ')})`;
}
