// @ts-check
// What runs in the tabs that agents opened: does the page ask before it is closed, and does the person use it.

/**
 * Whether the page would ask. It is asked as the browser does it, and as there only if it was ever used.
 * @returns {boolean}
 */
export function asksBeforeClosing() {
  if (!navigator.userActivation.hasBeenActive) return false;
  const event = document.createEvent('BeforeUnloadEvent');
  event.initEvent('beforeunload', false, true);
  window.dispatchEvent(event);
  // An empty text does not ask.
  return event.defaultPrevented || /** @type {any} */ (event).returnValue !== '';
}

/** Tells the worker of each key and click of the person or of an agent; it knows which is whose. */
export function tellInput() {
  const told = /** @type {any} */ (globalThis);
  // Once a document: the worker may ask again.
  if (told.tellsInput) return;
  told.tellsInput = true;
  const tell = (/** @type {Event} */ { isTrusted }) => {
    // The extension may be gone; nothing here depends on it.
    if (isTrusted) chrome.runtime.sendMessage({ agent_tab: 'input' }).catch(() => {});
  };
  for (const type of ['pointerdown', 'keydown']) addEventListener(type, tell, { capture: true, passive: true });
}
