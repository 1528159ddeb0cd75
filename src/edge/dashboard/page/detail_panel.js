// @ts-check
// The panel beside a list: it shows one command or one recorded entry, and closes.

import { byId, element, say } from './parts.js';

export class DetailPanel {
  /** The id of that which is shown. */
  #shown = '';
  onClose = () => {};

  constructor() {
    byId('close').addEventListener('click', () => this.close());
    document.addEventListener('keydown', ({ key }) => { if (key === 'Escape' && !byId('detail').hidden && !document.querySelector('dialog[open]')) this.close(); });
  }

  get shown() {
    return this.#shown;
  }

  close() {
    this.#shown = '';
    byId('detail').hidden = true;
    delete byId('board').dataset.detail;
    this.onClose();
  }

  /** @param {string} id @param {string} title @returns {boolean} whether it was not shown before */
  open(id, title) {
    const isNew = id !== this.#shown;
    this.#shown = id;
    if (isNew) for (const button of byId('detail-acts').children) button.hidden = true;
    if (isNew) say(byId('detail-said'), '');
    byId('detail').hidden = false;
    byId('board').dataset.detail = '';
    say(byId('detail-h'), title);
    return isNew;
  }

  /** Draws it, unless another one was chosen meanwhile. @param {string} id @param {Node[]} parts */
  draw(id, parts) {
    if (id === this.#shown) byId('detail-body').replaceChildren(...parts);
  }
}

/** @param {string} title @param {...Node} content */
export function part(title, ...content) {
  return element('div', {}, element('h3', {}, title), ...content);
}

/** @param {Record<string, Node | string>} facts */
export function facts(facts) {
  return element('dl', {}, ...Object.entries(facts).flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));
}
