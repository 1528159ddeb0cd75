// @ts-check
// The document as it is: nothing of it through a property that a page can put its own in place of. A classic script
// for the isolated world of content scripts, which shares the document with the page and nothing else.

class PageDom {
  // Forms and documents answer to the names of their own elements before their properties.
  #getters = {
    nodeType: PageDom.#getter(Node, 'nodeType'),
    firstChild: PageDom.#getter(Node, 'firstChild'),
    nextSibling: PageDom.#getter(Node, 'nextSibling'),
    firstElementChild: PageDom.#getter(Element, 'firstElementChild'),
    parentNode: PageDom.#getter(Node, 'parentNode'),
    isConnected: PageDom.#getter(Node, 'isConnected'),
    textContent: PageDom.#getter(Node, 'textContent'),
    assignedSlot: PageDom.#getter(Element, 'assignedSlot'),
    localName: PageDom.#getter(Element, 'localName'),
    shadowRoot: PageDom.#getter(Element, 'shadowRoot'),
    innerHTML: PageDom.#getter(Element, 'innerHTML'),
    outerHTML: PageDom.#getter(Element, 'outerHTML'),
    tabIndex: PageDom.#getter(HTMLElement, 'tabIndex'),
    isContentEditable: PageDom.#getter(HTMLElement, 'isContentEditable'),
    data: PageDom.#getter(CharacterData, 'data'),
    host: PageDom.#getter(ShadowRoot, 'host'),
    activeOfDocument: PageDom.#getter(Document, 'activeElement'),
    activeOfShadow: PageDom.#getter(ShadowRoot, 'activeElement'),
    body: PageDom.#getter(Document, 'body'),
    documentElement: PageDom.#getter(Document, 'documentElement'), contentType: PageDom.#getter(Document, 'contentType'),
    implementation: PageDom.#getter(Document, 'implementation'),
    control: PageDom.#getter(HTMLLabelElement, 'control'),
  };
  #getAttribute = Element.prototype.getAttribute;
  #getAttributeNames = Element.prototype.getAttributeNames;
  #hasAttribute = Element.prototype.hasAttribute;
  #hasAttributes = Element.prototype.hasAttributes;
  #checkVisibility = Element.prototype.checkVisibility;
  #getBoundingClientRect = Element.prototype.getBoundingClientRect;
  #getClientRects = Element.prototype.getClientRects;
  #getRootNode = Node.prototype.getRootNode;
  #matches = Element.prototype.matches;
  #closest = Element.prototype.closest;
  #querySelectorAll = Element.prototype.querySelectorAll;
  #assignedNodes = HTMLSlotElement.prototype.assignedNodes;
  #scrollIntoView = Element.prototype.scrollIntoView;
  #getHTML = /** @type {any} */ (Element.prototype).getHTML;
  #getAnimations = Element.prototype.getAnimations;
  /** Of each document or shadow root, as it is now. @type {Map<any, Map<any, any[]>>} */
  #labels = new Map();
  // To look it up through `chrome` for each element takes longer than the call.
  #openOrClosedShadowRoot = chrome.dom.openOrClosedShadowRoot;
  /** Elements without a hyphen in their names that can have a shadow tree. */
  static #HOSTS = new Set(['article', 'aside', 'blockquote', 'body', 'div', 'footer', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'main', 'nav', 'p', 'section', 'span']);

  /** @param {any} Interface @param {string} name @returns {(node: any) => any} */
  static #getter(Interface, name) {
    const { get } = /** @type {any} */ (Object.getOwnPropertyDescriptor(Interface.prototype, name));
    return (node) => get.call(node);
  }

  /** @param {any} node @returns {boolean} */
  isElement(node) {
    return this.#getters.nodeType(node) === 1;
  }

  /** @param {any} node @returns {number} */
  kind(node) {
    return this.#getters.nodeType(node);
  }

  /** @param {any} element @returns {string} the name of its tag, without a prefix */
  tag(element) {
    return this.#getters.localName(element);
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

  /** @param {any} text a text node @returns {string} */
  data(text) {
    return this.#getters.data(text);
  }

  /** As it is written, its shadow trees as templates. @param {any} element @returns {string} */
  html(element) {
    const shadowRoots = this.roots().slice(1);
    if (shadowRoots.length === 0) return this.#getters.outerHTML(element);
    // In a document without a window nothing of the copy is carried out.
    const shell = this.#getters.outerHTML(this.emptyDocument().importNode(element, false));
    const end = shell.lastIndexOf('</');
    return end < 0 ? shell : shell.slice(0, end) + this.#getHTML.call(element, { shadowRoots }) + shell.slice(end);
  }

  /** @param {any} element @returns {string} its content as it is written, without shadow trees */
  innerHtml(element) {
    return this.#getters.innerHTML(element);
  }

  /** A document without a window: nothing that is put into it is run or loaded. @returns {Document} */
  emptyDocument() {
    return this.#getters.implementation(document).createHTMLDocument();
  }

  /** @param {any} element @param {string} name @returns {string | null} */
  attribute(element, name) {
    return this.#getAttribute.call(element, name);
  }

  /** @param {any} element @returns {string[]} */
  attributeNames(element) {
    return this.#getAttributeNames.call(element);
  }

  /** @param {any} element @param {string} name */
  has(element, name) {
    return this.#hasAttribute.call(element, name);
  }

  /** @param {any} element whether it has any attribute */
  isMarked(element) {
    return this.#hasAttributes.call(element);
  }

  /** @param {any} element @param {string} selector */
  matches(element, selector) {
    return this.#matches.call(element, selector);
  }

  /** @param {any} element @param {string} selector @returns {any} the nearest of it and its ancestors in its document or shadow tree */
  closest(element, selector) {
    return this.#closest.call(element, selector);
  }

  /** @param {any} element */
  tabIndex(element) {
    return element instanceof HTMLElement ? this.#getters.tabIndex(element) : -1;
  }

  /** @param {any} element whether its text is edited in place */
  isEdited(element) {
    return element instanceof HTMLElement && this.#getters.isContentEditable(element);
  }

  /** The labels of a field. The browser's own list is made anew from all of the page for each field. @param {any} field @returns {any[]} */
  labelsOf(field) {
    const root = this.root(field);
    let known = this.#labels.get(root);
    if (!known) {
      known = new Map();
      for (const label of root === document || root instanceof ShadowRoot ? this.select(root, 'label') : []) {
        const control = this.labelled(label);
        if (control) known.set(control, [...known.get(control) ?? [], label]);
      }
      this.#labels.set(root, known);
    }
    return known.get(field) ?? [];
  }

  /** The page may be another one from now on. */
  forget() {
    this.#labels.clear();
  }

  /** @param {any} label @returns {any} the field that it names */
  labelled(label) {
    return label instanceof HTMLLabelElement ? this.#getters.control(label) : null;
  }

  /** @param {any} field @returns {any} null: it is in none */
  formOf(field) {
    const { form } = field;
    return form instanceof HTMLFormElement ? form : this.closest(field, 'form');
  }

  /** @param {any} element @returns {DOMRect} in CSS px of its frame's viewport */
  rect(element) {
    return this.#getBoundingClientRect.call(element);
  }

  /** @param {any} element @returns {DOMRect[]} one a line of an inline element */
  rects(element) {
    return Array.from(this.#getClientRects.call(element));
  }

  /** @param {any} element @param {ScrollLogicalPosition} where */
  scrollTo(element, where) {
    this.#scrollIntoView.call(element, { block: where, inline: where === 'center' ? 'center' : 'nearest', behavior: 'instant' });
  }

  /** @param {any} element */
  focus(element) {
    const { focus } = element instanceof SVGElement ? SVGElement.prototype : HTMLElement.prototype;
    focus.call(element, { preventScroll: true });
  }

  /** @param {any} element whether an animation of its own runs */
  isAnimated(element) {
    return this.#getAnimations.call(element).some(({ playState }) => playState === 'running');
  }

  /** The element that is all of the document. @returns {any} */
  get page() {
    return this.#getters.documentElement(document);
  }

  /** @returns {any} null: there is none yet */
  get body() {
    return this.#getters.body(document);
  }

  /** @param {any} near an element @param {string} id @returns {any} the element with this id in its document or shadow tree */
  byId(near, id) {
    const root = this.root(near);
    if (root === document) return Document.prototype.getElementById.call(document, id);
    return root instanceof ShadowRoot ? DocumentFragment.prototype.getElementById.call(root, id) : null;
  }

  /** The document or shadow root. @param {any} node @returns {any} */
  root(node) {
    return this.#getRootNode.call(node);
  }

  /** Also a closed one. @param {any} element @param {string} [tag] its own, if it is known @returns {any} */
  shadowRoot(element, tag = this.tag(element)) {
    const open = this.#getters.shadowRoot(element);
    if (open) return open;
    // Only elements of HTML can have one; of others the browser throws.
    const mayHave = (PageDom.#HOSTS.has(tag) || tag.includes('-')) && element instanceof HTMLElement;
    return mayHave ? this.#openOrClosedShadowRoot(element) : null;
  }

  /** The nodes shown in an element, in order: of a host its shadow tree, of a slot the nodes assigned to it. @param {any} element @returns {any[]} */
  shownIn(element) {
    /** @type {any[]} */
    const shown = [];
    this.eachShown(element, this.tag(element), (node) => void shown.push(node));
    return shown;
  }

  /** The same without a list of them. @param {any} element @param {string} tag its own @param {(node: any) => void} visit */
  eachShown(element, tag, visit) {
    if (tag === 'slot' && element instanceof HTMLSlotElement) {
      const assigned = this.#assignedNodes.call(element);
      if (assigned.length > 0) return assigned.forEach(visit);
    }
    const { firstChild, nextSibling } = this.#getters;
    for (let child = firstChild(this.shadowRoot(element, tag) ?? element); child;) {
      const next = nextSibling(child);
      visit(child);
      child = next;
    }
  }

  /**
   * All that is shown in an element that holds nothing but text, read at once: an object for each text costs more than
   * the text. @param {any} element @param {string} tag its own @returns {string | null} null: it holds more
   */
  onlyText(element, tag) {
    const { firstElementChild, textContent } = this.#getters;
    return tag === 'slot' || firstElementChild(element) || this.shadowRoot(element, tag) ? null : textContent(element);
  }

  /** @param {any} element @returns {boolean} whether it has elements in it */
  hasElements(element) {
    return this.#getters.firstElementChild(element) !== null;
  }

  /** @param {any} node @returns {any[]} its child nodes */
  children(node) {
    const found = [];
    for (let child = this.#getters.firstChild(node); child; child = this.#getters.nextSibling(child)) found.push(child);
    return found;
  }

  /** The element that a node is shown in: its slot, its host, its parent. @param {any} node @returns {any} */
  shownParent(node) {
    const slot = this.isElement(node) ? this.#getters.assignedSlot(node) : null;
    if (slot) return slot;
    const parent = this.parent(node);
    if (!parent) return null;
    if (this.isElement(parent)) return parent;
    return parent instanceof ShadowRoot ? this.#getters.host(parent) : null;
  }

  /** @param {any} root a shadow root @returns {any} */
  hostOf(root) {
    return this.#getters.host(root);
  }

  /** @param {any} outer an element @param {any} inner @returns {boolean} whether the one is the other, or is shown in it */
  holds(outer, inner) {
    for (let around = inner; around; around = this.shownParent(around)) if (around === outer) return true;
    return false;
  }

  /** @param {any} element @returns {boolean} whether a person sees it once it is scrolled to */
  isVisible(element) {
    if (this.#checkVisibility.call(element, { visibilityProperty: true })) return true;
    const { display, visibility } = getComputedStyle(element);
    if (display !== 'contents' || visibility !== 'visible') return false;
    const parent = this.shownParent(element);
    return parent === null || this.isVisible(parent);
  }

  /** The document and all shadow roots in it. @returns {any[]} */
  roots() {
    /** @type {any[]} */
    const roots = [document];
    for (const root of roots) {
      for (const element of this.select(root, '*')) {
        const shadow = this.shadowRoot(element);
        if (shadow) roots.push(shadow);
      }
    }
    return roots;
  }

  /** @param {any} root a document or shadow root @param {string} selector @returns {any[]} throws a SyntaxError if it is none */
  select(root, selector) {
    const { querySelectorAll } = root === document ? Document.prototype : DocumentFragment.prototype;
    return Array.from(querySelectorAll.call(root, selector));
  }

  /** @param {any} element @param {string} selector @returns {any[]} those in it, in its own document or shadow tree */
  inside(element, selector) {
    return Array.from(this.#querySelectorAll.call(element, selector));
  }

  /** The element that has the focus, in shadow trees too; null: none has. @returns {any} */
  active() {
    let active = this.#getters.activeOfDocument(document);
    if (active === this.body || active === this.page) return null;
    for (let root = active && this.shadowRoot(active); root; root = this.shadowRoot(active)) {
      const inner = this.#getters.activeOfShadow(root);
      if (!inner) break;
      active = inner;
    }
    return active;
  }

  /** The innermost element at a point, in shadow trees too. @param {number} x @param {number} y @returns {any} */
  at(x, y) {
    let found = Document.prototype.elementFromPoint.call(document, x, y);
    for (let root = found && this.shadowRoot(found); root; root = this.shadowRoot(found)) {
      const inner = ShadowRoot.prototype.elementFromPoint.call(root, x, y);
      if (!inner || inner === found || !this.holds(found, inner)) break;
      found = inner;
    }
    return found;
  }

  /** The frames that stand in the document, in shadow trees too. @returns {any[]} */
  frames() {
    const places = window.length;
    if (places === 0) return [];
    const framesIn = (/** @type {any} */ root) => this.select(root, 'iframe, frame, object, embed').filter((frame) => frame.contentWindow);
    const found = framesIn(document);
    return found.length >= places ? found : this.roots().flatMap(framesIn);
  }

  /** The place of a frame among those of its document, by which the worker knows it; -1: it shows nothing. @param {any} frame */
  placeOf(frame) {
    const { contentWindow } = frame;
    for (let place = 0; contentWindow && place < window.length; place += 1) if (window[place] === contentWindow) return place;
    return -1;
  }

  /** The browser's own viewer shows it, beside the document, which is empty. */
  get isPdf() {
    return this.#getters.contentType(document) === 'application/pdf';
  }

  /** The place of this document among the frames of the one around it; -1: it is the page itself. */
  ownPlace() {
    for (let place = 0; window !== parent && place < parent.length; place += 1) if (parent[place] === window) return place;
    return -1;
  }
}
