// The frames of the protocol, as the daemon's tests read them, against the real parts of the extension.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { cryptoSettled, FakeSocket, goldenFrames, installChrome, openGate, openPolicy, proofVectors, settled, shape } from '../support/fakes.js';

installChrome(); // The parts look for it while they are loaded.
const { actions } = await import('../../src/actions/index.js');
const { Dispatcher } = await import('../../src/commands/dispatcher.js');
const { ActionError } = await import('../../src/lib/errors.js');
const { Identity } = await import('../../src/connection/identity.js');
const { Link } = await import('../../src/connection/link.js');
const { Outbox } = await import('../../src/commands/outbox.js');
const { failureReport } = await import('../../src/commands/report.js');
const { Takeover } = await import('../../src/connection/takeover.js');
const { Tabs } = await import('../../src/browser/tabs.js');
const { welcomeMac } = await import('../../src/connection/proof.js');

const to = goldenFrames('to_extension');
const from = goldenFrames('from_extension');
const [vector] = proofVectors();
const commands = Object.entries(to).filter(([name]) => name.startsWith('command.'));
const ref = { correlation_id: to.go.correlation_id, attempt: to.go.attempt };

let sent;
let outbox;
let dispatcher;
let finish;
const last = () => sent.at(-1);

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  mock.method(console, 'debug', () => {});
  sent = [];
  const send = (frame) => sent.push(frame);
  const pause = (_, { begin }) => {
    begin();
    return new Promise((resolve, reject) => { finish = { resolve, reject }; });
  };
  const fakes = Object.fromEntries(Object.keys(actions).map((name) => [name, pause]));
  outbox = new Outbox((text) => { send(JSON.parse(text)); return true; });
  dispatcher = new Dispatcher(fakes, outbox, send, openGate);
});

test('the actions are exactly those of the golden commands', () => {
  const named = new Set(commands.map(([, { command }]) => command.type));
  assert.deepEqual(Object.keys(actions).sort(), [...named].sort());
});

for (const [name, frame] of commands) {
  test(`${name} is ${frame.command.safe ? 'run at once' : 'claimed'}`, () => {
    finish = null;
    dispatcher.handleCommand(frame);
    if (frame.command.safe) return assert.ok(finish);
    assert.deepEqual(last(), { ...from.claim, correlation_id: frame.command.correlation_id, attempt: frame.attempt });
    assert.equal(finish, null);
  });

  test(`${name} is filed under its own name`, () => {
    assert.ok(name.startsWith(`command.${frame.command.type}`), name);
  });
}

/** The command of the golden frames, running. */
function run() {
  dispatcher.handleCommand(to['command.execute_js']);
  dispatcher.handleGo(to.go);
}

test('complete', async () => {
  run();
  finish.resolve({ value: 'Home Page', type: 'string', origin: 'http://127.0.0.1:8000', dialogs: [] });
  await settled();
  assert.deepEqual(last(), from.complete);
});

test('error', async () => {
  run();
  const { code, message, stack } = from.error.error;
  finish.reject(new ActionError(code, message, stack));
  await settled();
  assert.deepEqual(last(), from.error);
});

test('pending, then timeout', () => {
  run();
  mock.timers.tick(2_000);
  assert.deepEqual(last(), from['pending.bare']);
  mock.timers.tick(8_000);
  assert.deepEqual(last(), from.timeout);
});

test('cancel is answered by cancelled', () => {
  run();
  dispatcher.handleCancel(to.cancel);
  assert.deepEqual(last(), from.cancelled);
});

test('result_ack and nack empty the outbox', () => {
  for (const frame of [to.result_ack, to.nack]) {
    outbox.put(failureReport(ref, new ActionError('internal', 'x')));
    if (frame.type === 'nack') dispatcher.handleNack(frame);
    else dispatcher.handleResultAck(frame);
    assert.equal(outbox.has(ref.correlation_id), false, frame.type);
  }
});

test('nack without a command is heeded without harm', () => {
  run();
  dispatcher.handleNack(to['nack.unknown_type']);
  assert.equal(dispatcher.inFlight().length, 1);
});

test('in_flight tells claimed, running and done as ready does', async () => {
  for (const name of ['command.execute_js', 'command.tab_list', 'command.page_info']) dispatcher.handleCommand(to[name]);
  finish.resolve({ value: 1, type: 'number' });
  await settled();
  const states = dispatcher.inFlight();
  assert.deepEqual(states.map(({ state }) => state), from.ready.in_flight.map(({ state }) => state));
  assert.deepEqual(shape(states), shape(from.ready.in_flight));
});

test('tabs', async () => {
  const tabs = new Tabs(openPolicy);
  await tabs.load();
  assert.deepEqual({ type: 'tabs', tabs: tabs.list() }, from.tabs);
});

/** The whole worker, welcomed by a daemon of that epoch. */
async function welcomed(link, epoch, welcome = to.welcome) {
  link.connectNow();
  mock.timers.tick(0);
  await cryptoSettled();
  const socket = FakeSocket.last;
  socket.receive(to.challenge);
  await cryptoSettled();
  const { nonce: helloNonce, instance_id: instanceId } = socket.sent[0];
  const said = { port: 4711, challengeNonce: to.challenge.nonce, helloNonce, instanceId, epoch };
  socket.receive({ ...welcome, epoch, mac: await welcomeMac(vector.ext_key, said) });
  await cryptoSettled();
  return socket;
}

test('hello, ready, pong, unknown types, and a restarted daemon, on the whole worker', async () => {
  globalThis.WebSocket = FakeSocket;
  globalThis.fetch = async (url) => ({ json: async () => (url.endsWith('/health') ? { name: 'tabwire' } : { port: 4711, ext_key: vector.ext_key }) });
  chrome.runtime.getURL = (path) => path;
  // What the daemon of an earlier worker has said.
  await chrome.storage.local.set({ policy: { rules: { allow: [], deny: [] } } });
  const { link } = await import('../../src/worker/main.js');
  const socket = await welcomed(link, to.welcome.epoch);
  const [hello, ready] = socket.sent;
  await settled();
  assert.deepEqual(ready.shared_tabs, [], 'the daemon has no more shared tabs than the person shares');
  assert.deepEqual(socket.sent[2], from.key_stored, 'the key of its config.json is in its own storage');
  assert.deepEqual(shape(hello), shape(from.hello));
  const open = { in_flight: [], draws_for: [], shared_tabs: [] };
  assert.deepEqual({ ...shape({ ...ready, actions: ['x'] }), ...open }, { ...shape({ ...from.ready, actions: ['x'] }), ...open });
  assert.deepEqual(ready.actions, Object.keys(actions));
  assert.deepEqual(ready.tabs, from.ready.tabs);

  socket.receive(to.ping);
  assert.deepEqual(socket.sent.at(-1), from.pong);
  const before = socket.sent.length;
  for (const name of ['capture', 'site_rules', 'site_rules.agents', 'site_rules.problem', 'local_files', 'local_files.problem', 'file_verdict', 'upload_copies', 'upload_copies.refused', 'older_extensions', 'older_extensions.problem', 'extension_changed', 'reload', 'widenings', 'result_ack', 'nack', 'nack.unknown_type', 'cancel', 'go']) socket.receive(to[name]);
  assert.equal(socket.sent.length, before, 'all of these are known, none has an answer');
  const { panel } = await import('../../src/worker/main.js');
  assert.deepEqual((await panel({ ask: 'state' })).unconfirmed, to.widenings.widenings);
  assert.equal((await panel({ ask: 'state' })).extension_newer, false);
  assert.equal((await panel({ ask: 'state' })).status, 'changed', 'no commands come, and the popup text why');
  await panel({ ask: 'keep', id: from.confirm_widening.id });
  assert.deepEqual(socket.sent.at(-1), from.confirm_widening);
  socket.receive({ type: 'from_the_future' });
  assert.deepEqual(socket.sent.at(-1), to['nack.unknown_type']);

  socket.receive(to['command.tab_list']);
  await settled();
  const listed = socket.sent.at(-1);
  assert.deepEqual(listed.result, { success: true, value: from.tabs.tabs, type: 'array' });
  socket.receive(to['command.execute_js']);
  assert.deepEqual(socket.sent.at(-1), from.claim);

  socket.end(1001);
  const again = await welcomed(link, to.welcome.epoch);
  assert.deepEqual(again.sent[1].in_flight.map(({ state }) => state), ['claimed', 'done']);
  assert.deepEqual(again.sent.slice(2), [listed, from.key_stored]);
  again.end(1001);
  const restarted = await welcomed(link, 'another epoch', to['welcome.newer_extension']);
  assert.deepEqual(restarted.sent[1].in_flight.map(({ state }) => state), ['done']);
  assert.deepEqual(restarted.sent.slice(2), [listed, from.key_stored]);
  assert.equal((await panel({ ask: 'state' })).extension_newer, true, 'the popup says so');
});

test('the golden proofs are those of the first vector', () => {
  assert.deepEqual([from.hello.mac, to.welcome.mac], [vector.hello_mac, vector.welcome_mac]);
});
