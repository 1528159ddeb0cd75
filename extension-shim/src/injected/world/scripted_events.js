// @ts-check
// Events made by script, where real ones would disturb a person: pages can tell them from real ones. A classic script.

/**
 * @typedef {object} ScriptedClick
 * @property {number} id of the element that is meant
 * @property {{x: number, y: number}} [point] in its frame's view
 * @property {'left' | 'right' | 'middle'} button
 * @property {number} count
 * @property {number} modifiers Alt 1, Control 2, Meta 4, Shift 8
 * @property {boolean} [keepsFocus] the focus stays where it is
 * @property {boolean} [keepsChooser] no chooser of files may come up that a field of the document opens
 */

class ScriptedEvents {
  static #BUTTON = { left: 0, middle: 1, right: 2 };
  static #HELD = { left: 1, right: 2, middle: 4 };
  #dispatchEvent = EventTarget.prototype.dispatchEvent;
  #dom;

  /** @param {PageDom} dom */
  constructor(dom) {
    this.#dom = dom;
  }

  /**
   * @param {any} element @param {ScriptedClick} click @param {() => ClickRefusal | null} refusal asked before each press and each click: pages
   *   cover or disable what the pointer comes to
   * @returns {ClickRefusal | true}
   */
  click(element, { keepsChooser = false, ...click }, refusal) {
    if (!keepsChooser) return this.#click(element, click, refusal);
    const refuse = (/** @type {Event} */ event) => { if (event.composedPath().some((one) => FileFields.isField(one))) event.preventDefault(); };
    addEventListener('click', refuse, { capture: true });
    try {
      return this.#click(element, click, refusal);
    } finally {
      removeEventListener('click', refuse, { capture: true });
    }
  }

  /** @param {any} element @param {ScriptedClick} click @param {() => ClickRefusal | null} refusal @returns {ClickRefusal | true} */
  #click(element, { point, button, count, modifiers, keepsFocus = false }, refusal) {
    const before = refusal();
    if (before) return { ...before, isUntouched: true, isUnpressed: true };
    const hit = point ? this.#dom.at(point.x, point.y) : null;
    const target = hit && this.#dom.holds(element, hit) ? hit : element;
    const shared = {
      bubbles: true, cancelable: true, composed: true, view: window, clientX: point?.x ?? 0, clientY: point?.y ?? 0, button: ScriptedEvents.#BUTTON[button],
      altKey: (modifiers & 1) > 0, ctrlKey: (modifiers & 2) > 0, metaKey: (modifiers & 4) > 0, shiftKey: (modifiers & 8) > 0,
    };
    const pointer = { ...shared, pointerId: 1, pointerType: 'mouse', isPrimary: true };
    const send = (/** @type {Event} */ event) => this.#dispatchEvent.call(target, event);
    send(new PointerEvent('pointerover', pointer));
    send(new MouseEvent('mouseover', shared));
    send(new PointerEvent('pointermove', pointer));
    send(new MouseEvent('mousemove', shared));
    for (let detail = 1; detail <= count; detail += 1) {
      const refused = refusal();
      if (refused) return { ...refused, isUnpressed: detail === 1 };
      const held = { buttons: ScriptedEvents.#HELD[button], detail };
      send(new PointerEvent('pointerdown', { ...pointer, ...held }));
      // A page that prevents this one keeps the focus where it is.
      const isOpen = send(new MouseEvent('mousedown', { ...shared, ...held }));
      if (isOpen && !keepsFocus && this.#dom.tabIndex(element) >= 0) this.#dom.focus(element);
      send(new PointerEvent('pointerup', { ...pointer, detail }));
      send(new MouseEvent('mouseup', { ...shared, detail }));
      const late = refusal();
      if (late) return late;
      if (button === 'left') send(new PointerEvent('click', { ...pointer, detail }));
      else send(new PointerEvent(button === 'right' ? 'contextmenu' : 'auxclick', { ...pointer, detail }));
    }
    if (count === 2 && button === 'left') send(new MouseEvent('dblclick', { ...shared, detail: 2 }));
    return true;
  }
}
