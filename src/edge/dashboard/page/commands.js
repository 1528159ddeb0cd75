// @ts-check
// The commands: what a row of the list says of one, and which of them it shows.

import { byId, clock, element, hostOf, length, offerChoice, say } from './parts.js';
import { endOf, segmentsOf } from './phases.js';
import { RowList, RowStore } from './rows.js';

/** @import {CommandEnd} from './phases.js' */
/** @import {TimedRow} from './rows.js' */

/**
 * @typedef {TimedRow & CommandFacts} Row a command
 *
 * @typedef {object} CommandFacts as the daemon sends them
 * @property {string} action
 * @property {string} agent
 * @property {string} target
 * @property {string} where
 * @property {string} status
 * @property {CommandEnd} end
 */

/** @type {Record<string, ((row: Row) => boolean) | null>} */
const SHOWS = { all: null, open: ({ end }) => end === 'open' || end === 'held', failed: ({ end }) => end === 'bad' };

/** @param {any} told @returns {Row} */
export function rowOf(told) {
  const end = endOf(told.status);
  const from = Date.parse(told.created_at);
  const to = told.ended_at === undefined ? undefined : from + told.duration_ms;
  const agent = told.agent || told.client;
  const target = told.target ?? '';
  const where = told.tab_id === undefined ? '' : `tab ${told.tab_id}`;
  return {
    id: told.correlation_id, action: told.command, agent, target, where, status: told.status, end, from, to, told,
    segments: segmentsOf(told.trace, from, to, end),
    text: [told.command, agent, told.owner, target, hostOf(target), where, told.reason, told.correlation_id].join(' ').toLowerCase(),
  };
}

/** @extends {RowStore<Row>} */
export class CommandStore extends RowStore {
  /** Those that are not over, by id. @type {Map<string, Row>} */
  open = new Map();
  /** Those that failed, by id, in the order in which the page was told. @type {Map<string, Row>} */
  failed = new Map();

  constructor() {
    super(rowOf);
  }

  /** @override @param {Row} row */
  kept(row) {
    // One that stays keeps its place.
    if (row.to === undefined) this.open.set(row.id, row);
    else this.open.delete(row.id);
    if (row.end === 'bad') this.failed.set(row.id, row);
    else this.failed.delete(row.id);
  }

  /** @override @param {Row} row */
  forgotten({ id }) {
    this.open.delete(id);
    this.failed.delete(id);
  }
}

/** @extends {RowList<Row>} */
export class CommandList extends RowList {
  /** @param {CommandStore} store */
  constructor(store) {
    super(byId('commands'), store, { cells, fill, empty: (isAny) => (isAny ? 'No command fits.' : 'No command yet. The next call of an agent shows here.') });
    offerChoice('states', ({ show }) => this.filter(SHOWS[show]));
  }
}

function cells() {
  return [element('time'), element('span', { class: 'action' }), element('span', { class: 'target' }), element('span', { class: 'agent' }),
    element('span', { class: 'track' }), element('span', { class: 'ms' }), element('span', { class: 'heard' })];
}

/** @param {HTMLElement} node @param {Row} row */
function fill(node, row) {
  const [time, action, target, agent, , ms, heard] = /** @type {HTMLElement[]} */ ([...node.children]);
  if (node.dataset.id !== row.id || node.dataset.status !== row.status) {
    Object.assign(node.dataset, { id: row.id, status: row.status, end: row.end });
    say(time, clock(row.from));
    say(action, row.action);
    say(target, [row.target.replace(/^https?:\/\//, ''), row.where].filter(Boolean).join(' · '));
    say(agent, row.agent);
    // The colours say it to those who see them.
    say(heard, row.told.reason ?? row.status.replaceAll('_', ' '));
    target.title = row.target;
  }
  say(ms, length((row.to ?? Date.now()) - row.from));
}
