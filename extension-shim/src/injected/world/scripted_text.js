// @ts-check
// Text without keys, where no debugger is: by the browser's own command for editing, which pages get as input of a
// person, or by a value where the person has the focus elsewhere. A classic script.

class ScriptedText {
  // A page can give an element the name of what a document has.
  #execCommand = Document.prototype.execCommand;
  #dispatch = EventTarget.prototype.dispatchEvent;
  #dom;
  #fields;
  /** The texts of fields before the act, and where it has entered text. @type {WeakMap<object, string>} */
  #before = new WeakMap();

  /** @param {PageDom} dom @param {FieldEditor} fields */
  constructor(dom, fields) {
    this.#dom = dom;
    this.#fields = fields;
  }

  /**
   * Enters text into a field that `enter` has readied.
   * @param {any} field @param {{text: string, clear: boolean, isFirst: boolean, keepsFocus: boolean}} how `isFirst`: of the texts of one act
   * @returns {{refused?: 'focus' | 'keys'}} focus: the page has moved it elsewhere; keys: the field takes nothing else
   */
  insert(field, { text, clear, isFirst, keepsFocus }) {
    if (this.#fields.isDrawnElsewhere(field)) return { refused: 'keys' };
    if (isFirst) this.#before.set(field, this.#fields.text(field));
    if (keepsFocus) {
      this.#fields.setText(field, text, clear && isFirst);
      return {};
    }
    if (!this.#hasFocus(field)) return { refused: 'focus' };
    // The browser's command asks no page. Editors that enter the text themselves prevent this, as do pages that want none.
    const ask = new InputEvent('beforeinput', { inputType: text === '' ? 'deleteContentBackward' : 'insertText', data: text === '' ? null : text, bubbles: true, cancelable: true, composed: true });
    if (!this.#dispatch.call(field, ask)) return {};
    // Text must not go to another field.
    if (!this.#hasFocus(field)) return { refused: 'focus' };
    if (text !== '') this.#execCommand.call(document, 'insertText', false, text);
    else if (clear) this.#execCommand.call(document, 'delete');
    return {};
  }

  /** @param {any} field */
  #hasFocus(field) {
    const active = this.#dom.active();
    return active !== null && (active === field || (this.#dom.isEdited(field) && (this.#dom.holds(active, field) || this.#dom.holds(field, active))));
  }

  /** Whether a field shows that it has taken the text of the act. @param {any} field @param {string} typed @param {boolean} isAll nothing else was to stay */
  isTaken(field, typed, isAll) {
    const now = this.#fields.text(field);
    const plain = (/** @type {string} */ text) => text.replace(/[\s\u00a0\u200b\ufeff]+/g, '');
    if (isAll && plain(now) === plain(typed)) return true;
    return typed === '' ? !isAll : now !== this.#before.get(field);
  }
}
