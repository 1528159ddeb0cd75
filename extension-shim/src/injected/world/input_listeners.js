// @ts-check
// Listens for input in a document before the page's own scripts can: of listeners at the same place the first is called
// first, and a later one may not be called at all. It does nothing with the events until its world is told to. A classic
// script; while the person shows something to an agent, the browser runs it at the start of each document.

/** @typedef {{handle: ((event: Event) => void) | null, end: () => void}} InputListeners */

(() => {
  // An element that the page gives this name shows as an inherited property.
  if (Object.hasOwn(globalThis, 'tabwireInput')) return;
  const over = new AbortController();
  /** @type {InputListeners} */
  const listeners = {
    handle: null,
    end() {
      over.abort();
      delete (/** @type {any} */ (globalThis).tabwireInput);
    },
  };
  for (const type of ['pointerdown', 'click', 'keydown', 'beforeinput', 'change', 'focusin']) {
    // Passive: the page's own handling of the input does not wait for us.
    addEventListener(type, (event) => listeners.handle?.(event), { capture: true, passive: true, signal: over.signal });
  }
  Object.defineProperty(globalThis, 'tabwireInput', { value: listeners, configurable: true });
})();
