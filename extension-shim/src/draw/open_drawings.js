// @ts-check
// Which tabs a person is drawing on a picture of, and which waits want that drawing. Survives the worker:
// no other part remembers it when a page or a drawing's tab is closed.

import { once } from '../lib/once.js';
import { sessionItems } from '../lib/session_items.js';

/**
 * @typedef {{correlation_id: string, session?: string, styles?: boolean, client?: string, prompt?: string}} DrawingWait a wait for a drawing;
 *   `client`: the agent's name for itself; `prompt`: its description of the drawing. Both are the agent's words
 *
 * @typedef {object} DrawingRequest a drawing that agents wait for, as the person sees it
 * @property {number} tab_id the tab that the picture is of
 * @property {string} page_title
 * @property {{client: string, prompt: string}[]} asks the oldest first
 *
 * @typedef {object} OpenDrawing
 * @property {DrawingWait[]} asks the waits that have neither ended nor got the drawing
 * @property {string[]} [over] waits that have ended, and of which the drawing's page does not know yet
 * @property {boolean} is_persons the person opened it unasked
 * @property {string | null} document_id the page in the picture; null once it is gone
 * @property {string} page_url
 * @property {string} page_title
 * @property {string | null} [owner] of an empty page: the origin that opened it
 * @property {number} [draw_tab] the tab that shows the picture; absent until the browser has opened it
 */

const KEY = 'draw:open';

/** How many agents wait, in all these tabs together. @param {DrawingRequest[]} drawings @returns {number} */
export function countRequests(drawings) {
  return drawings.reduce((sum, { asks }) => sum + asks.length, 0);
}

export class OpenDrawings {
  /** @type {Map<number, OpenDrawing>} by the tab that the picture is of */
  #open = new Map();

  /** Reads once the entries of an earlier worker. */
  restore = once(() => this.#read());

  async #read() {
    const stored = (await sessionItems(KEY))[KEY];
    for (const [tabId, drawing] of Object.entries(stored ?? {})) this.#open.set(Number(tabId), /** @type {OpenDrawing} */ (drawing));
  }

  /** @param {number} tabId @param {OpenDrawing} drawing */
  async put(tabId, drawing) {
    await this.restore();
    this.#open.set(tabId, drawing);
    await this.#write();
  }

  /** Changes an entry that may have ended meanwhile. @param {number} tabId @param {Partial<OpenDrawing>} change */
  async change(tabId, change) {
    await this.#alter(tabId, () => change);
  }

  /**
   * Nothing is awaited between reading an entry and writing it: another caller may end or change it.
   * @param {number} tabId @param {(drawing: OpenDrawing) => Partial<OpenDrawing>} change
   */
  async #alter(tabId, change) {
    await this.restore();
    const drawing = this.#open.get(tabId);
    if (!drawing) return;
    this.#open.set(tabId, { ...drawing, ...change(drawing) });
    await this.#write();
  }

  /** @param {number} tabId @returns {Promise<OpenDrawing | undefined>} */
  async get(tabId) {
    await this.restore();
    return this.#open.get(tabId);
  }

  /** @param {number} drawTab @returns {Promise<number | undefined>} the tab whose picture it shows */
  async shownIn(drawTab) {
    await this.restore();
    return this.tabs().find((tabId) => this.#open.get(tabId)?.draw_tab === drawTab);
  }

  /** @returns {number[]} those that have one */
  tabs() {
    return [...this.#open.keys()];
  }

  /** Something is open now, is not any more, or is wanted by others. */
  onChange = () => {};

  /** @returns {(DrawingRequest & {draw_tab: number})[]} those that agents wait for, and where each is drawn */
  requests() {
    return [...this.#open].flatMap(([tab_id, { asks, over = [], draw_tab, page_title, page_url }]) => {
      const open = asks.filter(({ correlation_id }) => !over.includes(correlation_id));
      if (open.length === 0 || draw_tab === undefined) return [];
      const told = open.map(({ client = '', prompt = '' }) => ({ client, prompt }));
      return [{ tab_id, draw_tab, page_title: page_title || page_url, asks: told }];
    });
  }

  /** @returns {string[]} all waits that one is open for */
  waits() {
    return [...this.#open.values()].flatMap(({ asks }) => asks.map(({ correlation_id }) => correlation_id));
  }

  /** @param {string[]} waits @returns {number[]} those that have one for any of them */
  tabsFor(waits) {
    return this.tabs().filter((tabId) => this.#open.get(tabId)?.asks.some(({ correlation_id }) => waits.includes(correlation_id)));
  }

  /** These waits need no further report. @param {number} tabId @param {string[]} settled */
  async dropAsks(tabId, settled) {
    await this.#alter(tabId, ({ asks }) => ({ asks: asks.filter(({ correlation_id }) => !settled.includes(correlation_id)) }));
  }

  /** Forgets it. @param {number} tabId @returns {Promise<OpenDrawing | undefined>} the former entry, for one caller alone */
  async take(tabId) {
    await this.restore();
    const drawing = this.#open.get(tabId);
    if (!drawing) return undefined;
    // As in `#alter`: an event and the look of a new worker may both come to take it.
    this.#open.delete(tabId);
    await this.#write();
    return drawing;
  }

  async #write() {
    this.onChange();
    await chrome.storage.session.set({ [KEY]: Object.fromEntries(this.#open) });
  }
}
