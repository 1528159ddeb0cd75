// @ts-check
// Watches what the person does in a page. Sent as text into a world of its own, where the page's script can
// neither see nor change it: each function here uses only the others, `clip.js`, `pageSecrets` and the browser.

import { CLIP, clip, headOf } from '../lib/clip.js';
import { SECRET_TABLE, Secrets, secretsSource } from './secrets.js';

/**
 * @typedef {{selector: string, tag: string, role?: string, text?: string}} ActionTarget
 * @typedef {{kind: string, target?: ActionTarget, value?: string, masked?: true, key?: string}} WatchedAction
 */

/** In the page a constant of the same name stands before these functions. */
const pageSecrets = new Secrets(SECRET_TABLE);

/** @param {(action: WatchedAction) => void} report @param {AbortSignal} signal ends it */
export function watchActions(report, signal) {
  /** What is being typed, told once it rests or something else happens. @type {{element: Element, timer: any} | null} */
  let typed = null;
  let scrolledAt = 0;
  const remember = () => pageSecrets.rememberAll(document);
  remember();
  addEventListener('DOMContentLoaded', remember, { signal });
  const settleTyped = () => {
    if (!typed) return;
    clearTimeout(typed.timer);
    const { element } = typed;
    typed = null;
    report({ kind: 'input', target: targetOf(element), ...valueOf(element) });
  };
  const type = (/** @type {Element} */ element) => {
    if (typed?.element !== element) settleTyped();
    clearTimeout(typed?.timer);
    typed = { element, timer: setTimeout(settleTyped, 500) };
  };
  /** @param {string} name @param {(element: Element, event: any) => void} handle */
  const on = (name, handle) => {
    addEventListener(name, (event) => {
      // What script makes up is not what a person did.
      if (!event.isTrusted) return;
      const [element] = event.composedPath();
      handle(element instanceof Element ? element : document.documentElement, event);
    }, { capture: true, passive: true, signal });
  };
  on('click', (element) => {
    settleTyped();
    report({ kind: 'click', target: targetOf(element.closest('a,button,input,select,textarea,label,[role],[onclick]') ?? element) });
  });
  on('input', type);
  on('change', (element) => {
    if (typed?.element === element) clearTimeout(typed.timer);
    if (typed?.element === element) typed = null;
    settleTyped();
    report({ kind: 'change', target: targetOf(element), ...valueOf(element) });
  });
  on('submit', (element) => {
    settleTyped();
    report({ kind: 'submit', target: targetOf(element) });
  });
  on('keydown', (element, event) => {
    pageSecrets.remember(element);
    const key = event.repeat ? null : keyOf(event);
    if (!key) return;
    settleTyped();
    report({ kind: 'key', target: targetOf(element), key });
  });
  on('focusin', (element) => pageSecrets.remember(element));
  on('scroll', (element, event) => {
    if (event.timeStamp - scrolledAt < 500) return;
    scrolledAt = event.timeStamp;
    report({ kind: 'scroll', target: targetOf(element) });
  });
  on('pagehide', settleTyped);
}

/** Only what does not tell what is being typed. @param {KeyboardEvent} event @returns {string | null} */
export function keyOf(event) {
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  if (event.isComposing || ['Control', 'Meta', 'Alt', 'AltGraph', 'Shift'].includes(key)) return null;
  const named = ['Enter', 'Escape', 'Tab', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'].includes(key);
  // With Alt alone, and with AltGr, characters are typed that the keyboard has no key for.
  const typing = key.length === 1 && !ctrlKey && !metaKey;
  const shortcut = (ctrlKey || metaKey || altKey) && !typing;
  if (!named && (!shortcut || event.getModifierState('AltGraph'))) return null;
  const held = [ctrlKey && 'Control', metaKey && 'Meta', altKey && 'Alt', shiftKey && 'Shift'].filter(Boolean);
  return [...held, key.length === 1 ? key.toUpperCase() : key].join('+');
}

/** What was typed or chosen, unless nobody should read it. @param {any} element @returns {{value?: string, masked?: true}} */
export function valueOf(element) {
  if (pageSecrets.isField(element)) return { masked: true };
  if (element.type === 'file') return {};
  if (element.type === 'checkbox' || element.type === 'radio') return { value: String(element.checked) };
  const text = element.isContentEditable ? element.innerText : element.value;
  if (typeof text !== 'string') return {};
  return pageSecrets.isCardNumber(text) || pageSecrets.hide(text) !== text ? { masked: true } : { value: clip(text, 200) };
}

/** @param {any} element @returns {ActionTarget} */
export function targetOf(element) {
  const role = element.getAttribute?.('role') ?? undefined;
  const text = textIn(element);
  return { selector: selectorOf(element), tag: element.localName, ...(role && { role }), ...(text && { text }) };
}

/** What it is called, never what was typed into it. @param {any} element @returns {string} */
export function textIn(element) {
  const named = element.getAttribute?.('aria-label') || element.labels?.[0]?.innerText || element.getAttribute?.('placeholder');
  const own = ['input', 'textarea', 'select', 'form', 'html', 'body'].includes(element.localName) || element.isContentEditable;
  const isButton = element.localName === 'input' && ['submit', 'button', 'reset'].includes(element.type);
  const text = named || (isButton && element.value) || (own ? '' : element.innerText) || '';
  return headOf(text.trim().replace(/\s+/g, ' '), 80);
}

/** The shortest that finds it again: ids and test ids, else the way from there. @param {any} element @returns {string} */
export function selectorOf(element) {
  const root = element.getRootNode();
  const parts = [];
  for (let at = element; at; at = at.parentElement) {
    const own = ownSelector(at, root);
    parts.unshift(own.text);
    if (own.unique) break;
  }
  const inside = parts.join(' > ');
  return root.host ? `${selectorOf(root.host)} >> ${inside}` : inside;
}

/** @param {any} element @param {any} root @returns {{text: string, unique: boolean}} */
export function ownSelector(element, root) {
  const testId = element.getAttribute('data-testid');
  for (const text of [element.id && `#${CSS.escape(element.id)}`, testId && `[data-testid="${CSS.escape(testId)}"]`]) {
    if (text && root.querySelectorAll(text).length === 1) return { text, unique: true };
  }
  const tag = CSS.escape(element.localName);
  const alike = [...element.parentElement?.children ?? []].filter((other) => other.localName === element.localName);
  return { text: alike.length > 1 ? `${tag}:nth-of-type(${alike.indexOf(element) + 1})` : tag, unique: tag === 'body' };
}

/** All of it as text; `watchActions` stands last. */
export const WATCH_ACTIONS = [
  CLIP, `const pageSecrets = ${secretsSource()};`, keyOf, valueOf, targetOf, textIn, selectorOf, ownSelector, watchActions,
].join('\n');
