// @ts-check
// The document as it is: nothing of it through a property that a page can put its own in place of. A classic script
// for the isolated world of content scripts, which shares the document with the page and nothing else.

class PageDom {
  // Forms and documents answer to the names of their own elements before their properties.
  #getters = {
    firstChild: PageDom.#getter(Node, 'firstChild'),
    nextSibling: PageDom.#getter(Node, 'nextSibling'),
    parentNode: PageDom.#getter(Node, 'parentNode'),
    isConnected: PageDom.#getter(Node, 'isConnected'),
    textContent: PageDom.#getter(Node, 'textContent'),
    assignedSlot: PageDom.#getter(Element, 'assignedSlot'),
  };
  #getAttribute = Element.prototype.getAttribute;
  #hasAttribute = Element.prototype.hasAttribute;
  #checkVisibility = Element.prototype.checkVisibility;
  #getBoundingClientRect = Element.prototype.getBoundingClientRect;
  #getRootNode = Node.prototype.getRootNode;
  #matches = Element.prototype.matches;
  #assignedNodes = HTMLSlotElement.prototype.assignedNodes;

  /** @param {any} Interface @param {string} name @returns {(node: any) => any} */
  static #getter(Interface, name) {
    const { get } = /** @type {any} */ (Object.getOwnPropertyDescriptor(Interface.prototype, name));
    return (node) => get.call(node);
  }

  /** @param {any} node @returns {any} */
  parent(node) {
    return this.#getters.parentNode(node);
  }

  /** @param {any} node @returns {boolean} */
  isThere(node) {
    return this.#getters.isConnected(node);
  }

  /** @param {any} node @returns {string} */
  textOf(node) {
    return this.#getters.textContent(node) ?? '';
  }

  /** @param {any} element @param {string} name @returns {string | null} */
  attribute(element, name) {
    return this.#getAttribute.call(element, name);
  }

  /** @param {any} element @param {string} name */
  has(element, name) {
    return this.#hasAttribute.call(element, name);
  }

  /** @param {any} element @param {string} selector */
  matches(element, selector) {
    return this.#matches.call(element, selector);
  }

  /** @param {any} element @returns {DOMRect} in CSS px of its frame's viewport */
  rect(element) {
    return this.#getBoundingClientRect.call(element);
  }

  /** The document or shadow root. @param {any} node @returns {any} */
  root(node) {
    return this.#getRootNode.call(node);
  }

  /** Also a closed one. @param {any} element @returns {any} */
  shadowRoot(element) {
    // Only elements of HTML can have one; of others the browser throws.
    return element instanceof HTMLElement ? chrome.dom.openOrClosedShadowRoot(element) : null;
  }

  /** What is shown in a node, in order: of a host its shadow tree, of a slot what stands in it. @param {any} node @returns {any[]} */
  shownIn(node) {
    if (node.nodeType === 1) {
      if (node.localName === 'slot') {
        const assigned = this.#assignedNodes.call(node);
        if (assigned.length > 0) return assigned;
      }
      const shadow = this.shadowRoot(node);
      if (shadow) return this.children(shadow);
    }
    return this.children(node);
  }

  /** @param {any} node @returns {any[]} its child nodes */
  children(node) {
    const found = [];
    for (let child = this.#getters.firstChild(node); child; child = this.#getters.nextSibling(child)) found.push(child);
    return found;
  }

  /** The element that a node is shown in: its slot, its host, its parent. @param {any} node @returns {any} */
  shownParent(node) {
    const slot = node.nodeType === 1 ? this.#getters.assignedSlot(node) : null;
    if (slot) return slot;
    const parent = this.parent(node);
    return parent?.nodeType === 11 ? parent.host ?? null : parent?.nodeType === 1 ? parent : null;
  }

  /**
   * Visits all elements below a node, those in shadow roots too, in the order of the document.
   * @param {any} start @param {(element: any) => boolean | void} visit false: nothing below it
   */
  walk(start, visit) {
    const stack = this.#elementsIn(start).reverse();
    for (let element = stack.pop(); element; element = stack.pop()) {
      if (visit(element) === false) continue;
      const below = this.#elementsIn(element);
      for (let i = below.length - 1; i >= 0; i -= 1) stack.push(below[i]);
    }
  }

  /** @param {any} node */
  #elementsIn(node) {
    const shadow = node.nodeType === 1 ? this.shadowRoot(node) : null;
    const all = shadow ? [...this.children(shadow), ...this.children(node)] : this.children(node);
    return all.filter(({ nodeType }) => nodeType === 1);
  }

  /** @param {any} element @returns {boolean} whether it has a box, hidden or not */
  hasBox(element) {
    return this.#checkVisibility.call(element) || getComputedStyle(element).display === 'contents';
  }

  /** @param {any} element @returns {boolean} whether a person sees it once it is scrolled to */
  isVisible(element) {
    if (this.#checkVisibility.call(element, { visibilityProperty: true })) return true;
    const { display, visibility } = getComputedStyle(element);
    if (display !== 'contents' || visibility !== 'visible') return false;
    const parent = this.shownParent(element);
    return parent === null || this.isVisible(parent);
  }
}
