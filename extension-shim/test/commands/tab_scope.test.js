// Which tabs a command may see and use.

import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { Dispatcher } from '../../src/commands/dispatcher.js';
import { Outbox } from '../../src/commands/outbox.js';
import { ActionError, refOfOtherTab, unknownRef } from '../../src/lib/errors.js';
import { installChrome, openGate, settled } from '../support/fakes.js';

let sent;
let ran;
let dispatcher;

const actions = {
  read: async (_, { tab_id }) => { ran.push(tab_id); return { value: tab_id, type: 'number' }; },
  tab_list: async (_, { sees }) => ({ value: [7, 8, 9].filter(sees), type: 'array' }),
  tab_open: async (_, { noteOpened }) => { noteOpened(12); return { value: { tab_id: 12 }, type: 'object' }; },
  wrong_ref: async (params) => { throw params.of === undefined ? unknownRef('b12') : refOfOtherTab('b12', params.of, 7); },
  steps: async ({ steps }, { perform }) => {
    const results = [];
    for (const step of steps) results.push(await perform({ timeout_ms: 1_000, params: {}, ...step }).then(({ value }) => value, ({ code, message }) => ({ code, message })));
    return { value: results, type: 'array' };
  },
};

/** @returns {Promise<any>} the report of a safe command */
async function reported(over) {
  const command = { id: 'q', correlation_id: `x${sent.length}`, type: 'read', params: {}, timeout_ms: 1_000, safe: true, redelivered: false, client: '', client_id: 'c', ...over };
  dispatcher.handleCommand({ type: 'command', attempt: 1, command });
  for (let turn = 0; turn < 3; turn += 1) await settled();
  return sent.findLast((frame) => frame.type === 'complete' || frame.type === 'error');
}

beforeEach(() => {
  mock.method(console, 'debug', () => {});
  installChrome();
  [sent, ran] = [[], []];
  const outbox = new Outbox((text) => { sent.push(JSON.parse(text)); return true; });
  dispatcher = new Dispatcher(actions, outbox, (frame) => sent.push(frame), { ...openGate, idNow: (tabId) => (tabId === 70 ? 7 : tabId) });
  dispatcher.enterEpoch('1');
});

test('a command that names its tabs runs in these alone, and another tab answers as one that is not open', async () => {
  assert.equal((await reported({ tab_id: 7, tabs: [7] })).result.value, 7);
  const outside = await reported({ tab_id: 8, tabs: [7] });
  const nowhere = await reported({ tab_id: 9_999, tabs: [7] });
  assert.deepEqual(ran, [7], 'nothing ran outside');
  assert.equal(outside.error.message, 'tab 8 is not open');
  assert.deepEqual({ ...outside.error, message: '' }, { ...nowhere.error, message: '' });
});

test('a tab inside is found under its former id, and a command without tabs sees every tab', async () => {
  assert.equal((await reported({ tab_id: 70, tabs: [7] })).result.value, 7);
  assert.equal((await reported({ tab_id: 8 })).result.value, 8);
  assert.deepEqual((await reported({ type: 'tab_list' })).result.value, [7, 8, 9]);
});

test('a command that names no tab gets none, unless it is for the browser as a whole', async () => {
  assert.equal((await reported({ tabs: [7] })).error.code, 'no_such_tab');
  assert.deepEqual(ran, []);
  assert.deepEqual((await reported({ type: 'tab_list', tabs: [7] })).result.value, [7]);
  assert.deepEqual((await reported({ type: 'tab_list', tabs: [] })).result.value, []);
});

test('a tab that a step opens is inside for the next one, and the daemon is told of it first', async () => {
  const steps = [{ type: 'read', tab_id: 12 }, { type: 'tab_open', tab_id: 7 }, { type: 'read', tab_id: 12 }, { type: 'read', tab_id: 8 }];
  const { result, correlation_id } = await reported({ type: 'steps', params: { steps }, tab_id: 7, tabs: [7] });
  assert.deepEqual(result.value, [{ code: 'no_such_tab', message: 'tab 12 is not open' }, { tab_id: 12 }, 12, { code: 'no_such_tab', message: 'tab 8 is not open' }]);
  assert.deepEqual(sent.filter(({ type }) => type === 'tab_opened'), [{ type: 'tab_opened', correlation_id, tab_id: 12 }]);
});

test('an element of a tab that is outside answers as one that no tab has', async () => {
  const unknown = await reported({ type: 'wrong_ref', tab_id: 7, tabs: [7] });
  const outside = await reported({ type: 'wrong_ref', params: { of: 8 }, tab_id: 7, tabs: [7] });
  assert.deepEqual(outside.error, unknown.error);
  const inside = await reported({ type: 'wrong_ref', params: { of: 8 }, tab_id: 7, tabs: [7, 8] });
  assert.match(inside.error.message, /of tab 8/);
});

test('every action of the extension refuses a tab that is outside before it looks at anything', async () => {
  const { actions: all } = await import('../../src/actions/index.js');
  const outbox = new Outbox((text) => { sent.push(JSON.parse(text)); return true; });
  dispatcher = new Dispatcher(all, outbox, (frame) => sent.push(frame), openGate);
  dispatcher.enterEpoch('1');
  assert.ok(Object.keys(all).length > 40);
  for (const type of Object.keys(all)) {
    const { error } = await reported({ type, tab_id: 8, tabs: [7] });
    assert.deepEqual([error.code, error.message], ['no_such_tab', 'tab 8 is not open'], type);
  }
});

test('what a command has read in a tab that is not shared any more is not told', async () => {
  const outbox = new Outbox((text) => { sent.push(JSON.parse(text)); return true; });
  let asked = 0;
  // Asked before the command begins, and after it.
  const gate = { ...openGate, sharedAt: (tabId) => (tabId === 7 ? 'https://shop.test' : undefined), confirms: async () => (asked += 1) === 1 };
  dispatcher = new Dispatcher(actions, outbox, (frame) => sent.push(frame), gate);
  dispatcher.enterEpoch('1');
  await reported({ tab_id: 7, tabs: [7, 8] });
  // Whether the browser has given the tab another id is known a moment later.
  while (sent.length === 0) await new Promise((look) => setTimeout(look, 20));
  const [{ error }] = sent;
  assert.deepEqual([error.code, error.message], ['no_such_tab', 'tab 7 is not open']);
  assert.ok(asked > 1);
  assert.equal((await reported({ tab_id: 8, tabs: [7, 8] })).result.value, 8);
  assert.equal((await reported({ tab_id: 7 })).result.value, 7, 'whoever sees every tab is told');
});

test('where a command lands without a word, neither its result nor its failure is told', async () => {
  const landed = [];
  const gate = { ...openGate, landed: async ({ far, type }) => { landed.push(type); if (far) throw new ActionError('consent_needed', 'a site without a word'); } };
  const outbox = new Outbox((text) => { sent.push(JSON.parse(text)); return true; });
  dispatcher = new Dispatcher({ ...actions, failing: async () => { throw new ActionError('navigation_failed', 'https://secret.example/ did not load'); } }, outbox, (frame) => sent.push(frame), gate);
  for (const type of ['read', 'failing']) {
    const { error } = await reported({ type, tab_id: 7, tabs: [7], far: true });
    assert.deepEqual([error.code, error.message], ['consent_needed', 'a site without a word'], type);
  }
  assert.equal((await reported({ tab_id: 7 })).result.value, 7);
  const stepped = await reported({ type: 'steps', tab_id: 7, params: { steps: [{ type: 'read' }] } });
  assert.deepEqual(stepped.result.value, [7]);
  assert.deepEqual(landed.slice(-3), ['read', 'read', 'steps'], 'each step and each command');
});
