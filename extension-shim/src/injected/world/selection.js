// @ts-check
// What is selected in a document, copied and pasted by events with data of their own: the browser is never asked to copy,
// cut or paste, so the person's clipboard is neither read nor written. A classic script.

/**
 * @typedef {object} CopiedSelection
 * @property {Record<string, string>} data by type
 * @property {boolean} isTaken the page has chosen the data itself, and has cut by itself what it wanted cut
 * @property {boolean} isSecret
 * @property {string} shown for agents
 */

class SelectionClipboard {
  #dispatch = EventTarget.prototype.dispatchEvent;
  #dom;
  #accessible;
  #words;

  /** @param {PageDom} dom @param {Accessible} accessible @param {PageWords} words */
  constructor(dom, accessible, words) {
    this.#dom = dom;
    this.#accessible = accessible;
    this.#words = words;
  }

  /** Selects all of an element, unless a part of it is selected. @param {any} element */
  select(element) {
    if (this.#isField(element)) {
      if (element.selectionStart === element.selectionEnd) element.select();
      return;
    }
    const selection = getSelection();
    const isWithin = selection !== null && !selection.isCollapsed && this.#dom.holds(element, selection.anchorNode);
    if (!isWithin) selection?.selectAllChildren(element);
  }

  /** @param {any} element */
  #isField(element) {
    return ['input', 'textarea'].includes(this.#dom.tag(element));
  }

  /** @param {any} element that has the focus @param {'copy' | 'cut'} type @returns {CopiedSelection} */
  copy(element, type) {
    const clipboardData = new DataTransfer();
    const isTaken = !this.#dispatch.call(element, new ClipboardEvent(type, { clipboardData, bubbles: true, cancelable: true, composed: true }));
    const data = isTaken ? Object.fromEntries(Array.from(clipboardData.types, (kind) => [kind, clipboardData.getData(kind)])) : this.#selected(element);
    return this.copied(data, { isTaken, isSecret: this.#accessible.isSecret(element) });
  }

  /** @param {Record<string, string>} data @param {{isTaken: boolean, isSecret: boolean}} so @returns {CopiedSelection} */
  copied(data, { isTaken, isSecret }) {
    return { data, isTaken, isSecret, shown: isSecret ? '[redacted]' : this.#words.shown(data['text/plain'] ?? '', NAME_MAX) };
  }

  /** As the browser would copy it. @param {any} element @returns {Record<string, string>} */
  #selected(element) {
    if (this.#isField(element)) {
      // The browser copies nothing from passwords.
      if (element.type === 'password' || element.selectionStart === null) return {};
      const text = String(element.value).slice(element.selectionStart, element.selectionEnd);
      return text === '' ? {} : { 'text/plain': text };
    }
    const selection = getSelection();
    if (!selection || selection.isCollapsed || selection.rangeCount === 0) return {};
    const shell = this.#dom.emptyDocument().createElement('div');
    shell.append(selection.getRangeAt(0).cloneContents());
    return { 'text/plain': selection.toString(), 'text/html': shell.innerHTML };
  }

  /** Removes the selection from what can be edited. No command of the browser does it in the middle of another one. @param {any} element */
  remove(element) {
    const isField = this.#isField(element);
    if (isField ? element.readOnly || element.disabled : !element.isContentEditable) return;
    if (isField) element.setRangeText('', element.selectionStart, element.selectionEnd, 'start');
    else getSelection()?.deleteFromDocument();
    this.#dispatch.call(element, new InputEvent('input', { inputType: 'deleteByCut', bubbles: true, composed: true }));
  }

  /**
   * @param {any} element @param {Record<string, string>} data by type
   * @returns {{isTaken: boolean}} whether the page has done the rest itself
   */
  paste(element, data) {
    const clipboardData = new DataTransfer();
    for (const [type, text] of Object.entries(data)) clipboardData.setData(type, text);
    const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true, composed: true });
    return { isTaken: !this.#dispatch.call(element, event) };
  }

  /** Tells the page of a key that the browser is not given. @param {any} element @param {KeyboardEventInit} key @returns {{isTaken: boolean}} */
  pressKey(element, key) {
    const init = { ...key, bubbles: true, cancelable: true, composed: true };
    const isTaken = !this.#dispatch.call(element, new KeyboardEvent('keydown', init));
    this.#dispatch.call(element, new KeyboardEvent('keyup', init));
    return { isTaken };
  }
}
