// @ts-check
// Fields: readied for text, their values set where no keys set them, their options chosen. A classic script.

/**
 * @typedef {'text' | 'value' | 'list' | 'check' | 'file' | 'keys'} FieldKind text: it is entered; value: it is set, as
 *   of a date; list: options are chosen; check: it is ticked; keys: no field, but it takes the focus
 *
 * @typedef {object} FieldReading
 * @property {FieldKind | null} kind null: nothing can be entered
 * @property {string} type of an input
 * @property {boolean} [isGroup] a radio button: ticked, it cannot be cleared
 *
 * @typedef {object} TextEntry a field that awaits text, or why it does not
 * @property {'text' | 'value' | 'keys'} [kind]
 * @property {string} [type]
 * @property {number} [id] of the element that has the focus now, which may be one within the element that was meant
 * @property {string} [role]
 * @property {string} [name]
 * @property {boolean} [selectsAll] its content is to be selected by keys
 * @property {boolean} [movesToEnd] its caret is not the browser's
 * @property {boolean} [isPaced] the page moves the focus on from key to key
 * @property {boolean} [keepsFocus] the focus is elsewhere, and stays there
 * @property {boolean} [isEdited] an editor: lines are pasted into it
 * @property {'not_editable' | 'focus' | 'person'} [refused] person: the focus is the person's
 * @property {string} [why]
 *
 * @typedef {{id: number, typed: string, isAll: boolean}} TextEntryCheck a field and the text that was entered; `isAll`: nothing else was to stay
 *
 * @typedef {object} TextOutcome
 * @property {string} [value] as it is now, if it is not what was entered
 */

class FieldEditor {
  static #SET = new Set(['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range']);
  static #BUTTONS = new Set(['button', 'submit', 'reset', 'image', 'hidden']);
  static #CHECKED = new Set(['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio']);
  static #TEXTS = new Set(['input', 'textarea']);
  static #ENTERED = 'input, textarea, [contenteditable], [role=textbox], [role=searchbox], .native-edit-context';
  // React puts properties of its own in place of these on the elements of the page, not on ours.
  #setInput = FieldEditor.#setter(HTMLInputElement, 'value');
  #setArea = FieldEditor.#setter(HTMLTextAreaElement, 'value');
  #setSelected = FieldEditor.#setter(HTMLOptionElement, 'selected');
  #setIndex = FieldEditor.#setter(HTMLSelectElement, 'selectedIndex');
  #editContext = /** @type {any} */ (Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'editContext'))?.get;
  #dispatch = EventTarget.prototype.dispatchEvent;
  #dom;
  #accessible;
  #finder;
  #words;
  /** The texts of fields before something is entered, and where it goes. @type {WeakMap<object, {before: string, after: string}>} */
  #awaited = new WeakMap();

  /** @param {any} Interface @param {string} name @returns {(element: any, value: unknown) => void} */
  static #setter(Interface, name) {
    const { set } = /** @type {any} */ (Object.getOwnPropertyDescriptor(Interface.prototype, name));
    return (element, value) => set.call(element, value);
  }

  /** @param {PageDom} dom @param {Accessible} accessible @param {TargetFinder} finder @param {PageWords} words */
  constructor(dom, accessible, finder, words) {
    this.#dom = dom;
    this.#accessible = accessible;
    this.#finder = finder;
    this.#words = words;
  }

  /** @param {any} element @returns {FieldReading} */
  reading(element) {
    const tag = this.#dom.tag(element);
    const type = tag === 'input' ? String(element.type) : '';
    const isGroup = type === 'radio' || ['radio', 'menuitemradio'].includes(this.#accessible.role(element));
    return { kind: this.#kind(element, tag, type), type, ...(isGroup && { isGroup }) };
  }

  /** @param {any} element @param {string} tag @param {string} type @returns {FieldKind | null} */
  #kind(element, tag, type) {
    if (tag === 'select') return 'list';
    if (tag === 'textarea') return 'text';
    if (tag === 'input' && !FieldEditor.#BUTTONS.has(type)) {
      if (type === 'checkbox' || type === 'radio') return 'check';
      if (type === 'file') return 'file';
      return FieldEditor.#SET.has(type) ? 'value' : 'text';
    }
    if (this.#dom.isEdited(element) || this.isDrawnElsewhere(element)) return 'text';
    if (FieldEditor.#CHECKED.has(this.#accessible.role(element)) || this.#dom.has(element, 'aria-checked')) return 'check';
    return this.#dom.tabIndex(element) >= 0 || this.#dom.has(element, 'tabindex') ? 'keys' : null;
  }

  /**
   * Gives the focus to an element and readies it for text: behind its text, or in place of it.
   * @param {any} meant @param {{clear: boolean, isFocused: boolean, keepsFocus?: boolean}} how `isFocused`: it has the focus already, and
   *   gets the keys, field or not; `keepsFocus`: the person has the focus, and keeps it
   * @returns {TextEntry}
   */
  enter(meant, { clear, isFocused, keepsFocus = false }) {
    const element = isFocused ? meant : this.#enteredIn(meant);
    if (keepsFocus) return this.#enterBeside(element, clear);
    const hadFocus = this.#dom.active() === element;
    if (!hadFocus) this.#dom.focus(element);
    const active = this.#dom.active();
    // An element may hand the focus to one within it, and one that is edited shares it with those around it.
    const isInside = active !== null && (this.#dom.holds(element, active) || (this.#dom.isEdited(element) && this.#dom.holds(active, element)));
    const field = active !== null && isInside && !this.#dom.isEdited(element) ? active : element;
    const { kind: own, type } = this.reading(field);
    const kind = own === null && isFocused ? 'keys' : own;
    if (kind !== 'text' && kind !== 'value' && kind !== 'keys') return this.#noText(field, type);
    if (kind !== 'keys' && this.#accessible.isReadOnly(field)) return { refused: 'not_editable', why: 'it is read-only' };
    const { id, role, name } = this.#finder.describe(field);
    if (kind === 'value') return { kind, type, id, role, name };
    if (!isFocused && !isInside) return { refused: 'focus', why: active ? `the page gives the focus to ${this.#call(active)}` : 'it does not take the focus' };
    const isPaced = this.#dom.tag(field) === 'input' && field.maxLength === 1;
    const selectsAll = kind === 'text' ? this.#placeCaret(field, clear, hadFocus) : false;
    const isEdited = kind === 'text' && !FieldEditor.#TEXTS.has(this.#dom.tag(field));
    const isBefore = kind === 'text' && !clear && !hadFocus && this.isDrawnElsewhere(field);
    return { kind, type, id, role, name, ...(isBefore && { movesToEnd: true }), ...(selectsAll && { selectsAll }), ...(isPaced && { isPaced }), ...(isEdited && { isEdited }) };
  }

  /** @param {any} field @param {string} type @returns {TextEntry} */
  #noText(field, type) {
    return { refused: 'not_editable', why: `no text is entered into ${type ? `an input of type ${type}` : `<${this.#dom.tag(field)}>`}` };
  }

  /** Readies a field for text without the focus. @param {any} field @param {boolean} clear @returns {TextEntry} */
  #enterBeside(field, clear) {
    const { kind, type } = this.reading(field);
    if (kind === null || kind === 'list' || kind === 'check' || kind === 'file') return this.#noText(field, type);
    if (kind !== 'keys' && this.#accessible.isReadOnly(field)) return { refused: 'not_editable', why: 'it is read-only' };
    const active = this.#dom.active();
    if (active !== null && (active === field || this.#dom.holds(field, active))) return { refused: 'person', why: 'the person is in it' };
    if (kind === 'text' && !FieldEditor.#TEXTS.has(this.#dom.tag(field))) return { refused: 'person', why: 'an editor takes text only with the focus, which the person has' };
    const { id, role, name } = this.#finder.describe(field);
    if (kind === 'text') this.#awaited.set(field, { before: clear ? '' : this.text(field), after: '' });
    return { kind, type, id, role, name, keepsFocus: true };
  }

  /** @param {any} element @returns {string} */
  #call(element) {
    const { role, name } = this.#finder.describe(element);
    return `${role}${name ? ` ${JSON.stringify(name)}` : ''}`;
  }

  /** The field within an element, if that takes no text itself and there is only one. @param {any} element */
  #enteredIn(element) {
    const { kind } = this.reading(element);
    if (kind === 'text' || kind === 'value') return element;
    const inner = this.#dom.roots().flatMap((root) => this.#dom.select(root, FieldEditor.#ENTERED)).filter((field) => this.#dom.holds(element, field) && this.reading(field).kind === 'text')
      .filter((field) => !this.#accessible.isReadOnly(field) && !this.#accessible.isHidden(field));
    // What is edited within something that is edited is the same text.
    const outer = inner.filter((field) => !inner.some((other) => other !== field && this.#dom.holds(other, field)));
    return outer.length === 1 ? outer[0] : element;
  }

  /** @param {any} field @param {boolean} clear @param {boolean} hadFocus @returns {boolean} whether all is to be selected by keys: editors draw only a part of their text */
  #placeCaret(field, clear, hadFocus) {
    const tag = this.#dom.tag(field);
    const isField = FieldEditor.#TEXTS.has(tag);
    const before = this.text(field);
    if (isField) {
      if (clear) field.select();
      else if (!hadFocus && field.selectionEnd !== null) field.setSelectionRange(before.length, before.length);
      const [start, end] = field.selectionStart === null ? [before.length, before.length] : [field.selectionStart, field.selectionEnd];
      this.#awaited.set(field, clear ? { before: '', after: '' } : { before: before.slice(0, start), after: before.slice(end) });
    } else {
      const selection = getSelection();
      if (clear) selection?.selectAllChildren(field);
      else if (!hadFocus && this.#dom.isEdited(field)) {
        selection?.selectAllChildren(field);
        selection?.collapseToEnd();
      }
      this.#awaited.delete(field);
    }
    return clear && tag !== 'input';
  }

  /** @param {any} field @returns {string} all that it holds */
  text(field) {
    return FieldEditor.#TEXTS.has(this.#dom.tag(field)) ? String(field.value) : this.#dom.textOf(field);
  }

  /** Whether a field holds the text that was entered. @param {any} field @param {string} typed @param {boolean} isAll nothing else was to stay @returns {TextOutcome} */
  outcome(field, typed, isAll) {
    if (this.reading(field).kind !== 'text') return {};
    const now = this.text(field);
    const awaited = this.#awaited.get(field);
    this.#awaited.delete(field);
    const isField = FieldEditor.#TEXTS.has(this.#dom.tag(field));
    // Editors write spaces and ends of lines in ways of their own, and some hold their text elsewhere.
    const plain = (/** @type {string} */ text) => text.replace(/[\s\u00a0\u200b\ufeff]+/g, '');
    const isEntered = isField && awaited !== undefined
      ? now === (awaited.before + typed + awaited.after).replace(/\r\n?/g, '\n')
      : (isAll && isField ? now === typed : plain(now).includes(plain(typed)));
    if (isEntered || (!isField && this.isDrawnElsewhere(field))) return {};
    return { value: this.shownValue(field) };
  }

  /** Editors that take text in one element and draw it in another. @param {any} field */
  isDrawnElsewhere(field) {
    return field instanceof HTMLElement && Boolean(this.#editContext?.call(field));
  }

  /** For agents. @param {any} field @returns {string} */
  shownValue(field) {
    const text = this.#accessible.entered(field);
    return text === undefined ? '' : this.#words.shown(text, NAME_MAX);
  }

  /**
   * Sets the value of a field that has no text, with the events of a person's choice.
   * @param {any} field @param {string} value @param {boolean} keepsFocus @returns {{isRefused?: boolean, value?: string}} `value`: as it is now, if it is another one
   */
  setValue(field, value, keepsFocus) {
    if (!keepsFocus) this.#dom.focus(field);
    const before = this.text(field);
    this.#setInput(field, value);
    const now = this.text(field);
    // The browser empties a field, or makes it black, if it cannot read a value.
    if (value !== '' && (now === '' || (field.type === 'color' && now.toLowerCase() !== value.toLowerCase()))) {
      this.#setInput(field, before);
      return { isRefused: true };
    }
    if (now !== before) this.#tellChange(field);
    const after = this.text(field);
    return after === value ? {} : { value: this.shownValue(field) };
  }

  /** Enters text into a field that has not the focus. @param {any} field @param {string} text @param {boolean} clear */
  setText(field, text, clear) {
    const all = (clear ? '' : this.text(field)) + text;
    // As keys would: only scripts may set more.
    const value = field.maxLength >= 0 ? all.slice(0, Math.max(field.maxLength, clear ? 0 : all.length - text.length)) : all;
    (this.#dom.tag(field) === 'textarea' ? this.#setArea : this.#setInput)(field, value);
    this.#dispatch.call(field, new InputEvent('input', { inputType: 'insertText', data: text, bubbles: true, composed: true }));
    this.#dispatch.call(field, new Event('change', { bubbles: true }));
  }

  /** @param {any} field */
  #tellChange(field) {
    this.#dispatch.call(field, new Event('input', { bubbles: true, composed: true }));
    this.#dispatch.call(field, new Event('change', { bubbles: true }));
  }

  /**
   * Chooses the options of a list, by value or label, with the events of a person's choice.
   * @param {any} list @param {string[]} values @param {boolean} keepsFocus
   * @returns {{chosen?: string[], value?: string, refused?: 'missing' | 'disabled' | 'several' | 'kind', which?: string, options?: string[]}}
   */
  choose(list, values, keepsFocus) {
    if (this.#dom.tag(list) !== 'select') return { refused: 'kind' };
    if (values.length > 1 && !list.multiple) return { refused: 'several' };
    const options = this.#dom.select(this.#dom.root(list), 'option').filter((option) => this.#dom.closest(option, 'select') === list);
    const found = values.map((value) => this.#optionOf(options, value));
    const missing = found.findIndex((option) => option === undefined);
    if (missing >= 0) return { refused: 'missing', which: values[missing], options: options.slice(0, 50).map((option) => this.#optionWords(option)) };
    const disabled = found.find((option) => this.#dom.matches(option, ':disabled'));
    if (disabled) return { refused: 'disabled', which: this.#optionLabel(disabled) };
    if (!keepsFocus) this.#dom.focus(list);
    const before = options.map(({ selected }) => selected);
    if (list.multiple) for (const option of options) this.#setSelected(option, found.includes(option));
    else this.#setIndex(list, found.length > 0 ? options.indexOf(found[0]) : -1);
    if (options.some(({ selected }, at) => selected !== before[at])) this.#tellChange(list);
    const isSo = options.every((option) => option.selected === found.includes(option));
    return { chosen: found.map((option) => this.#optionLabel(option)), ...(!isSo && { value: options.filter(({ selected }) => selected).map((option) => this.#optionLabel(option)).join(', ') }) };
  }

  /** By its value, then by its label as it is written, then by its letters. @param {any[]} options @param {string} value */
  #optionOf(options, value) {
    const wanted = this.#words.line(value);
    const label = (/** @type {any} */ option) => this.#words.line(String(option.label));
    return options.find((option) => option.value === value && this.#dom.has(option, 'value')) ?? options.find((option) => label(option) === wanted)
      ?? options.find((option) => label(option).toLowerCase() === wanted.toLowerCase()) ?? options.find((option) => String(option.value) === value);
  }

  /** @param {any} option */
  #optionLabel(option) {
    return this.#words.shown(String(option.label), 80);
  }

  /** @param {any} option @returns {string} its label, and its value if that is another one */
  #optionWords(option) {
    const label = this.#optionLabel(option);
    const value = this.#words.shown(String(option.value), 40);
    return `${label === value ? JSON.stringify(label) : `${JSON.stringify(label)} (${value})`}${this.#dom.matches(option, ':disabled') ? ' disabled' : ''}`;
  }

  /** The radio button of the same group that has a value or a label. @param {any} radio @param {string} value @returns {{id?: number, options?: string[]}} */
  radioOf(radio, value) {
    const isSame = (/** @type {any} */ other) => other.type === 'radio' && (other === radio || (radio.name !== '' && other.name === radio.name && other.form === radio.form));
    const group = this.#dom.select(this.#dom.root(radio), 'input').filter(isSame);
    const label = (/** @type {any} */ one) => this.#finder.describe(one).name;
    const found = group.find((one) => one.value === value) ?? group.find((one) => label(one) === value) ?? group.find((one) => label(one).toLowerCase() === value.toLowerCase());
    return found ? { id: this.#finder.describe(found).id } : { options: group.slice(0, 50).map((one) => JSON.stringify(label(one) || this.#words.shown(String(one.value), 80))) };
  }

  /** The button that submits the form of a field, or the form itself. @param {any} field @returns {{button?: TargetMatch, isForm: boolean}} */
  submitter(field) {
    const form = this.#dom.formOf(field);
    if (!form) return { isForm: false };
    const buttons = this.#dom.select(this.#dom.root(form), 'button, input').filter((button) => ['submit', 'image'].includes(button.type) && this.#dom.formOf(button) === form);
    const [first] = buttons;
    return { isForm: true, ...(first && { button: this.#finder.describe(first) }) };
  }

  /** Submits a form without a button, as the browser does by the enter key. @param {any} field */
  submit(field) {
    const form = this.#dom.formOf(field);
    if (form) HTMLFormElement.prototype.requestSubmit.call(form);
  }
}
