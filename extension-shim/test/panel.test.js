// What the popup is told, what it can ask for, and its words.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { beforeEach, test } from 'node:test';
import { installChrome } from './support/fakes.js';

installChrome();
const { makePanel } = await import('../panel.js');
const { detail, headline, recorded, since, versions } = await import('../popup_view.js');

let done;
let panel;

beforeEach(() => {
  done = [];
  panel = makePanel({
    connection: () => ({ status: 'connected', detail: 'Tabwire 0.1.0', daemon_version: '0.1.0' }),
    running: () => [{ correlation_id: 'x', action: 'navigate', tab_id: 7, started_at: 1 }],
    recording: () => [{ tab_id: 8, streams: ['logs', 'actions'] }],
    titleOf: (tabId) => `title of ${tabId}`,
    opened: () => done.push('opened'),
    reconnect: () => done.push('reconnect'),
    stop: (id) => done.push(`stop ${id}`),
  });
});

test('tells connection, versions and what runs in which tab', () => {
  const { now, ...state } = panel({ ask: 'state' });
  assert.ok(now > 0);
  assert.deepEqual(state, {
    status: 'connected', detail: 'Tabwire 0.1.0', daemon_version: '0.1.0', shim_version: '0.1.0',
    running: [{ correlation_id: 'x', action: 'navigate', tab_id: 7, started_at: 1, tab_title: 'title of 7' }],
    recording: [{ tab_id: 8, streams: ['logs', 'actions'], tab_title: 'title of 8' }],
  });
  assert.deepEqual(done, []);
});

test('does what is clicked, and tells what is then', () => {
  for (const ask of [{ ask: 'opened' }, { ask: 'reconnect' }, { ask: 'stop', correlation_id: 'x' }]) {
    assert.equal(panel(ask).status, 'connected');
  }
  assert.deepEqual(done, ['opened', 'reconnect', 'stop x']);
});

for (const ask of [undefined, null, {}, { ask: 'execute_js' }, 'state']) {
  test(`${JSON.stringify(ask)} is no question of the popup`, () => assert.equal(panel(ask), undefined));
}

test('every state of the link has words, and every one that is a person\'s to mend says how', () => {
  for (const status of ['connected', 'connecting', 'disconnected', 'unconfigured', 'unproven', 'replaced']) {
    assert.ok(headline({ status }).length > 0, status);
    assert.match(detail({ status, detail: 'why' }), /why/);
  }
  assert.match(detail({ status: 'disconnected', detail: '' }), /`tabwire serve`/);
  for (const status of ['unconfigured', 'unproven']) assert.match(detail({ status, detail: '' }), /`tabwire extension unpack`/);
});

test('tells the version of a daemon only while it is there', () => {
  const of = (status, daemon_version) => versions({ status, daemon_version, shim_version: '0.1.0' });
  assert.equal(of('disconnected', null), 'extension 0.1.0');
  assert.equal(of('connected', '0.2.0'), 'extension 0.1.0 · daemon 0.2.0');
  assert.equal(of('disconnected', '0.2.0'), 'extension 0.1.0');
});

test('a length is told in seconds and minutes, and never below zero', () => {
  assert.deepEqual([since(0, 3_900), since(0, 125_000), since(10, 0)], ['3 s', '2 min 5 s', '0 s']);
});

test('a person reads what is recorded in words of their own', () => {
  assert.equal(recorded({ streams: ['logs', 'actions'] }), 'console, your clicks and input');
  assert.doesNotMatch(recorded({ streams: ['logs', 'network', 'bodies', 'websocket', 'actions', 'performance'] }), /undefined/);
});

test('the popup has no inline script, and nothing from outside', () => {
  const html = readFileSync(new URL('../popup.html', import.meta.url), 'utf8');
  assert.doesNotMatch(html, /<script(?![^>]*src=)|\son\w+=|https?:/);
});
