// @ts-check
// The bar with the tools, and its words.

/** @typedef {'undo' | 'bar' | 'cancel' | 'done'} DrawCommand */

/** @param {string} name @param {string} className @param {string} [text] */
function drawElement(name, className, text = '') {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}

class DrawToolbar {
  root = drawElement('div', 'bar');
  #why = drawElement('span', '');
  #session = drawElement('span', 'session');
  #said = drawElement('p', 'said');
  /** @type {Map<DrawTool, HTMLButtonElement>} */
  #tools = new Map();
  /** @type {HTMLButtonElement[]} */
  #commands = [];

  constructor() {
    const why = drawElement('p', 'why');
    const row = drawElement('div', 'row');
    const tools = drawElement('div', 'tools');
    why.append(this.#why, this.#session);
    this.root.setAttribute('role', 'toolbar');
    this.root.ariaLabel = 'Drawing tools';
    tools.setAttribute('role', 'group');
    tools.ariaLabel = 'Tool';
    DRAW_TOOLS.forEach((tool, at) => this.#tools.set(tool, this.#button({ tool }, DRAW_LABELS[tool], String(at + 1))));
    tools.append(...this.#tools.values());
    this.#commands = [
      this.#button({ command: 'undo' }, 'Undo', 'Ctrl Z'), this.#button({ command: 'bar' }, 'Move bar'),
      this.#button({ command: 'cancel' }, 'Cancel', 'Esc'), this.#button({ command: 'done' }, 'Done', 'Enter'),
    ];
    this.#commands[3].classList.add('done');
    row.append(tools, ...this.#commands);
    this.#said.setAttribute('role', 'status');
    this.#said.ariaLive = 'polite';
    this.root.append(why, row, this.#said);
  }

  /** @param {string} why @param {string} session the name of the session that it is for, or nothing */
  explain(why, session) {
    this.#why.textContent = why;
    this.#session.textContent = session && `Session: ${session}`;
  }

  /** @param {string} text @param {boolean} [isTrouble] */
  say(text, isTrouble = false) {
    this.#said.textContent = text;
    this.#said.classList.toggle('trouble', isTrouble);
  }

  /** @param {DrawTool} chosen */
  choose(chosen) {
    for (const [tool, button] of this.#tools) button.ariaPressed = String(tool === chosen);
  }

  /** While a drawing is on its way it can be given up, and nothing else. @param {boolean} isBusy */
  setBusy(isBusy) {
    for (const button of this.#tools.values()) button.disabled = isBusy;
    for (const button of this.#commands) button.disabled = isBusy && button.dataset.command !== 'cancel';
  }

  /** To the other edge: what is beneath it can be drawn on, too. */
  moveAway() {
    this.root.classList.toggle('top');
  }

  /** @param {{tool?: DrawTool, command?: DrawCommand}} what @param {string} text @param {string} [key] */
  #button(what, text, key) {
    const button = document.createElement('button');
    button.type = 'button';
    Object.assign(button.dataset, what);
    button.append(text);
    if (!key) return button;
    const hint = drawElement('kbd', '', key);
    hint.ariaHidden = 'true';
    button.append(hint);
    button.setAttribute('aria-keyshortcuts', DRAW_SHORTCUTS[key] ?? key);
    return button;
  }
}

/** @type {Record<DrawTool, string>} */
const DRAW_LABELS = { rectangle: 'Rectangle', arrow: 'Arrow', freehand: 'Free-hand', note: 'Note' };
/** @type {Record<string, string>} as assistive technology calls them */
const DRAW_SHORTCUTS = { Esc: 'Escape', 'Ctrl Z': 'Control+Z' };
