// @ts-check
// The recorded entries of all tabs: logs, requests on one time axis, WebSockets, the person's actions.

import { saveEntries } from './export.js';
import { byId, clock, element, length, offerChoice, say } from './parts.js';
import { RowList, RowStore } from './rows.js';

/** @import {TimedRow} from './rows.js' */

/**
 * @typedef {TimedRow & EntryFacts} EntryRow a recorded entry
 *
 * @typedef {object} EntryFacts
 * @property {string} stream
 * @property {string} streamName
 * @property {string} title a method, an event or a level
 * @property {string} words
 * @property {'done' | 'held' | 'bad'} end
 * @property {string} place its browser and its tab
 */

/** @type {Record<string, string>} */
const STREAMS = { logs: 'Log', network: 'Network', websocket: 'WebSocket', actions: 'Action' };
/** @type {Record<string, EntryRow['end']>} */
const ENDS = { error: 'bad', warn: 'held' };

/** @param {any} told as the daemon sends it @returns {EntryRow} */
export function entryOf(told) {
  const { id, stream, level, kind, status, url = '', text = '', source = '', tab_id, browser } = told;
  const from = Date.parse(told.at);
  const to = from + (told.duration_ms ?? 0);
  const end = ENDS[level] ?? 'done';
  const title = stream === 'network' ? `${kind} ${status ?? '–'}` : stream === 'logs' ? level : kind;
  // Of a line the text tells more than the address of its page.
  const words = [stream === 'actions' ? source : '', text, url.replace(/^https?:\/\//, '')].filter(Boolean).join(' · ');
  return {
    id, stream, streamName: STREAMS[stream] ?? stream, title, words, end, from, to, told, place: `${browser} ${tab_id ?? ''}`,
    segments: segmentsOf(told, from, to, end),
    text: [STREAMS[stream], level, kind, status, url, text, source, `tab ${tab_id}`].join(' ').toLowerCase(),
  };
}

/** @param {any} told @param {number} from @param {number} to @param {EntryRow['end']} end @returns {EntryRow['segments']} */
function segmentsOf({ stream, ttfb_ms }, from, to, end) {
  if (stream !== 'network') return [{ kind: end === 'done' ? 'queue' : end, from, to }];
  const first = Math.min(to, from + (ttfb_ms ?? 0));
  return [{ kind: 'way', from, to: first }, { kind: end, from: first, to }];
}

/** The names of tabs and browsers. Pages decide those of tabs. */
export class TabNames {
  /** @type {Map<string, string>} */
  #tabs = new Map();
  /** @type {Map<string, string>} */
  #browsers = new Map();
  /** Of the tabs that are open. @type {string[]} */
  sites = [];

  /** @param {any[]} browsers as the stream tells them */
  take(browsers) {
    const sites = browsers.flatMap(({ tabs }) => tabs.map((/** @type {any} */ { site }) => site));
    this.sites = [...new Set(sites.filter(Boolean))].sort();
    for (const { browser, label, tabs } of browsers) {
      this.#browsers.set(browser, label);
      // The names of tabs that have closed stay: their entries do, too.
      for (const { tab_id, title, site } of tabs) this.#tabs.set(`${browser} ${tab_id}`, title || site || `tab ${tab_id}`);
    }
  }

  /** @param {any} told an entry @returns {[string, string]} the names of its tab and of its browser */
  of({ browser, tab_id }) {
    const tab = tab_id === undefined ? 'no tab' : this.#tabs.get(`${browser} ${tab_id}`) ?? `tab ${tab_id}`;
    return [tab, this.#browsers.get(browser) ?? browser];
  }
}

/** @extends {RowStore<EntryRow>} */
export class EntryStore extends RowStore {
  constructor() {
    super(entryOf);
  }
}

/** @extends {RowList<EntryRow>} */
export class EntryList extends RowList {
  #store;
  #tabs;
  #stream = 'all';
  #isFailed = false;
  /** Entries that the daemon dropped before this page had them. */
  #dropped = 0;

  /** @param {EntryStore} store @param {TabNames} tabs */
  constructor(store, tabs) {
    const words = (/** @type {boolean} */ isAny) => (isAny ? 'No entry fits.' : 'Nothing is recorded. An agent begins it with configure capture; the debugger bar and the popup show it.');
    super(byId('recordings'), store, { cells, fill: (node, row) => fill(node, row, tabs.of(row.told)[0]), empty: words });
    this.#store = store;
    this.#tabs = tabs;
    offerChoice('streams', ({ stream }) => {
      this.#stream = stream;
      this.#choose();
    });
    byId('only-failures').addEventListener('click', (/** @type {any} */ { currentTarget }) => {
      this.#isFailed = !this.#isFailed;
      currentTarget.setAttribute('aria-pressed', String(this.#isFailed));
      this.#choose();
    });
    byId('of-tab').addEventListener('change', () => this.#choose());
    byId('save-entries').addEventListener('click', () => saveEntries(this.shown, tabs, this.#dropped, byId('daemon').textContent));
  }

  #choose() {
    const [stream, place, isFailed] = [this.#stream, byId('of-tab').value, this.#isFailed];
    const isAll = stream === 'all' && place === '' && !isFailed;
    this.filter(isAll ? null : (row) => (stream === 'all' || row.stream === stream) && (place === '' || row.place === place) && (!isFailed || row.end === 'bad'));
  }

  /** @param {number} count */
  handleDropped(count) {
    this.#dropped += count;
  }

  /** The tabs to choose from, and the number of entries. */
  drawTools() {
    const tabs = new Map(this.#store.all.map((row) => [row.place, row.told]));
    const choices = [['', 'All tabs'], ...[...tabs].map(([place, told]) => [place, this.#tabs.of(told).join(' · ')])];
    const select = byId('of-tab');
    const about = JSON.stringify(choices);
    // A list that is open would close.
    if (select.dataset.about !== about && !select.matches(':focus')) {
      const chosen = select.value;
      select.dataset.about = about;
      select.replaceChildren(...choices.map(([value, name]) => element('option', { value }, name)));
      select.value = chosen;
      // The tab's last entry has left the page.
      if (select.selectedIndex < 0) {
        select.value = '';
        this.#choose();
      }
    }
    const dropped = this.#dropped > 0 ? `, ${this.#dropped.toLocaleString('en')} were dropped before this page had them` : '';
    say(byId('entry-count'), `${this.#store.all.length.toLocaleString('en')} ${this.#store.all.length === 1 ? 'entry' : 'entries'}${dropped}`);
  }
}

function cells() {
  return [element('time'), element('span', { class: 'stream' }), element('span', { class: 'action' }), element('span', { class: 'target' }), element('span', { class: 'agent' }),
    element('span', { class: 'track' }), element('span', { class: 'ms' }), element('span', { class: 'heard' })];
}

/** @param {HTMLElement} node @param {EntryRow} row @param {string} tab */
function fill(node, row, tab) {
  const [time, stream, title, words, where, , ms, heard] = /** @type {HTMLElement[]} */ ([...node.children]);
  say(where, tab);
  if (node.dataset.id === row.id) return;
  Object.assign(node.dataset, { id: row.id, end: row.end, stream: row.stream });
  say(time, clock(row.from));
  say(stream, row.streamName);
  say(title, row.title);
  say(words, row.words);
  say(ms, row.told.duration_ms === undefined ? '' : length(row.told.duration_ms));
  // The colours say it to those who see them.
  say(heard, row.end === 'bad' ? 'failed' : '');
  words.title = row.told.source ?? '';
}
