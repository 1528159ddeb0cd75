import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { Dispatcher } from '../../src/commands/dispatcher.js';
import { ConsentNeeded } from '../../src/lib/consent.js';
import { ActionError } from '../../src/lib/errors.js';
import { RESULT_MAX_BYTES } from '../../src/commands/limits.js';
import { Outbox } from '../../src/commands/outbox.js';
import { installChrome, openGate, settled } from '../support/fakes.js';

let sent;
let runs;
let outbox;
let dispatcher;

/** Actions that the test settles itself. */
const actions = {
  slow: (params, context) => new Promise((resolve, reject) => {
    runs.push({ params, context, resolve: (value) => resolve({ value, type: typeof value }), reject });
  }),
};

const command = (over = {}, attempt = 1) => ({
  type: 'command',
  attempt,
  command: {
    id: 'q', correlation_id: 'x', type: 'slow', params: {}, timeout_ms: 10_000, safe: false, redelivered: false, ...over,
  },
});
const ref = (attempt = 1) => ({ correlation_id: 'x', attempt });
const go = (attempt = 1) => dispatcher.handleGo({ type: 'go', ...ref(attempt) });
const cancel = () => dispatcher.handleCancel({ type: 'cancel', correlation_id: 'x', reason: 'cancelled' });
const ack = (attempt = 1) => dispatcher.handleResultAck({ type: 'result_ack', ...ref(attempt) });
const types = () => sent.map((frame) => frame.type);
const started = () => {
  dispatcher.handleCommand(command());
  go();
  return runs[0];
};
const begun = () => {
  started().context.begin();
  return runs[0];
};

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  mock.method(console, 'debug', () => {});
  installChrome();
  sent = [];
  runs = [];
  outbox = new Outbox((text) => { sent.push(JSON.parse(text)); return true; });
  dispatcher = new Dispatcher(actions, outbox, (frame) => sent.push(frame), openGate);
  dispatcher.enterEpoch('1');
});

test('claims a command and runs nothing before go', () => {
  dispatcher.handleCommand(command());
  assert.deepEqual(sent, [{ type: 'claim', ...ref() }]);
  assert.equal(runs.length, 0);
  go();
  assert.equal(runs.length, 1);
});

test('a safe command runs at once, without a claim', async () => {
  dispatcher.handleCommand(command({ safe: true }));
  runs[0].resolve('v');
  await settled();
  assert.deepEqual(types(), ['complete']);
});

test('a second go for an attempt runs nothing', async () => {
  started();
  go();
  assert.equal(runs.length, 1);
  runs[0].resolve(1);
  await settled();
  go();
  assert.equal(runs.length, 1);
});

test('go for another attempt or an unknown command runs nothing', () => {
  go();
  dispatcher.handleCommand(command());
  go(2);
  assert.equal(runs.length, 0);
});

test('a command sent twice before go is claimed again and runs once', () => {
  dispatcher.handleCommand(command());
  dispatcher.handleCommand(command());
  go();
  go();
  assert.deepEqual(types(), ['claim', 'claim']);
  assert.equal(runs.length, 1);
});

test('a newer attempt replaces one that has not started', () => {
  dispatcher.handleCommand(command());
  dispatcher.handleCommand(command({ redelivered: true }, 2));
  go(1);
  assert.equal(runs.length, 0);
  go(2);
  assert.equal(runs.length, 1);
});

test('an older attempt does not replace a newer one', () => {
  dispatcher.handleCommand(command({}, 2));
  dispatcher.handleCommand(command({}, 1));
  assert.deepEqual(types(), ['claim']);
  go(2);
  assert.equal(runs.length, 1);
});

test('a running command that is sent again does not run again; its report names the newest attempt', async () => {
  const run = started();
  dispatcher.handleCommand(command({ redelivered: true }, 2));
  assert.deepEqual(sent.at(-1), { type: 'pending', ...ref(2) });
  run.resolve('v');
  await settled();
  assert.equal(runs.length, 1);
  assert.equal(sent.at(-1).attempt, 2);
});

test('a finished command that is sent again gets its report again', async () => {
  started().resolve('v');
  await settled();
  dispatcher.handleCommand(command());
  assert.deepEqual(types(), ['claim', 'complete', 'complete']);
  assert.equal(runs.length, 1);
});

test('an acknowledged command never runs again', async () => {
  started().resolve('v');
  await settled();
  ack();
  dispatcher.handleCommand(command({}, 2));
  go(2);
  assert.equal(runs.length, 1);
  assert.deepEqual(types(), ['claim', 'complete']);
});

test('an acknowledged safe command runs again for a daemon that lost the result', async () => {
  dispatcher.handleCommand(command({ safe: true }));
  runs[0].resolve('v');
  await settled();
  ack();
  dispatcher.handleCommand(command({ safe: true }));
  assert.equal(runs.length, 2);
});

test('cancelled before go: says that it did not run, and never runs', async () => {
  dispatcher.handleCommand(command());
  cancel();
  assert.deepEqual(sent.at(-1), { type: 'cancelled', ...ref(), may_have_run: false });
  go();
  assert.equal(runs.length, 0);
});

test('cancelled before it has touched anything: says that it has not run, and it never does', async () => {
  const run = started();
  cancel();
  assert.deepEqual(sent.at(-1), { type: 'cancelled', ...ref(), may_have_run: false });
  assert.throws(() => run.context.begin(), { name: 'AbortError' });
  run.reject(new Error('as it should'));
  await settled();
  assert.deepEqual(types(), ['claim', 'cancelled']);
});

test('what has begun begins nothing further once it is cancelled', () => {
  const run = begun();
  cancel();
  assert.throws(() => run.context.begin(), { name: 'AbortError' });
});

test('cancelled while running: stops the action, says that it may have run, once', async () => {
  const run = begun();
  cancel();
  assert.equal(run.context.signal.aborted, true);
  assert.deepEqual(sent.at(-1), { type: 'cancelled', ...ref(), may_have_run: true });
  run.resolve('late');
  await settled();
  assert.deepEqual(types(), ['claim', 'cancelled']);
});

test('cancelled when done, or unknown: says nothing', async () => {
  cancel();
  started().resolve('v');
  await settled();
  cancel();
  assert.deepEqual(types(), ['claim', 'complete']);
});

test('says pending at 2 s of running, and nothing before', () => {
  started();
  mock.timers.tick(1_999);
  assert.deepEqual(types(), ['claim']);
  mock.timers.tick(1);
  assert.deepEqual(sent.at(-1), { type: 'pending', ...ref() });
});

test('keeps the worker alive while a command runs, and no longer', async () => {
  const run = started();
  run.context.timeout_ms = 300_000;
  const { getPlatformInfo } = chrome.runtime;
  mock.timers.tick(9_000);
  run.resolve(1);
  await settled();
  mock.timers.tick(100_000);
  assert.equal(getPlatformInfo.mock.callCount(), 0);
  dispatcher.handleCommand(command({ correlation_id: 'y', safe: true, timeout_ms: 300_000 }));
  mock.timers.tick(60_000);
  assert.equal(getPlatformInfo.mock.callCount(), 3);
});

test('its own clock reports a timeout exactly once, with the real seconds', async () => {
  const run = started();
  mock.timers.tick(10_000);
  run.resolve('late');
  await settled();
  const reports = sent.filter((frame) => !['claim', 'pending'].includes(frame.type));
  const error = { code: 'execution_timeout', message: 'execution exceeded 10 s' };
  assert.deepEqual(reports, [{ type: 'timeout', ...ref(), error }]);
  assert.equal(run.context.signal.aborted, true);
});

test('an action that never ends is followed no longer than its command, and one that ends late is ended once', async () => {
  const ends = [];
  dispatcher = new Dispatcher(actions, outbox, (frame) => sent.push(frame), { ...openGate, follow: () => () => ends.push('end') });
  dispatcher.enterEpoch('1');
  const run = begun();
  assert.deepEqual(ends, []);
  mock.timers.tick(10_000);
  await settled();
  assert.deepEqual(ends, ['end']);
  run.resolve('late');
  await settled();
  assert.deepEqual(ends, ['end']);
});

test('a timeout that the action finds itself is the same timeout', async () => {
  started().reject(new ActionError('execution_timeout', 'execution exceeded 10 s'));
  await settled();
  mock.timers.tick(20_000);
  assert.deepEqual(types(), ['claim', 'timeout']);
});

test('a failed action tells code, message and the page\'s stack', async () => {
  started().reject(new ActionError('script_threw', 'Error: boom', 'Error: boom\n    at <anonymous>:1:7'));
  await settled();
  const error = { code: 'script_threw', message: 'Error: boom', stack: 'Error: boom\n    at <anonymous>:1:7' };
  assert.deepEqual(sent.at(-1), { type: 'error', ...ref(), error });
});

test('our own mistakes are told as such, without our stack', async () => {
  started().reject(new TypeError('oops'));
  await settled();
  assert.deepEqual(sent.at(-1).error, { code: 'internal', message: 'oops' });
});

for (const type of ['zap', 'constructor', '__proto__', 'toString']) {
  test(`${type} is not an action`, async () => {
    dispatcher.handleCommand(command({ type, safe: true }));
    await settled();
    assert.equal(sent.at(-1).error.code, 'unknown_action');
  });
}

test('a result that is too large becomes an error that tells the size', async () => {
  started().resolve('x'.repeat(RESULT_MAX_BYTES));
  await settled();
  const { type, error } = sent.at(-1);
  assert.deepEqual([type, error.code], ['error', 'result_too_large']);
  assert.match(error.message, /78\d{5} bytes/);
});

test('a new epoch forgets what has not started', () => {
  dispatcher.handleCommand(command());
  dispatcher.enterEpoch('2');
  assert.deepEqual(dispatcher.inFlight(), []);
  go();
  assert.equal(runs.length, 0);
});

test('a new epoch keeps what runs and what is done', async () => {
  started();
  dispatcher.handleCommand(command({ correlation_id: 'y', safe: true }));
  runs[1].resolve(1);
  await settled();
  dispatcher.enterEpoch('2');
  assert.deepEqual(dispatcher.inFlight(), [
    { ...ref(), state: 'running' },
    { correlation_id: 'y', attempt: 1, state: 'done' },
  ]);
});

test('the same epoch again forgets nothing', () => {
  dispatcher.handleCommand(command());
  dispatcher.enterEpoch('1');
  assert.deepEqual(dispatcher.inFlight(), [{ ...ref(), state: 'claimed' }]);
});

test('a refused claim is forgotten, and may come again', () => {
  dispatcher.handleCommand(command());
  dispatcher.handleNack({ type: 'nack', ...ref(), reason: 'stale_attempt' });
  go();
  assert.equal(runs.length, 0);
  dispatcher.handleCommand(command({}, 2));
  go(2);
  assert.equal(runs.length, 1);
});

for (const reason of ['already_terminal', 'stale_attempt', 'unknown_command']) {
  test(`a report refused with ${reason} is not sent again`, async () => {
    started().resolve('v');
    await settled();
    dispatcher.handleNack({ type: 'nack', ...ref(), reason });
    assert.deepEqual(dispatcher.inFlight(), []);
  });
}

test('a nack does not stop what runs', async () => {
  const run = started();
  dispatcher.handleNack({ type: 'nack', ...ref(), reason: 'stale_attempt' });
  run.resolve('v');
  await settled();
  assert.equal(sent.at(-1).type, 'complete');
});

/** A started command whose action cleans up before a timeout or a cancel is told. */
function cleaningUp() {
  const run = begun();
  const cleaning = { times: 0, why: '' };
  run.context.onStop((why) => {
    cleaning.times += 1;
    cleaning.why = why;
    return new Promise((resolve, reject) => { Object.assign(cleaning, { resolve, reject }); });
  });
  return { run, cleaning };
}

test('a timeout is told when the tab is usable again, and says what it took', async () => {
  const { run, cleaning } = cleaningUp();
  mock.timers.tick(10_000);
  assert.deepEqual(types(), ['claim', 'pending']);
  assert.equal(cleaning.why, 'timeout');
  run.reject(new ActionError('internal', 'terminated'));
  await settled();
  assert.deepEqual(types(), ['claim', 'pending'], 'what the clean-up does to the action is no outcome');
  cleaning.resolve('; the tab was reloaded');
  await settled();
  const error = { code: 'execution_timeout', message: 'execution exceeded 10 s; the tab was reloaded' };
  assert.deepEqual(sent.at(-1), { type: 'timeout', ...ref(), error });
});

test('cancelled twice while it cleans up: cleans up once and is told once', async () => {
  const { cleaning } = cleaningUp();
  cancel();
  cancel();
  mock.timers.tick(10_000);
  assert.equal(cleaning.times, 1);
  assert.equal(cleaning.why, 'cancelled');
  cleaning.resolve('');
  await settled();
  assert.deepEqual(types(), ['claim', 'cancelled']);
  assert.deepEqual(sent.at(-1), { type: 'cancelled', ...ref(), may_have_run: true });
});

test('a clean-up that fails holds no report back', async () => {
  const { cleaning } = cleaningUp();
  cancel();
  cleaning.reject(new Error('no such tab'));
  await settled();
  assert.deepEqual(sent.at(-1), { type: 'cancelled', ...ref(), may_have_run: true });
});

test('what runs is shown with action, tab and start, until it is stopped; what is claimed is not', () => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 5_000 });
  dispatcher.handleCommand(command({ tab_id: 7, client: 'Claude Code 2.1.330' }));
  assert.deepEqual(dispatcher.running(), []);
  go();
  assert.deepEqual(dispatcher.running(), [{
    correlation_id: 'x', action: 'slow', tab_id: 7, started_at: 5_000, client: 'Claude Code 2.1.330',
  }]);
  runs[0].context.begin();
  dispatcher.stop('x');
  assert.deepEqual(dispatcher.running(), []);
  assert.deepEqual(sent.at(-1), { type: 'cancelled', ...ref(), may_have_run: true });
});

test('Stop on a command that is over says nothing', async () => {
  started().resolve('v');
  await settled();
  dispatcher.stop('x');
  assert.deepEqual(types(), ['claim', 'complete']);
});

test('an agent that calls itself much is shown cut', () => {
  dispatcher.handleCommand(command({ client: 'x'.repeat(1_000) }));
  go();
  assert.ok(dispatcher.running()[0].client.length <= 65);
});

/** A person who lets agents do some things; the test says whether this is one. */
function gated() {
  const asked = [];
  const gate = { isOpen: () => false, check: () => new Promise((resolve, reject) => asked.push({ resolve, reject })) };
  dispatcher = new Dispatcher(actions, outbox, (frame) => sent.push(frame), gate);
  dispatcher.enterEpoch('1');
  return asked;
}

const refusal = () => new ActionError('blocked_by_policy', 'no', undefined, { hint: 'Use another site.', mayHaveRun: false });
const told = { code: 'blocked_by_policy', message: 'no', hint: 'Use another site.', may_have_run: false };

for (const safe of [false, true]) {
  test(`what the person does not let agents do is refused before it is claimed or run (safe: ${safe})`, async () => {
    const asked = gated();
    dispatcher.handleCommand(command({ safe }));
    assert.deepEqual([sent, runs], [[], []]);
    asked[0].reject(refusal());
    await settled();
    assert.deepEqual(sent, [{ type: 'error', ...ref(), error: told }]);
    go();
    assert.equal(runs.length, 0);
  });
}

test('what the person has come to refuse since it was claimed does not run', async () => {
  const asked = gated();
  dispatcher.handleCommand(command());
  asked[0].resolve();
  await settled();
  assert.deepEqual(types(), ['claim']);
  go();
  asked[1].reject(refusal());
  await settled();
  assert.deepEqual(sent.at(-1), { type: 'error', ...ref(), error: told });
  assert.equal(runs.length, 0);
});

test('what is cancelled while it is asked about is neither claimed nor run', async () => {
  const asked = gated();
  dispatcher.handleCommand(command());
  cancel();
  asked[0].resolve();
  await settled();
  assert.deepEqual(types(), ['cancelled']);
});

test('what is cancelled while it is asked about again does not run', async () => {
  const asked = gated();
  dispatcher.handleCommand(command());
  asked[0].resolve();
  await settled();
  go();
  cancel();
  asked[1].resolve();
  await settled();
  assert.equal(runs.length, 0);
  assert.deepEqual(types(), ['claim', 'cancelled']);
});

test('a person who stops all ends what runs and what was only claimed', () => {
  started().context.begin();
  dispatcher.handleCommand(command({ correlation_id: 'y' }));
  dispatcher.stopAll();
  const ended = sent.filter(({ type }) => type === 'cancelled').map(({ correlation_id, may_have_run }) => [correlation_id, may_have_run]);
  assert.deepEqual(ended, [['x', true], ['y', false]]);
});

test('what runs where agents may not be any more ends, and tells that it may have run', async () => {
  const asked = gated();
  for (const id of ['x', 'y']) dispatcher.handleCommand(command({ correlation_id: id }));
  for (const { resolve } of asked) resolve();
  await settled();
  go();
  asked[2].resolve();
  await settled();
  const { context, resolve } = runs[0];
  context.begin();
  dispatcher.handleRules();
  for (const { reject } of asked.slice(3)) reject(refusal());
  await settled();
  resolve('too late');
  await settled();
  const ended = sent.filter(({ type }) => type !== 'claim');
  assert.deepEqual(ended, [
    { type: 'error', ...ref(), error: { ...told, may_have_run: true } },
    { type: 'error', correlation_id: 'y', attempt: 1, error: told },
  ]);
  assert.equal(context.signal.aborted, true);
});

test('what runs where agents may still be goes on', async () => {
  const asked = gated();
  dispatcher.handleCommand(command());
  asked[0].resolve();
  await settled();
  go();
  asked[1].resolve();
  await settled();
  dispatcher.handleRules();
  asked[2].resolve();
  await settled();
  assert.equal(runs[0].context.signal.aborted, false);
  runs[0].resolve('done');
  await settled();
  assert.equal(types().at(-1), 'complete');
});

test('a command that waits for the person is held before its claim, and comes again as a new one', async () => {
  const need = { kind: 'act', site: 'https://shop.example', document: 'd' };
  let word = false;
  const gate = { ...openGate, isOpen: () => false, check: async () => { if (!word) throw new ConsentNeeded(need); } };
  dispatcher = new Dispatcher(actions, outbox, (frame) => sent.push(frame), gate);
  dispatcher.enterEpoch('1');
  for (const safe of [false, true]) {
    sent.length = 0;
    dispatcher.handleCommand(command({ safe }));
    await settled();
    assert.deepEqual(sent, [{ type: 'hold', ...ref(), need }]);
    assert.deepEqual(dispatcher.inFlight(), []);
  }
  go();
  assert.equal(runs.length, 0);
  word = true;
  dispatcher.handleCommand(command({ allowed: [need] }, 2));
  await settled();
  go(2);
  await settled();
  assert.deepEqual([sent.at(-1).type, runs.length], ['claim', 1]);
});

test('a page that needs the word only after go runs nothing and says so', async () => {
  const need = { kind: 'act', site: 'https://shop.example', document: 'd' };
  let checks = 0;
  const gate = { ...openGate, isOpen: () => false, check: async () => { checks += 1; if (checks > 1) throw new ConsentNeeded(need); } };
  dispatcher = new Dispatcher(actions, outbox, (frame) => sent.push(frame), gate);
  dispatcher.enterEpoch('1');
  dispatcher.handleCommand(command());
  await settled();
  go();
  await settled();
  assert.deepEqual([runs.length, sent.at(-1).error.code, sent.at(-1).error.may_have_run], [0, 'consent_needed', false]);
});

test('a command whose tab the browser unloads ends as that, whatever its own failure says, and others go on', async () => {
  for (const fails of [false, true]) {
    sent = [];
    runs = [];
    outbox = new Outbox((text) => { sent.push(JSON.parse(text)); return true; });
    dispatcher = new Dispatcher(actions, outbox, (frame) => sent.push(frame), openGate);
    dispatcher.handleCommand(command({ tab_id: 7 }));
    go();
    runs[0].context.begin();
    dispatcher.handleReplaced(99, 98);
    if (fails) {
      runs[0].reject(new ActionError('tab_closed', 'tab 7 was closed while the command ran'));
      await settled();
    }
    assert.deepEqual(types(), ['claim']);
    dispatcher.handleReplaced(70, 7);
    await settled();
    assert.deepEqual([sent.at(-1).error.code, sent.at(-1).error.may_have_run], ['tab_discarded', true]);
    mock.timers.tick(1_000);
    assert.equal(sent.filter(({ type }) => type === 'error').length, 1);
  }
});

test('a command by a former id gets the tab as it is now, and its page is woken first and the rules asked again', async () => {
  const steps = [];
  const gate = {
    ...openGate,
    isOpen: () => false,
    check: async () => { steps.push('check'); },
    idNow: (tabId) => tabId * 10,
    wake: async ({ tab_id }) => { steps.push(`wake ${tab_id}`); return { revived: true, note: 'it slept' }; },
  };
  dispatcher = new Dispatcher(actions, outbox, (frame) => sent.push(frame), gate);
  dispatcher.handleCommand(command({ tab_id: 7 }));
  await settled();
  go();
  await settled();
  assert.deepEqual(steps, ['check', 'check', 'wake 70', 'check']);
  assert.equal(runs[0].context.tab_id, 70);
  runs[0].resolve(1);
  await settled();
  assert.deepEqual(sent.at(-1).result, { success: true, value: 1, type: 'number', revived: true, note: 'it slept' });
});

/** A gate that pictures tabs. @param {(tabId: number) => Promise<string | null>} picture */
const pictures = (picture) => { dispatcher = new Dispatcher(actions, outbox, (frame) => sent.push(frame), { ...openGate, picture }); };

test('of an act that the person wants to see the tab is pictured before it and after it, also if it fails', async () => {
  for (const isFailing of [false, true]) {
    [sent.length, runs.length] = [0, 0];
    // Another one each time: it has no report yet.
    outbox = new Outbox((text) => { sent.push(JSON.parse(text)); return true; });
    pictures(async (tabId) => `${tabId} of ${runs.length}`);
    dispatcher.handleCommand(command({ tab_id: 7, pictured: true }));
    go();
    await settled();
    if (isFailing) runs[0].reject(new ActionError('not_visible', 'no'));
    else runs[0].resolve(1);
    await settled();
    const before = { type: 'act_picture', correlation_id: 'x', moment: 'before', jpeg: '7 of 0' };
    const [, first, second, report] = sent;
    assert.deepEqual([first, second], [before, { ...before, moment: 'after', jpeg: '7 of 1' }]);
    assert.equal(report.type, isFailing ? 'error' : 'complete');
  }
});

test('no act is pictured that nobody wants to see, that has no tab, or that is a step of another', async () => {
  pictures(async () => 'jpeg');
  for (const over of [{ tab_id: 7 }, { pictured: true }]) {
    [sent.length, runs.length] = [0, 0];
    dispatcher.handleCommand(command({ correlation_id: `x${Object.keys(over)}`, ...over }));
    dispatcher.handleGo({ type: 'go', correlation_id: `x${Object.keys(over)}`, attempt: 1 });
    await settled();
    runs[0].resolve(1);
    await settled();
    assert.deepEqual(types(), ['claim', 'complete']);
  }
  [sent.length, runs.length] = [0, 0];
  dispatcher.handleCommand(command({ tab_id: 7, pictured: true }));
  go();
  await settled();
  const step = runs[0].context.perform({ type: 'slow', params: {}, timeout_ms: 1_000 });
  await settled();
  runs[1].resolve(2);
  await step;
  assert.deepEqual(types(), ['claim', 'act_picture']);
});

test('an act does not fail for the lack of a picture, and one that was cancelled meanwhile does not begin', async () => {
  pictures(async () => null);
  dispatcher.handleCommand(command({ tab_id: 7, pictured: true }));
  go();
  await settled();
  runs[0].resolve(1);
  await settled();
  assert.deepEqual(types(), ['claim', 'complete']);
  [sent.length, runs.length] = [0, 0];
  let taken = (/** @type {string | null} */ _) => {};
  pictures(() => new Promise((resolve) => { taken = resolve; }));
  dispatcher.handleCommand(command({ tab_id: 7, pictured: true, correlation_id: 'y' }));
  dispatcher.handleGo({ type: 'go', correlation_id: 'y', attempt: 1 });
  dispatcher.stop('y');
  taken('late');
  await settled();
  assert.equal(runs.length, 0);
  assert.deepEqual(types(), ['claim', 'cancelled']);
});
