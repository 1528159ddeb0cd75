// @ts-check
// Keeps the person's clipboard from a page that an agent acts on, for a while after each act: the copies of the page
// become the agent's, and the browser pastes nothing. A classic script.

class ClipboardGuard {
  static #TYPES = /** @type {const} */ (['copy', 'cut', 'paste', 'mouseup']);
  #selection;
  #channel = '';
  #isPasteOnly = false;
  #isOn = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** The newest copy of the page that nobody has asked for. @type {CopiedSelection | null} */
  #copied = null;
  #handle = (/** @type {Event} */ event) => this.#divert(event);
  #hear = (/** @type {Event} */ event) => this.#take(/** @type {CustomEvent} */ (event));

  /** @param {SelectionClipboard} selection */
  constructor(selection) {
    this.#selection = selection;
  }

  /** @param {{channel: string, ms: number, isPasteOnly: boolean}} cover `channel`: the type of the events by which `replaceClipboard` asks */
  cover({ channel, ms, isPasteOnly }) {
    this.lift();
    this.#isOn = true;
    this.#isPasteOnly = isPasteOnly;
    this.#channel = channel;
    for (const type of ClipboardGuard.#TYPES) addEventListener(type, this.#handle, { capture: true });
    addEventListener(channel, this.#hear, { capture: true });
    this.#timer = setTimeout(() => this.lift(), ms);
  }

  /** From now on the page has the person's clipboard again. */
  lift() {
    if (!this.#isOn) return;
    this.#isOn = false;
    clearTimeout(this.#timer);
    for (const type of ClipboardGuard.#TYPES) removeEventListener(type, this.#handle, { capture: true });
    removeEventListener(this.#channel, this.#hear, { capture: true });
  }

  /** @returns {CopiedSelection | null} the newest copy of the page since it was asked for */
  taken() {
    const copied = this.#copied;
    this.#copied = null;
    return copied;
  }

  /** A command of the browser: its default is to use the person's clipboard. @param {Event} event */
  #divert(event) {
    if (!event.isTrusted) return;
    const isCopy = event.type === 'copy' || event.type === 'cut';
    if (isCopy && this.#isPasteOnly) return;
    // The browser pastes the person's selection after a middle button is let go, unless that is prevented.
    if (event.type === 'mouseup' && /** @type {MouseEvent} */ (event).button !== 1) return;
    event.preventDefault();
    if (event.type === 'mouseup') return;
    event.stopImmediatePropagation();
    if (!isCopy) return;
    const [element] = event.composedPath();
    const copied = this.#selection.copy(element instanceof Element ? element : document.documentElement, event.type === 'cut' ? 'cut' : 'copy');
    if (Object.keys(copied.data).length === 0) return;
    this.#copied = copied;
    if (event.type === 'cut' && !copied.isTaken) this.#selection.remove(element);
  }

  /** A script of the page writes or reads by `navigator.clipboard`. @param {CustomEvent} event */
  #take(event) {
    if (this.#isPasteOnly) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    if (typeof event.detail !== 'string') return;
    const data = Object.fromEntries(Object.entries(JSON.parse(event.detail)).filter(([, text]) => typeof text === 'string'));
    this.#copied = this.#selection.copied(data, { isTaken: true, isSecret: false });
  }
}
