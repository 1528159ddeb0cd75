// @ts-check
// What is beside the list: numbers, browsers with their tabs, questions, jobs, failures.

import { act } from './feed.js';
import { renew } from './lists.js';
import { byId, clock, element, say } from './parts.js';

/** @import {CommandStore, Row} from './commands.js' */

const RECENT_MS = 300_000;
const FAILURES = 6;
/** Tabs of a browser that are shown. */
const TABS = 40;

/** @param {CommandStore} store @param {(id: string) => void} show */
export function drawCommands(store, show) {
  const since = Date.now() - RECENT_MS;
  const open = [...store.open.values()];
  const isOpen = open.filter(({ end }) => end === 'open');
  const held = open.filter(({ end }) => end === 'held');
  say(byId('n-running'), String(isOpen.length));
  say(byId('n-waiting'), held.length > 0 ? `${held.length} ${held.length === 1 ? 'waits' : 'wait'} for you` : 'none waits for you');
  say(byId('n-recent'), String(store.countSince(since)));
  const failed = [...store.failed.values()].filter(({ from }) => from >= since);
  say(byId('n-failed'), String(failed.length));
  say(byId('n-reason'), failed.length > 0 ? `last: ${reasonOf(failed[failed.length - 1])}` : 'in the last 5 minutes');
  drawJobs(isOpen);
  drawFailures(store, show);
}

/** @param {Row} row */
function reasonOf(row) {
  return row.told.reason ?? row.status;
}

/** @param {Row[]} open commands */
function drawJobs(open) {
  const jobs = open.filter(({ told }) => told.is_job);
  byId('jobs').hidden = jobs.length === 0;
  renew(byId('job-list'), jobs.map(({ told }) => [told.correlation_id, told.progress]), () => jobs.map(({ told, action, agent }) => {
    const { message = told.message ?? '', progress } = told.progress ?? {};
    const bar = element('progress', { 'aria-label': `${action} of ${agent}`, max: '1', ...(progress !== undefined && { value: String(progress) }) });
    return element('li', {}, element('p', {}, action), bar, element('p', { class: 'hint' }, message));
  }));
}

/** @param {CommandStore} store @param {(id: string) => void} show */
function drawFailures(store, show) {
  /** One line a code, with the newest command that failed so. @type {Map<string, {row: Row, count: number}>} */
  const codes = new Map();
  for (const row of store.failed.values()) {
    if (!row.told.hint) continue;
    const count = (codes.get(reasonOf(row))?.count ?? 0) + 1;
    codes.delete(reasonOf(row));
    codes.set(reasonOf(row), { row, count });
  }
  const shown = [...codes.values()].reverse().slice(0, FAILURES);
  byId('failures').hidden = shown.length === 0;
  renew(byId('failure-list'), shown.map(({ row, count }) => [row.id, count]), () => shown.map(({ row, count }) => {
    const times = count > 1 ? ` · ${count} times` : '';
    const button = element('button', { type: 'button' }, element('span', { class: 'code' }, reasonOf(row)), ` ${row.action} · ${clock(row.from)}${times}`);
    button.addEventListener('click', () => show(row.id));
    return element('li', {}, button, element('p', { class: 'hint' }, row.told.hint));
  }));
}

/** @param {any} state @param {string} token */
export function drawState({ daemon, browsers, asks }, token) {
  say(byId('daemon'), `${daemon.version} · port ${daemon.port} · ${daemon.storage === 'journal' ? 'journal on' : `journal ${daemon.storage}`}`);
  byId('asks').hidden = asks.length === 0;
  renew(byId('ask-list'), asks, () => asks.map((/** @type {any} */ ask) => element('li', {},
    element('p', {}, ask.text),
    element('p', { class: 'hint' }, `${ask.client} · until ${clock(Date.parse(ask.until))} · answer in the Tabwire popup`))));
  renew(byId('browser-list'), browsers, () => (browsers.length > 0 ? browsers.map((/** @type {any} */ one) => browserOf(one, token)) : [element('li', { class: 'soft' }, 'No browser has connected. Run tabwire install.')]));
}

/** @param {string} browser @param {any} tab @param {string} token */
function takeButton(browser, { tab_id, title, site, holder }, token) {
  const name = `Take back ${title || site || 'the tab'} from ${holder}`;
  const button = /** @type {HTMLButtonElement} */ (element('button', { type: 'button', class: 'act', 'aria-label': name, title: name }, 'Take back'));
  button.addEventListener('click', async () => {
    button.disabled = true;
    // The stream shows that it is nobody's any more.
    if (!await act('/dashboard/tabs', token, { browser, tab_id })) button.disabled = false;
  });
  return button;
}

/** @param {any} browser @param {string} token */
function browserOf({ browser, label, connected, stopped, extension_changed, tabs }, token) {
  const [state, word] = stopped ? ['stopped', 'stopped by you'] : extension_changed ? ['changed', 'extension changed'] : connected ? ['here', `${tabs.length} ${tabs.length === 1 ? 'tab' : 'tabs'}`] : ['away', 'not connected'];
  // Held ones first: they are the ones that agents act in.
  const first = [...tabs].sort((a, b) => Number(b.holder !== undefined) - Number(a.holder !== undefined)).slice(0, TABS);
  const list = element('ul', { class: 'tabs', 'aria-label': `Tabs of ${label}` }, ...first.map((/** @type {any} */ tab) => {
    const name = tab.title || tab.site || 'a page without a name';
    const holder = tab.holder === undefined ? [] : [element('span', { class: 'chip', title: `held by ${tab.holder}` }, tab.holder), takeButton(browser, tab, token)];
    return element('li', { class: 'tab', ...(tab.front && { 'data-front': '' }) },
      element('span', { class: 'name', title: tab.site ?? '' }, name, element('span', { class: 'soft' }, ` ${tab.site ?? ''}`)), ...holder);
  }));
  if (tabs.length > TABS) list.append(element('li', { class: 'soft' }, `and ${tabs.length - TABS} more`));
  return element('li', {}, element('p', { class: 'browser', 'data-state': state }, label, element('span', {}, word)), ...(tabs.length > 0 && connected ? [list] : []));
}
