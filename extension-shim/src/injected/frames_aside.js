// @ts-check
// Runs in the isolated world of a document: navigates the frames of other extensions aside, keeps those aside that
// appear meanwhile, and navigates them back. The elements stay as they are, so that the page sees no change, and so that
// an extension which watches its element sees none either.

/**
 * @typedef {object} AsideOrder
 * @property {'aside' | 'back' | 'keep' | 'look'} what `keep`: for longer; `look`: nothing is changed
 * @property {string} own our id
 * @property {string[]} [addresses] of the frames of this document that have no `src`, in the order of their elements
 * @property {number} keepMs after that they come back, whatever has become of the worker
 * @property {number} most as many are set aside within `withinMs`: an extension that puts its frame back each time is let be
 * @property {number} withinMs
 *
 * @typedef {{addresses: string[], unnamed: number}} AsideAnswer of the frames that are aside, or that a look has found;
 *   `unnamed`: frames without `src` that may be another extension's
 *
 * Sent to pages as text: it uses nothing but its argument.
 * @param {AsideOrder} order @returns {AsideAnswer}
 */
export function framesAside(order) {
  const KEY = 'tabwireFramesAside';
  // Empty, and of nobody: the page cannot read it, as it could `about:blank`, and messages for the frame reach nothing.
  const EMPTY = 'data:text/html,';
  if (!Object.hasOwn(globalThis, KEY)) {
    if (order.what === 'look') return keeper()(order);
    if (order.what !== 'aside') return { addresses: [], unnamed: 0 };
    Object.defineProperty(globalThis, KEY, { value: keeper() });
  }
  return /** @type {any} */ (globalThis)[KEY](order);

  function keeper() {
    /** Each with its address. @type {Map<any, string>} */
    const kept = new Map();
    /** @type {Set<Node>} */
    const roots = new Set();
    /** @type {number[]} */
    let times = [];
    /** @type {any} */
    let timer;
    let { own, most, withinMs } = order;
    /** @type {MutationObserver | null} */
    let guard = null;

    const isFrame = (/** @type {any} */ element) => ['iframe', 'frame', 'object'].includes(element.localName);
    const sourceOf = (/** @type {any} */ element) => String((element.localName === 'object' ? element.data : element.src) ?? '');
    const isForeign = (/** @type {string} */ address) => address.startsWith('chrome-extension://') && !address.startsWith(`chrome-extension://${own}/`);
    const isUnnamed = (/** @type {any} */ element) => isFrame(element) && !kept.has(element) && element.contentWindow && element.contentDocument === null
      && ['', 'about:blank'].includes(sourceOf(element)) && !element.hasAttribute('srcdoc');
    const shadowOf = (/** @type {any} */ element) => {
      try {
        return chrome.dom.openOrClosedShadowRoot(element);
      } catch {
        return null;
      }
    };

    /** @param {any} element @param {string} address */
    const setAside = (element, address) => {
      const now = Date.now();
      times = [...times.filter((at) => now - at < withinMs), now];
      if (times.length > most) return guard?.disconnect();
      kept.set(element, address);
      element.contentWindow?.location.replace(EMPTY);
    };

    /** @param {any} root @param {(element: any) => void} each it and all in it */
    const walk = (root, each) => {
      if (root.nodeType === 1) each(root);
      const elements = Document.prototype.createTreeWalker.call(document, root, NodeFilter.SHOW_ELEMENT);
      while (elements.nextNode()) each(elements.currentNode);
    };

    /** @param {any} root */
    const look = (root) => walk(root, (element) => {
      if (isFrame(element) && isForeign(sourceOf(element))) setAside(element, sourceOf(element));
      const shadow = shadowOf(element);
      if (shadow && !roots.has(shadow)) enter(shadow);
    });

    /** @param {Node} root of a document or of a shadow tree */
    function enter(root) {
      roots.add(root);
      guard?.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ['src', 'data'] });
      look(root);
    }

    const back = () => {
      clearTimeout(timer);
      guard?.disconnect();
      guard = null;
      roots.clear();
      times = [];
      for (const [element, address] of kept) {
        // One that its extension has sent elsewhere, or has taken away, is none of ours any more.
        const source = sourceOf(element);
        if (element.isConnected && (['', 'about:blank'].includes(source) || source === address)) element.contentWindow?.location.replace(address);
      }
      kept.clear();
    };

    const seen = () => {
      /** @type {AsideAnswer} */
      const found = { addresses: [], unnamed: 0 };
      const count = (/** @type {any} */ root) => walk(root, (element) => {
        if (isFrame(element) && !kept.has(element) && isForeign(sourceOf(element))) found.addresses.push(sourceOf(element));
        if (isUnnamed(element)) found.unnamed += 1;
        const shadow = shadowOf(element);
        if (shadow) count(shadow);
      });
      count(document);
      return found;
    };

    return (/** @type {AsideOrder} */ { what, addresses = [], keepMs, ...now }) => {
      ({ own, most, withinMs } = now);
      if (what === 'look') return seen();
      if (what === 'back') {
        const addresses = [...kept.values()];
        back();
        return { addresses, unnamed: 0 };
      }
      clearTimeout(timer);
      timer = setTimeout(back, keepMs);
      if (what === 'keep') return { addresses: [...kept.values()], unnamed: 0 };
      guard?.disconnect();
      guard = new MutationObserver((changes) => {
        for (const { addedNodes, target, type } of changes) for (const node of type === 'attributes' ? [target] : addedNodes) look(node);
      });
      roots.clear();
      // Its extension may have navigated one again.
      for (const [element, address] of [...kept]) if (!isForeign(sourceOf(element))) setAside(element, address);
      enter(document);
      /** @type {any[]} */
      const unnamed = [];
      for (const root of roots) walk(root, (element) => { if (isUnnamed(element)) unnamed.push(element); });
      // Where it cannot be told which of them it is, none is touched.
      if (addresses.length > 0 && addresses.length === unnamed.length) for (const [at, element] of unnamed.entries()) setAside(element, addresses[at]);
      return { addresses: [...kept.values()], unnamed: unnamed.length };
    };
  }
}

/**
 * Whether the person is typing here: the document has the keyboard, and they have just used it, or the frame of another
 * extension has the focus. Sent to pages as text.
 * @param {string} own our id @param {boolean} isOurs what was used a moment ago was used by us @returns {boolean}
 */
export function isPersonTyping(own, isOurs) {
  if (!Document.prototype.hasFocus.call(document)) return false;
  const active = (/** @type {any} */ root) => /** @type {any} */ (Object.getOwnPropertyDescriptor(Object.getPrototypeOf(root) === ShadowRoot.prototype ? ShadowRoot.prototype : Document.prototype, 'activeElement'))?.get.call(root);
  let element = active(document);
  for (;;) {
    let shadow = null;
    try {
      shadow = element && chrome.dom.openOrClosedShadowRoot(element);
    } catch {
      // No element of HTML.
    }
    const inner = shadow && active(shadow);
    if (!inner) break;
    element = inner;
  }
  if (['iframe', 'frame', 'object', 'embed'].includes(element?.localName)) {
    const source = String((element.localName === 'object' ? element.data : element.src) ?? '');
    if (source.startsWith('chrome-extension://') && !source.startsWith(`chrome-extension://${own}/`)) return true;
    // One without an address may be another extension's, too.
    if (['', 'about:blank'].includes(source) && !element.hasAttribute('srcdoc') && element.contentDocument === null) return true;
  }
  return !isOurs && navigator.userActivation.isActive;
}
