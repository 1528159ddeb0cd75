import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { Dispatcher } from '../../src/commands/dispatcher.js';
import { ActionError } from '../../src/lib/errors.js';
import { installChrome, settled } from '../support/fakes.js';

let reports;
let runs;
let checked;
let denied;
let dispatcher;
/** The step of the first run, as the test settles it. */
let perform;

const run = (type) => (params, context) => new Promise((resolve, reject) => {
  runs.push({ type, params, context, resolve, reject });
});
const actions = {
  several: (_, context) => new Promise((resolve, reject) => {
    perform = (type, over = {}) => context.perform({ type, params: {}, tab_id: 7, timeout_ms: 1_000, ...over });
    runs.push({ type: 'several', context, resolve: (value) => resolve({ value, type: 'object' }), reject });
  }),
  one: run('one'),
};
const gate = {
  isOpen: () => false,
  check: async ({ type, tab_id, params }) => {
    checked.push([type, tab_id, params.url]);
    if (denied) throw new ActionError('blocked_by_policy', 'denied', undefined, { mayHaveRun: false });
  },
};

beforeEach(async () => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  installChrome();
  reports = [];
  runs = [];
  checked = [];
  denied = false;
  const outbox = { has: () => false, put: (report) => reports.push(report), inFlight: () => [] };
  dispatcher = new Dispatcher(actions, outbox, () => {}, gate);
  const command = { id: 'q', correlation_id: 'x', type: 'several', params: {}, tab_id: 7, timeout_ms: 10_000, safe: true, redelivered: false, client: 'agent' };
  dispatcher.handleCommand({ type: 'command', attempt: 1, command });
  await settled();
  checked = [];
});

test('the person\'s limits are asked before each step, about its own tab and URL', async () => {
  perform('one', { tab_id: 8, params: { url: 'http://b/' } });
  await settled();
  assert.deepEqual(checked, [['one', 8, 'http://b/']]);
  assert.equal(runs[1].context.client, 'agent');
  denied = true;
  await assert.rejects(perform('one'), { code: 'blocked_by_policy' });
  assert.equal(runs.length, 2, 'the refused step has not run');
});

test('a step gives its outcome, and the command may have run as soon as a step has begun', async () => {
  const done = perform('one');
  await settled();
  runs[1].context.begin();
  runs[1].resolve({ value: 5, type: 'number' });
  assert.deepEqual(await done, { value: 5, type: 'number' });
  dispatcher.stop('x');
  assert.deepEqual(reports, [{ type: 'cancelled', correlation_id: 'x', attempt: 1, may_have_run: true }]);
});

test('a cancelled command cleans up after the step under way, and no step begins any more', async () => {
  perform('one').catch(() => {});
  await settled();
  const cleanUp = mock.fn(async () => '');
  runs[1].context.begin();
  runs[1].context.onStop(cleanUp);
  dispatcher.stop('x');
  await settled();
  assert.deepEqual(cleanUp.mock.calls.map(({ arguments: [why] }) => why), ['cancelled']);
  assert.equal(reports[0].type, 'cancelled');
  assert.throws(() => runs[1].context.begin());
  await assert.rejects(perform('one'));
  assert.equal(runs.length, 2);
});

test('a step that takes too long is cleaned up and fails; the command goes on', async () => {
  const late = perform('one', { timeout_ms: 500 });
  await settled();
  const cleanUp = mock.fn(async () => '; it was stopped');
  runs[1].context.onStop(cleanUp);
  mock.timers.tick(500);
  await assert.rejects(late, /execution exceeded 0.5 s; it was stopped/);
  assert.deepEqual(cleanUp.mock.calls.map(({ arguments: [why] }) => why), ['timeout']);
  assert.throws(() => runs[1].context.begin(), 'the step does nothing further');
  const next = perform('one');
  await settled();
  runs[2].resolve({ value: 1, type: 'number' });
  assert.equal((await next).value, 1);
  dispatcher.stop('x');
  assert.equal(cleanUp.mock.callCount(), 1, 'a step that is over is not cleaned up again');
});

test('a step that heeds its abort is told as late, with the words of its clean-up', async () => {
  const late = perform('one', { timeout_ms: 500 });
  await settled();
  const { signal, onStop } = runs[1].context;
  signal.addEventListener('abort', () => runs[1].reject(signal.reason));
  onStop(async () => '; it was stopped');
  mock.timers.tick(500);
  await assert.rejects(late, { code: 'execution_timeout', message: 'execution exceeded 0.5 s; it was stopped' });
});

test('a step that is over cannot ask for a clean-up', async () => {
  const done = perform('one');
  await settled();
  runs[1].resolve({ value: 1, type: 'number' });
  await done;
  const cleanUp = mock.fn(async () => '');
  runs[1].context.onStop(cleanUp);
  dispatcher.stop('x');
  await settled();
  assert.equal(cleanUp.mock.callCount(), 0);
});

test('an action that the extension does not have is none as a step', async () => {
  await assert.rejects(perform('hack'), { code: 'unknown_action' });
});
