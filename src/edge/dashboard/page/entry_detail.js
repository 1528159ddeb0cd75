// @ts-check
// The details of one recorded entry: all its fields, as text.

import { facts, part } from './detail_panel.js';
import { ask } from './feed.js';
import { clock, element, length } from './parts.js';

/** @import {DetailPanel} from './detail_panel.js' */
/** @import {EntryRow, TabNames} from './recordings.js' */

/** Longer texts have a box of their own. */
const SHORT = 120;
/** Said in words above the fields. */
const SAID = new Set(['at', 'browser', 'tab_id', 'duration_ms', 'ttfb_ms']);

export class EntryDetail {
  #panel;
  #token;
  #tabs;

  /** @param {DetailPanel} panel @param {string} token @param {TabNames} tabs */
  constructor(panel, token, tabs) {
    this.#panel = panel;
    this.#token = token;
    this.#tabs = tabs;
  }

  /** @param {EntryRow | undefined} row */
  async show(row) {
    // An entry never changes, so what is drawn stays.
    if (!row || !this.#panel.open(row.id, row.title)) return;
    const head = this.#headOf(row);
    this.#panel.draw(row.id, [head]);
    const response = await ask(`/dashboard/entries/${encodeURIComponent(row.id)}`, this.#token).catch(() => null);
    const entry = response?.ok ? await response.json().catch(() => null) : null;
    const gone = element('p', { class: 'hint' }, 'The daemon has dropped the whole entry: it keeps the last ones of each stream.');
    this.#panel.draw(row.id, entry ? [head, ...fieldsOf(entry)] : [head, element('p', { class: 'note' }, row.words), gone]);
  }

  /** @param {EntryRow} row */
  #headOf(row) {
    const { told } = row;
    const [tab, browser] = this.#tabs.of(told);
    return facts({
      Time: `${clock(row.from)}.${String(row.from % 1_000).padStart(3, '0')}`,
      Stream: row.streamName,
      Level: element('span', { class: 'word', 'data-end': row.end }, told.level),
      Tab: told.tab_id === undefined ? '–' : `${tab} (${told.tab_id})`,
      Browser: browser,
      ...(told.source && { Source: told.source }),
      ...(told.duration_ms !== undefined && { Took: length(told.duration_ms) }),
      ...(told.ttfb_ms !== undefined && { 'First byte': `after ${length(told.ttfb_ms)}` }),
    });
  }
}

/** @param {Record<string, any>} entry @returns {Node[]} */
function fieldsOf(entry) {
  /** @type {Record<string, string>} */
  const short = {};
  /** @type {Node[]} */
  const parts = [];
  for (const [name, value] of Object.entries(entry)) {
    const title = name.replaceAll('_', ' ');
    if (SAID.has(name)) continue;
    if (value !== null && typeof value === 'object') parts.push(part(title, facts(Object.fromEntries(Object.entries(value).map(([key, of]) => [key, String(of)])))));
    else if (typeof value === 'string' && (value.length > SHORT || value.includes('\n'))) parts.push(part(title, element('pre', { tabindex: '0' }, value)));
    else short[title] = String(value);
  }
  return [part('Entry', facts(short)), ...parts];
}
