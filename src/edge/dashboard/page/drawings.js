// @ts-check
// The drawings of people for agents: those that are asked for, and those that were made. A click shows one with its picture.

import { facts, part } from './detail_panel.js';
import { ask } from './feed.js';
import { renew } from './lists.js';
import { byId, clock, element, hostOf } from './parts.js';

/** @import {CommandStore} from './commands.js' */
/** @import {DetailPanel} from './detail_panel.js' */

/** Those that are listed; the command line lists all. */
const LISTED = 8;
/** The id of a wait for a drawing begins so. */
const WAIT = 'ann_';

/** @typedef {{drawing_id: string, owner: string, at: string, page: string, session: string | null, annotations: number, unread: boolean}} KeptDrawing */

export class DrawingsPanel {
  #panel;
  #token;
  /** Of the list that is shown. */
  #changedAt = '';
  /** @type {KeptDrawing[]} */
  #kept = [];
  #count = 0;
  #damaged = 0;

  /** @param {DetailPanel} panel @param {string} token */
  constructor(panel, token) {
    this.#panel = panel;
    this.#token = token;
  }

  /** The daemon says when one was kept, read or deleted; only then they are asked for. @param {string | null} changedAt */
  async take(changedAt) {
    if (changedAt === null || changedAt === this.#changedAt) return;
    const before = this.#changedAt;
    this.#changedAt = changedAt;
    const response = await ask('/dashboard/drawings', this.#token).catch(() => null);
    const told = response?.ok ? await response.json().catch(() => null) : null;
    // The next state asks once more.
    if (told === null && this.#changedAt === changedAt) this.#changedAt = before;
    if (told === null) return;
    this.#kept = told.drawings;
    this.#count = told.count;
    this.#damaged = told.damaged;
  }

  /** @param {CommandStore} store */
  draw(store) {
    const waits = [...store.open.values()].filter(({ id }) => id.startsWith(WAIT));
    const kept = this.#kept.slice(0, LISTED);
    byId('drawings').hidden = waits.length === 0 && kept.length === 0 && this.#damaged === 0;
    const about = [waits.map(({ id, agent }) => [id, agent]), kept, this.#count, this.#damaged];
    renew(byId('drawing-list'), about, () => [
      ...waits.map(({ agent, from }) => element('li', {}, element('p', {}, 'Asked for, not drawn yet'), element('p', { class: 'hint' }, `${agent} · since ${clock(from)}`))),
      ...kept.map((one) => this.#itemOf(one)),
      ...(this.#count > kept.length ? [element('li', { class: 'soft' }, `and ${this.#count - kept.length} more: tabwire drawings`)] : []),
      ...(this.#damaged > 0 ? [element('li', { class: 'soft' }, `${this.#damaged} damaged ${this.#damaged === 1 ? 'file' : 'files'}: tabwire drawings`)] : []),
    ]);
  }

  /** @param {KeptDrawing} one */
  #itemOf(one) {
    const button = element('button', { type: 'button' }, hostOf(one.page) || 'a page without a site');
    button.addEventListener('click', () => { this.#show(one); });
    return element('li', {}, button, element('p', { class: 'hint' }, `${countOf(one)} · ${stateOf(one)} · ${clock(Date.parse(one.at))}`));
  }

  /** @param {KeptDrawing} one */
  async #show(one) {
    if (!this.#panel.open(one.drawing_id, 'drawing')) return;
    const head = facts({
      State: stateOf(one), Page: one.page, Made: new Date(one.at).toLocaleString(), Annotations: String(one.annotations), Session: one.session ?? '–',
      ...(one.owner !== 'user' && { Owner: one.owner }), Id: element('span', { class: 'mono' }, one.drawing_id),
    });
    this.#panel.draw(one.drawing_id, [head]);
    const response = await ask(`/dashboard/drawings/${encodeURIComponent(one.drawing_id)}`, this.#token).catch(() => null);
    if (!response?.ok) return this.#panel.draw(one.drawing_id, [head, element('p', { class: 'hint' }, 'There is no picture of it, or it was deleted.')]);
    const address = URL.createObjectURL(await response.blob());
    const picture = element('img', { alt: 'The page with the drawing', src: address });
    for (const end of ['load', 'error']) picture.addEventListener(end, () => URL.revokeObjectURL(address));
    const film = element('div', { class: 'film', tabindex: '0', role: 'group', 'aria-label': 'Picture' }, picture);
    this.#panel.draw(one.drawing_id, [head, part('Picture', film)]);
  }
}

/** @param {KeptDrawing} one */
const countOf = ({ annotations }) => `${annotations} ${annotations === 1 ? 'annotation' : 'annotations'}`;

/** @param {KeptDrawing} one */
const stateOf = ({ unread }) => (unread ? 'not read yet' : 'read by the agent');
