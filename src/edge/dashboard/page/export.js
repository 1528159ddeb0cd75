// @ts-check
// What a list shows as one file: a session as a page that needs nothing else, or as JSON for programs; recordings as JSON.

import { clock, element, length } from './parts.js';
import { drawSegments } from './phases.js';

/** @import {Row} from './commands.js' */
/** @import {EntryRow, TabNames} from './recordings.js' */

/** No script runs in the file, and it asks for nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const STYLE = `
:root { color-scheme: light dark; --back: #fff; --text: #1b1e23; --soft: #59616c; --line: #e2e5e9; --bad-text: #b3232f;
  --queue: #b9c0cb; --way: #8d9bb5; --held: #d18616; --run: #3b66e0; --done: #2f9461; --bad: #d03a45; --open: #3b66e0; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1115; --text: #e7eaef; --soft: #9aa4b2; --line: #282d36; --bad-text: #ff8a92; } }
body { margin: 0 auto; padding: 16px; max-width: 1200px; background: var(--back); color: var(--text); font: 13px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
h1 { margin: 0; font-size: 17px; }
p { margin: 4px 0; overflow-wrap: anywhere; }
.soft, dt, th { color: var(--soft); }
details { border-bottom: 1px solid var(--line); }
summary { display: grid; gap: 10px; align-items: center; padding: 5px 0; cursor: pointer; grid-template-columns: 62px 120px minmax(0, 2fr) minmax(0, 1fr) minmax(60px, 2fr) 70px; }
summary > * { overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
summary .action, .mono { font-family: ui-monospace, Menlo, Consolas, monospace; }
[data-end="bad"] .action, .error { color: var(--bad-text); }
.ms { text-align: right; }
.track { position: relative; height: 10px; }
.track i { position: absolute; top: 0; height: 10px; min-width: 2px; border-radius: 2px; }
.queue { background: var(--queue); } .way { background: var(--way); } .held { background: var(--held); } .run { background: var(--run); }
.done { background: var(--done); } .bad { background: var(--bad); }
.more { padding: 4px 0 12px 72px; }
td, th { padding: 0 18px 0 0; text-align: left; font-weight: 400; }
@media (max-width: 700px) { summary { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr) 70px; } summary :is(time, .agent, .track) { display: none; } .more { padding-left: 0; } }
`;

/** @param {'html' | 'json'} kind @param {Row[]} rows oldest first @param {string} daemon its version and port */
export function save(kind, rows, daemon) {
  const at = new Date();
  if (kind === 'html') return keep('', kind, 'text/html', asPage(rows, daemon, at), at);
  return keepJson('', { daemon, saved_at: at.toISOString(), commands: rows.map(({ told }) => told) }, at);
}

/** @param {EntryRow[]} rows oldest first @param {TabNames} tabs @param {number} dropped entries that the daemon dropped before this page had them @param {string} daemon */
export function saveEntries(rows, tabs, dropped, daemon) {
  const at = new Date();
  const entries = rows.map(({ told }) => {
    const [tab, label] = tabs.of(told);
    return { ...told, tab, browser_label: label };
  });
  keepJson('-recordings', { daemon, saved_at: at.toISOString(), dropped, entries }, at);
}

/** @param {string} what @param {object} told @param {Date} at */
function keepJson(what, told, at) {
  keep(what, 'json', 'application/json', `${JSON.stringify(told, null, 1)}\n`, at);
}

/** Has the browser download a file. @param {string} what @param {string} ending @param {string} type @param {string} text @param {Date} at */
function keep(what, ending, type, text, at) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const name = `tabwire${what}-${at.toISOString().slice(0, 19).replaceAll(':', '')}.${ending}`;
  element('a', { href: address, download: name }).click();
  // The browser has taken the file over by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** @param {Row[]} rows @param {string} daemon @param {Date} at */
function asPage(rows, daemon, at) {
  const page = document.implementation.createHTMLDocument('Tabwire session');
  page.documentElement.lang = 'en';
  const policy = { 'http-equiv': 'Content-Security-Policy', content: POLICY };
  const style = page.createElement('style');
  style.textContent = STYLE;
  page.head.prepend(element('meta', { charset: 'utf-8' }), element('meta', policy), element('meta', { name: 'viewport', content: 'width=device-width' }));
  page.head.append(style);
  const range = { from: Math.min(...rows.map(({ from }) => from)), to: Math.max(...rows.map(({ from, to }) => to ?? from)) + 1 };
  const days = [...new Set([range.from, range.to].filter(Number.isFinite).map((day) => new Date(day).toLocaleDateString()))].join(' – ');
  page.body.append(
    element('h1', {}, 'Tabwire session'),
    element('p', { class: 'soft' }, `${rows.length} ${rows.length === 1 ? 'command' : 'commands'}, ${days} · ${daemon} · saved ${at.toLocaleString()}`),
    ...rows.map((row) => commandOf(row, range)),
  );
  return `<!doctype html>\n${page.documentElement.outerHTML}\n`;
}

/** @param {Row} row @param {{from: number, to: number}} range */
function commandOf(row, range) {
  const { told } = row;
  const track = element('span', { class: 'track' });
  drawSegments(track, row.segments, range);
  const status = row.status.replaceAll('_', ' ') + (told.reason ? ` · ${told.reason}` : '');
  const phases = told.trace.map((/** @type {any} */ { phase, after_ms }) => element('tr', {}, element('td', {}, phase), element('td', {}, length(after_ms))));
  return element('details', { 'data-end': row.end },
    element('summary', {}, element('time', {}, clock(row.from)), element('span', { class: 'action' }, row.action),
      element('span', {}, [row.target, row.where].filter(Boolean).join(' · ')), element('span', { class: 'agent soft' }, row.agent), track,
      element('span', { class: 'ms' }, row.to === undefined ? 'not over' : length(row.to - row.from))),
    element('div', { class: 'more' }, element('p', {}, status), ...(told.error ? [element('p', { class: 'error' }, told.error)] : []),
      ...(told.hint && row.end === 'bad' ? [element('p', {}, told.hint)] : []),
      element('p', { class: 'mono soft' }, row.id), element('table', {}, ...phases)));
}
