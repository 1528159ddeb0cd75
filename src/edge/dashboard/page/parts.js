// @ts-check
// Small parts: elements, times and words. Everything that comes from pages or agents becomes text, never markup.

/**
 * @param {string} tag @param {Record<string, string>} [attributes] `class`, `data-…` and others @param {...(Node | string)} inside
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** Only a change touches the page. @param {Node} node @param {string} text */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** The same for an attribute. @param {Element} node @param {string} name @param {string} value */
export function mark(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** Buttons of which one is chosen. @param {string} group its id @param {(chosen: Record<string, string>) => void} tell with the data of that button */
export function offerChoice(group, tell) {
  const buttons = [...byId(group).children];
  for (const button of buttons) {
    button.addEventListener('click', () => {
      for (const other of buttons) other.setAttribute('aria-pressed', String(other === button));
      tell(button.dataset);
    });
  }
}

/** @param {number} ms @returns {string} a length */
export function length(ms) {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(2)} s`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
}

/** @param {number} bytes */
export function size(bytes) {
  return bytes < 1 << 20 ? `${Math.round(bytes / 1024)} KiB` : `${(bytes / 1048576).toFixed(1)} MiB`;
}

/** @param {number} at @returns {string} the time of day */
export function clock(at) {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}

/** @param {string | undefined} url @returns {string} the host of a page */
export function hostOf(url) {
  try {
    const { host, protocol } = new URL(url ?? '');
    return host || protocol.slice(0, -1);
  } catch {
    return '';
  }
}
