// @ts-check
// The person's input in a document, as acts of a recording: which element, and what was done with it. What they type is
// never read for it. A classic script.

/**
 * @typedef {object} PersonAct
 * @property {'click' | 'double' | 'type' | 'fill' | 'select' | 'check' | 'key' | 'file'} kind
 * @property {string} [key] as `press_key` names it
 * @property {string[]} [values] the words of the chosen options
 * @property {boolean} [on] whether a box is checked now
 *
 * @typedef {object} ActedElement
 * @property {string[]} names targets that nothing else in its document fits, the best first
 * @property {boolean} isSecret
 * @property {string} called
 * @property {string} field its kind, as fields of `fill_form` are called
 */

class PersonInput {
  static #KEYS = new Set(['Enter', 'Escape', 'Tab', ' ', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']);
  /** Fields that are set as a whole. */
  static #SET = new Set(['date', 'time', 'month', 'week', 'datetime-local', 'color', 'range']);
  static #BUTTONS = new Set(['button', 'submit', 'reset', 'image', 'checkbox', 'radio', 'file', 'color']);
  /** Browsers press these themselves when a key comes. */
  static #PRESSED = new Set(['button', 'a', 'summary', 'select', 'option', 'label']);
  /** How far from an element the one is that is meant by a press on it. */
  static #DEEP = 12;
  /** Of an element: enough for one that its page changes a little. */
  static #NAMES = 3;
  /** Shorter texts stand in other words by chance. */
  static #TYPED_LEAST = 4;
  static #TYPED_IN_MOST = 50;
  static #WORDS_MOST = 120;
  #dom;
  #accessible;
  #finder;
  #lasting;
  #words;
  /** Before the page hears of the input, and while it still has these words. @type {{element: any, words: ActedElement} | null} */
  #described = null;
  /** Has got the key that presses it. */
  #keyed = null;
  /** Its label was clicked, so that the browser clicks it, too. */
  #labelled = null;
  /** A box that was clicked: it changes now if the page lets it. */
  #toggled = null;
  /** What is typed there is an act already. */
  #typing = null;
  /** Fields in which the person has typed. @type {Set<any>} */
  #typedIn = new Set();

  /** @param {PageDom} dom @param {Accessible} accessible @param {TargetFinder} finder @param {LastingNames} lasting @param {PageWords} words */
  constructor(dom, accessible, finder, lasting, words) {
    this.#dom = dom;
    this.#accessible = accessible;
    this.#finder = finder;
    this.#lasting = lasting;
    this.#words = words;
  }

  /** @returns {InputListeners | undefined} of their own script; undefined: it was not loaded */
  get #listeners() {
    return Object.hasOwn(globalThis, 'tabwireInput') ? /** @type {any} */ (globalThis).tabwireInput : undefined;
  }

  begin() {
    const listeners = this.#listeners;
    if (!listeners) return;
    listeners.handle = (event) => {
      // What script makes up is not what a person did.
      if (!event.isTrusted) return;
      try {
        this.#handle(event);
      } catch (error) {
        console.debug('tabwire: input is not recorded', error);
      }
    };
  }

  end() {
    this.#listeners?.end();
    this.#described = this.#keyed = this.#labelled = this.#toggled = this.#typing = null;
    this.#typedIn.clear();
  }

  /** @param {any} event */
  #handle(event) {
    const target = this.#targetOf(event);
    switch (event.type) {
      case 'pointerdown': return this.#press(target, event);
      case 'click': return this.#click(target, event);
      case 'keydown': return this.#key(target, event);
      case 'beforeinput': return this.#isEnter(target, event) ? undefined : this.#type(target);
      case 'change': return this.#change(target);
      // Its words are looked up before the first key comes, which is not to wait for them.
      case 'focusin': return this.#isText(this.#textField(target)) ? void this.#describe(this.#textField(target)) : undefined;
      default: return undefined;
    }
  }

  /** @param {any} event @returns {any} */
  #targetOf(event) {
    const [first] = event.composedPath();
    const target = first instanceof Element ? first : this.#dom.page;
    // Closed shadow trees are left out of the path.
    const hit = event instanceof MouseEvent && this.#dom.shadowRoot(target) ? this.#dom.at(event.clientX, event.clientY) : null;
    return hit && this.#dom.holds(target, hit) ? hit : target;
  }

  /** The element that is meant by a press on this one. @param {any} target @returns {any} */
  #actable(target) {
    let at = target;
    for (let left = PersonInput.#DEEP; at && left > 0; left -= 1) {
      if (this.#dom.tag(at) === 'label' || Accessible.INTERACTIVE.has(this.#accessible.role(at))) return at;
      at = this.#dom.shownParent(at);
    }
    return target;
  }

  /** @param {any} target @param {PointerEvent} event */
  #press(target, { button }) {
    this.#keyed = this.#labelled = this.#toggled = null;
    if (button === 0) this.#describe(this.#meant(target));
  }

  /** @param {any} target */
  #meant(target) {
    const element = this.#actable(target);
    return this.#dom.tag(element) === 'label' ? this.#dom.labelled(element) ?? element : element;
  }

  /** @param {any} target @param {PointerEvent} event */
  #click(target, { button, detail, pointerType }) {
    if (button !== 0 || detail > 2) return;
    const pressed = this.#actable(target);
    const element = this.#meant(target);
    const isPointed = pointerType !== '' && detail > 0;
    // The browser's own clicks count only where they follow from a press or a key: a script can have it make some.
    const isFollowing = element === this.#keyed || element === this.#labelled;
    if (!isPointed && !isFollowing) return;
    this.#labelled = this.#keyed = null;
    // The click of its control follows.
    if (pressed !== element) return void (this.#labelled = element);
    if (this.#isBox(element)) return void (this.#toggled = element);
    // The change tells these.
    if (this.#dom.closest(element, 'select') || ['file', ...PersonInput.#SET].includes(this.#typeOf(element))) return;
    this.#tell(element, { kind: detail === 2 && isPointed ? 'double' : 'click' });
  }

  /** @param {any} target @param {KeyboardEvent} event */
  #key(target, event) {
    const { key, ctrlKey, altKey, metaKey, shiftKey, repeat, isComposing } = event;
    if (repeat || isComposing) return;
    const field = this.#textField(target);
    const element = this.#isText(field) ? field : this.#actable(target);
    this.#keyed = ['Enter', ' '].includes(key) ? element : null;
    if (ctrlKey || altKey || metaKey || !PersonInput.#KEYS.has(key)) return;
    const named = `${shiftKey ? 'Shift+' : ''}${key === ' ' ? 'Space' : key}`;
    const tell = () => this.#tell(element, { kind: 'key', key: named });
    if (key === 'Escape') return tell();
    if (this.#isText(element)) return this.#keyInText(element, event, tell);
    const isBrowsers = PersonInput.#PRESSED.has(this.#dom.tag(element)) || this.#dom.tag(element) === 'input';
    const isMoved = this.#typeOf(element) === 'radio' && key.startsWith('Arrow');
    const isPlain = this.#isPage(element);
    if (isMoved || key !== 'Tab' && !isBrowsers && !(isPlain && key === ' ')) tell();
  }

  /** @param {any} field @param {KeyboardEvent} event @param {() => void} tell */
  #keyInText(field, event, tell) {
    const { key } = event;
    const isLine = this.#dom.tag(field) === 'input';
    // Only the end of typing matters, not the way from field to field.
    if (key === 'Tab' && this.#typing === field) return tell();
    if (isLine && this.#typeOf(field) === 'number' && ['ArrowUp', 'ArrowDown'].includes(key)) return this.#type(field);
    if (isLine && ['Enter', 'ArrowUp', 'ArrowDown'].includes(key)) return tell();
    // In a text of several lines it is a part of the text, unless the page takes it.
    if (key === 'Enter') setTimeout(() => { if (event.defaultPrevented) tell(); });
  }

  /** In a field of one line it enters nothing. @param {any} target @param {InputEvent} event */
  #isEnter(target, { inputType }) {
    return this.#dom.tag(target) === 'input' && ['insertLineBreak', 'insertParagraph'].includes(inputType);
  }

  /** @param {any} target */
  #type(target) {
    const field = this.#textField(target);
    if (!this.#isText(field) || this.#typing === field) return;
    if (this.#typedIn.size < PersonInput.#TYPED_IN_MOST) this.#typedIn.add(field);
    this.#tell(field, { kind: 'type' });
    this.#typing = field;
  }

  /** @param {any} target */
  #change(target) {
    if (this.#isBox(target)) {
      // A script that clicks a box changes it, too.
      if (this.#toggled === target) this.#tell(target, { kind: 'check', on: target.checked === true });
      this.#toggled = null;
    } else if (this.#dom.tag(target) === 'select') {
      const isSecret = this.#accessible.isSecret(target);
      const chosen = Array.from(target.selectedOptions, (/** @type {any} */ { label }) => this.#words.clipped(this.#words.line(String(label)), PersonInput.#WORDS_MOST));
      this.#tell(target, { kind: 'select', values: isSecret ? [''] : chosen });
    } else if (this.#typeOf(target) === 'file') {
      this.#tell(target, { kind: 'file' });
    } else if (PersonInput.#SET.has(this.#typeOf(target))) {
      this.#tell(target, { kind: 'fill' });
    }
  }

  /** @param {any} element @returns {string} of an `input`, else '' */
  #typeOf(element) {
    return this.#dom.tag(element) === 'input' ? String(element.type) : '';
  }

  /** @param {any} element */
  #isBox(element) {
    return ['checkbox', 'radio'].includes(this.#typeOf(element));
  }

  /** @param {any} element */
  #isPage(element) {
    return element === this.#dom.page || element === this.#dom.body;
  }

  /** The whole of an editor. @param {any} target */
  #textField(target) {
    let field = target;
    for (let at = target; at && this.#dom.isElement(at) && this.#dom.isEdited(at); at = this.#dom.parent(at)) field = at;
    return field;
  }

  /** @param {any} element */
  #isText(element) {
    const type = this.#typeOf(element);
    if (type !== '') return !PersonInput.#SET.has(type) && !PersonInput.#BUTTONS.has(type) && type !== 'hidden';
    return this.#dom.tag(element) === 'textarea' || this.#dom.isEdited(element);
  }

  /** @param {any} element @param {PersonAct} act */
  #tell(element, act) {
    const isPlain = act.kind === 'key' && this.#isPage(element);
    const words = isPlain ? { names: [], isSecret: false, called: '', field: 'page' } : this.#describe(element, true);
    this.#typing = null;
    const over = () => this.end();
    chrome.runtime.sendMessage({ person_act: { ...act, ...words } }).then((answer) => { if (answer?.isOver) over(); }, over);
  }

  /** @param {any} element @param {boolean} [isKnown] as it was when the input came @returns {ActedElement} */
  #describe(element, isKnown = false) {
    if (!(isKnown && this.#described?.element === element)) this.#described = { element, words: this.#wordsOf(element) };
    return /** @type {{words: ActedElement}} */ (this.#described).words;
  }

  /** @param {any} element @returns {ActedElement} */
  #wordsOf(element) {
    this.#dom.forget();
    const { ways, isSecret, called, kind } = this.#lasting.of(element);
    const typed = this.#typedTexts();
    // A page may show what was typed, or make it the name of another element.
    const isOpen = (/** @type {string} */ words) => !typed.some((text) => words.includes(text));
    /** @type {string[]} */
    const names = [];
    for (const [target, query] of ways) {
      if (names.length === PersonInput.#NAMES) break;
      if (isOpen(target) && this.#isOnly(element, query)) names.push(target);
    }
    return { names, isSecret, called: isOpen(called) ? called.slice(0, PersonInput.#WORDS_MOST) : '', field: kind };
  }

  /** @param {any} element @param {TargetQuery} query */
  #isOnly(element, query) {
    const found = this.#finder.all(query);
    return found.length === 1 && found[0] === element;
  }

  /** They are compared here, and go nowhere. @returns {string[]} */
  #typedTexts() {
    return [...this.#typedIn].map((field) => {
      const isField = ['input', 'textarea'].includes(this.#dom.tag(field));
      return this.#words.line(isField ? String(field.value) : this.#dom.textOf(field));
    }).filter((text) => text.length >= PersonInput.#TYPED_LEAST);
  }
}
