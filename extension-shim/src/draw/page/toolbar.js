// @ts-check
// The words above the picture, and the tools below it.

/** @import {DrawTool} from './geometry.js' */

import { agentWords } from '../../lib/agent_words.js';
import { DRAW_REQUESTS_SHOWN } from '../limits.js';

/** @typedef {'undo' | 'cancel' | 'send'} DrawCommand */

/** @type {Record<DrawTool, string>} */
export const DRAW_LABELS = { rectangle: 'Rectangle', arrow: 'Arrow', freehand: 'Free-hand', note: 'Note' };
/** @type {Record<DrawTool, string>} */
const TOOL_IDS = { rectangle: 'rectangle', arrow: 'arrow', freehand: 'freehand', note: 'note-tool' };

/** @param {string} id @returns {any} */
export const drawElement = (id) => document.getElementById(id);

export class DrawToolbar {
  #tools = /** @type {[DrawTool, HTMLButtonElement][]} */ (Object.entries(TOOL_IDS).map(([tool, id]) => [tool, drawElement(id)]));
  #message = drawElement('message');

  /** @param {{choose: (tool: DrawTool) => void, run: (command: DrawCommand) => void}} on the effects of clicks */
  constructor({ choose, run }) {
    for (const [tool, button] of this.#tools) button.addEventListener('click', () => choose(tool));
    for (const command of /** @type {DrawCommand[]} */ (['undo', 'cancel', 'send'])) {
      drawElement(command).addEventListener('click', () => run(command));
    }
  }

  /** @param {string} why @param {string} session the name of the session that it is for, or nothing */
  explain(why, session) {
    drawElement('why').textContent = why;
    drawElement('session').textContent = `Session: ${session}`;
    drawElement('session').hidden = session === '';
  }

  /** @param {{client: string, prompt: string}[]} requests */
  showRequests(requests) {
    const list = drawElement('requests');
    list.hidden = requests.length === 0;
    list.replaceChildren(...requests.slice(-DRAW_REQUESTS_SHOWN).map(requestRow));
  }

  /** @param {string} url @param {string} title of the page in the picture */
  showPage(url, title) {
    drawElement('page').textContent = title ? `${url} – ${title}` : url;
    const host = URL.canParse(url) ? new URL(url).host : '';
    document.title = host ? `Draw – ${host}` : document.title;
  }

  /** @param {string} text @param {boolean} [isTrouble] */
  announce(text, isTrouble = false) {
    this.#message.textContent = text;
    this.#message.classList.toggle('trouble', isTrouble);
  }

  /** @param {DrawTool} chosen */
  choose(chosen) {
    for (const [tool, button] of this.#tools) button.ariaPressed = String(tool === chosen);
  }

  /** While a drawing is on its way it can be given up, and nothing else. @param {boolean} isBusy */
  setBusy(isBusy) {
    document.body.classList.toggle('busy', isBusy);
    for (const [, button] of this.#tools) button.disabled = isBusy;
    for (const command of ['undo', 'send']) drawElement(command).disabled = isBusy;
  }
}

/** @param {{client: string, prompt: string}} request */
function requestRow(request) {
  const row = document.createElement('li');
  row.append(...agentWords(request));
  return row;
}
