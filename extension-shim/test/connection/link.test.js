import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { Identity } from '../../src/connection/identity.js';
import { Link } from '../../src/connection/link.js';
import { HANDSHAKE_MS, REPLACED_HOLD_MS, SILENCE_MS } from '../../src/connection/limits.js';
import { BROWSER_CALL_MS } from '../../src/lib/limits.js';
import { helloMac, welcomeMac } from '../../src/connection/proof.js';
import { Takeover } from '../../src/connection/takeover.js';
import { cryptoSettled, FakeRequest, FakeSocket, installChrome, proofVectors, settled } from '../support/fakes.js';

const [vector] = proofVectors();
const KEY = vector.ext_key;
const CHALLENGE = { type: 'challenge', nonce: vector.challenge_nonce };
const tabList = {
  type: 'command',
  attempt: 1,
  command: { id: 'q', correlation_id: 'x', type: 'tab_list', params: {}, timeout_ms: 1000, safe: true },
};

let local;
let config;
let heard;
let welcomes;
let statuses;
let details;
let setbacks;
let link;

function makeLink() {
  const takeover = new Takeover();
  link = new Link(new Identity(), takeover, {
    loadConfig: async () => config,
    onSetback(failed, why) {
      setbacks.push([failed.port, why]);
      return failed !== config;
    },
    prepare: () => takeover.restore(),
    onWelcome: (welcome) => welcomes.push(welcome),
    onFrame: (frame) => heard.push(frame) > 0 && frame.type !== 'zap',
    onStatus(status, detail) {
      statuses.push(status);
      details.push(detail);
    },
  });
}

async function welcomeFor(socket, over = {}, covered = {}) {
  const { nonce: helloNonce, instance_id: instanceId } = socket.sent[0];
  const port = Number(new URL(socket.url).port);
  const said = { port, challengeNonce: CHALLENGE.nonce, helloNonce, instanceId, epoch: '1' };
  const mac = await welcomeMac(KEY, { ...said, ...covered });
  return { type: 'welcome', protocol: 2, epoch: '1', server_version: '0.1.0', heartbeat_ms: 20000, capture: {}, mac, ...over };
}

async function challenged() {
  link.ensureConnected();
  await settled();
  FakeSocket.last.receive(CHALLENGE);
  await cryptoSettled();
  return FakeSocket.last;
}

async function prove(socket = FakeSocket.last) {
  if (socket.sent.length === 0) {
    socket.receive(CHALLENGE);
    await cryptoSettled();
  }
  socket.receive(await welcomeFor(socket));
  await cryptoSettled();
  return socket;
}

async function connected() {
  return prove(await challenged());
}

/** How long it takes until the next socket is opened. */
async function delayToNextSocket(limitMs = 120_000) {
  const before = FakeSocket.opened.length;
  await settled();
  for (let ms = 0; ms <= limitMs; ms += 50) {
    if (FakeSocket.opened.length > before) return ms;
    mock.timers.tick(50);
    await settled();
  }
  return Infinity;
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_795_298_985_123 });
  mock.method(console, 'warn', () => {});
  ({ local } = installChrome());
  globalThis.WebSocket = FakeSocket;
  FakeSocket.opened = [];
  FakeRequest.noDaemon();
  [heard, welcomes, statuses, details, setbacks] = [[], [], [], [], []];
  config = { port: 4711, ext_key: KEY };
  makeLink();
});

for (const hook of ['prepare', 'loadConfig']) {
  test(`a call of the browser's that never settles in ${hook} keeps nobody away`, async () => {
    let asked = 0;
    const hooks = { prepare: async () => {}, loadConfig: async () => config };
    const usual = hooks[hook];
    hooks[hook] = () => (asked++ === 0 ? new Promise(() => {}) : usual());
    link = new Link(new Identity(), new Takeover(), {
      ...hooks, onSetback: () => false, onWelcome: (welcome) => welcomes.push(welcome), onFrame: () => true, onStatus() {},
    });
    link.ensureConnected();
    const delay = await delayToNextSocket();
    assert.ok(delay >= BROWSER_CALL_MS && delay < BROWSER_CALL_MS + 1_000, `${delay} ms`);
    await prove();
    assert.equal(welcomes.length, 1);
  });
}

test('dials the port that it is given with the subprotocol', async () => {
  link.ensureConnected();
  await settled();
  assert.deepEqual([FakeSocket.last.url, FakeSocket.last.protocol], ['ws://127.0.0.1:4711/ws', 'tabwire.v1']);
});

test('answers a challenge with a proof over port, nonces and instance', async () => {
  const [hello] = (await challenged()).sent;
  const said = { challengeNonce: CHALLENGE.nonce, helloNonce: hello.nonce, instanceId: hello.instance_id };
  assert.equal(hello.mac, await helloMac(KEY, { port: 4711, ...said }));
  assert.notEqual(hello.mac, await helloMac(KEY, { port: 4712, ...said }));
  assert.deepEqual(hello.protocol, [2]);
  assert.match(hello.browser_id, /^b_[0-9a-f]{32}$/);
  assert.match(hello.instance_id, /^inst_[0-9a-f]{32}$/);
});

test('a daemon that proves itself for another port is not believed', async () => {
  const socket = await challenged();
  socket.receive(await welcomeFor(socket, {}, { port: 4712 }));
  await cryptoSettled();
  assert.deepEqual([welcomes.length, statuses.at(-1), socket.sent.length], [0, 'unproven', 1]);
});

for (const [says, status] of [
  ['this daemon speaks protocol 1, the extension speaks 2', 'old_daemon'],
  ['run `tabwire install`: this daemon speaks protocol 3, the extension 2', 'old_extension'],
  ['pay 5 to evil.example', 'old_daemon'],
]) {
  test(`of a daemon of another version the person hears which side is older (${status}), in our words`, async () => {
    const socket = await challenged();
    socket.end(4409, says);
    await settled();
    assert.deepEqual([statuses.at(-1), details.at(-1)], [status, 'at 127.0.0.1:4711']);
    assert.deepEqual(setbacks, [], 'the key is as good as ever');
    assert.equal(await delayToNextSocket(), 5_000);
  });
}

test('browser_id stays when the worker is restarted, instance_id does not', async () => {
  const [first] = (await challenged()).sent;
  makeLink();
  const [second] = (await challenged()).sent;
  assert.equal(second.browser_id, first.browser_id);
  assert.notEqual(second.instance_id, first.instance_id);
});

test('a valid welcome makes the link', async () => {
  await connected();
  assert.equal(welcomes.length, 1);
  assert.equal(statuses.at(-1), 'connected');
});

for (const [what, over] of Object.entries({
  'a forged mac': { mac: 'A'.repeat(43) },
  'no mac': { mac: undefined },
  'another epoch than was proven': { epoch: '2' },
})) {
  test(`a welcome with ${what} is closed, and nothing is run or told`, async () => {
    const socket = await challenged();
    socket.receive(await welcomeFor(socket, over));
    socket.receive(tabList);
    await cryptoSettled();
    socket.receive(tabList);
    assert.equal(socket.closed, true);
    assert.deepEqual([heard, welcomes, socket.types()], [[], [], ['hello']]);
    assert.equal(statuses.at(-1), 'unproven');
    assert.deepEqual(setbacks, [[4711, 'unproven']]);
  });
}

test('a port that another program has is told as such, without a socket and without a try over HTTP', async () => {
  FakeRequest.noDaemon();
  FakeRequest.health = { name: 'other' };
  link.ensureConnected();
  for (let i = 0; i < 4; i += 1) {
    await settled();
    mock.timers.tick(5_000);
  }
  assert.deepEqual([FakeSocket.opened.length, new Set(statuses)], [0, new Set(['connecting', 'unproven'])]);
  assert.deepEqual([details.at(-1), setbacks.at(-1)], ['at 127.0.0.1:4711', [4711, 'unproven']]);
  FakeRequest.health = { name: 'tabwire' };
  await delayToNextSocket();
  await prove();
  assert.equal(statuses.at(-1), 'connected');
});

test('a proof heard on another connection does not hold on this one', async () => {
  const first = await connected();
  const replayed = await welcomeFor(first);
  first.end(1006);
  await delayToNextSocket();
  const second = await challenged();
  second.receive(replayed);
  await cryptoSettled();
  assert.equal(second.closed, true);
});

test('before the welcome nothing but the challenge is heeded', async () => {
  link.ensureConnected();
  await settled();
  const socket = FakeSocket.last;
  for (const frame of [tabList, { type: 'ping', t: 1 }, { type: 'zap' }, 'not json', '[]', 'null']) socket.receive(frame);
  await cryptoSettled();
  assert.deepEqual([heard, socket.sent], [[], []]);
});

test('a second challenge gets no second hello', async () => {
  const socket = await challenged();
  socket.receive({ type: 'challenge', nonce: 'another' });
  await cryptoSettled();
  assert.deepEqual(socket.types(), ['hello']);
});

test('says nothing before it is welcome', async () => {
  const socket = await challenged();
  assert.equal(link.sendText('{"type":"tabs"}'), false);
  assert.deepEqual(socket.types(), ['hello']);
});

test('answers a ping with its number', async () => {
  const socket = await connected();
  socket.receive({ type: 'ping', t: 42 });
  assert.deepEqual(socket.sent.at(-1), { type: 'pong', t: 42 });
});

test('an unknown type is refused once a connection, whatever follows works', async () => {
  const socket = await connected();
  for (const frame of [{ type: 'zap' }, { type: 'zap' }, tabList]) socket.receive(frame);
  assert.deepEqual(socket.sent.slice(1), [{ type: 'nack', reason: 'unknown_type' }]);
  assert.deepEqual(heard.at(-1), tabList);
});

test('waits 100 ms, then twice as long each time, at most 5 s', async () => {
  link.ensureConnected();
  await settled();
  const delays = [];
  for (let i = 0; i < 8; i += 1) {
    FakeSocket.last.end(1006);
    delays.push(await delayToNextSocket());
  }
  assert.deepEqual(delays, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
});

test('a welcome makes the next wait short again', async () => {
  link.ensureConnected();
  await settled();
  for (let i = 0; i < 5; i += 1) {
    FakeSocket.last.end(1006);
    await delayToNextSocket();
  }
  (await prove()).end(1001);
  assert.equal(await delayToNextSocket(), 100);
});

test('waking events neither double a connection nor cut a wait short', async () => {
  link.ensureConnected();
  link.ensureConnected();
  await settled();
  assert.equal(FakeSocket.opened.length, 1);
  FakeSocket.last.end(1006);
  await settled();
  link.ensureConnected();
  await settled();
  assert.equal(FakeSocket.opened.length, 1);
});

test('a click on the icon cuts the wait short', async () => {
  link.ensureConnected();
  await settled();
  for (let i = 0; i < 6; i += 1) {
    FakeSocket.last.end(1006);
    await delayToNextSocket();
  }
  FakeSocket.last.end(1006);
  await settled();
  link.connectNow();
  assert.equal(await delayToNextSocket(), 50);
});

test('45 s of silence end the link; a frame in time keeps it', async () => {
  const socket = await connected();
  mock.timers.tick(SILENCE_MS - 1);
  socket.receive({ type: 'ping', t: 1 });
  mock.timers.tick(SILENCE_MS - 1);
  assert.equal(socket.closed, false);
  mock.timers.tick(1);
  assert.equal(socket.closed, true);
  assert.equal(await delayToNextSocket(), 100);
});

test('a peer that accepts and says nothing is given up', async () => {
  link.ensureConnected();
  await settled();
  mock.timers.tick(HANDSHAKE_MS);
  assert.equal(FakeSocket.last.closed, true);
});

test('a late close of an old connection does not disturb the new one', async () => {
  const old = await connected();
  mock.timers.tick(SILENCE_MS);
  await delayToNextSocket();
  const now = await prove();
  old.end(1006);
  old.receive(tabList);
  now.receive({ type: 'ping', t: 1 });
  assert.deepEqual(heard, []);
  assert.equal(now.sent.at(-1).type, 'pong');
  assert.equal(await delayToNextSocket(1_000), Infinity);
});

test('replaced: holds back for 30 s whatever wakes it, then comes back as the same browser', async () => {
  const socket = await connected();
  const { browser_id } = socket.sent[0];
  socket.end(4001, 'replaced');
  await settled();
  link.ensureConnected();
  assert.equal(await delayToNextSocket(), REPLACED_HOLD_MS);
  assert.equal((await prove()).sent[0].browser_id, browser_id);
});

test('replaced again within 60 s of coming back: a cloned profile takes a new id', async () => {
  const first = await connected();
  first.end(4001);
  await delayToNextSocket();
  const second = await prove();
  mock.timers.tick(20_000);
  second.receive({ type: 'ping', t: 1 });
  second.end(4001);
  await settled();
  assert.equal(await delayToNextSocket(), 100);
  const third = await prove();
  assert.notEqual(third.sent[0].browser_id, first.sent[0].browser_id);
  assert.equal(local.data.browser_id, third.sent[0].browser_id);
});

test('replaced again after more than 60 s: holds back again with the same id', async () => {
  const first = await connected();
  first.end(4001);
  await delayToNextSocket();
  const second = await prove();
  for (let i = 0; i < 4; i += 1) {
    mock.timers.tick(20_000);
    second.receive({ type: 'ping', t: i });
  }
  second.end(4001);
  await settled();
  assert.equal(await delayToNextSocket(), REPLACED_HOLD_MS);
  assert.equal((await prove()).sent[0].browser_id, first.sent[0].browser_id);
});

test('a worker that is restarted while it holds back goes on holding back', async () => {
  (await connected()).end(4001);
  await settled();
  mock.timers.setTime(Date.now() + 10_000); // The old worker's timers died with it.
  makeLink();
  link.ensureConnected();
  await settled();
  assert.equal(await delayToNextSocket(), 20_000);
});

for (const [when, open] of [['as the answer to hello', challenged], ['on an open link', connected]]) {
  test(`4401 ${when}: says that the key was refused, and asks for it anew after 5 s`, async () => {
    (await open()).end(4401, 'run this: rm -rf');
    await settled();
    assert.deepEqual([statuses.at(-1), details.at(-1)], ['refused', 'at 127.0.0.1:4711']);
    assert.deepEqual(setbacks, [[4711, 'refused']]);
    assert.equal(await delayToNextSocket(), 5_000);
  });

  test(`4401 ${when}: another key is tried at once`, async () => {
    const socket = await open();
    config = { port: 4712, ext_key: KEY };
    socket.end(4401);
    await settled();
    assert.equal(await delayToNextSocket(), 100);
    assert.equal(FakeSocket.last.url, 'ws://127.0.0.1:4712/ws');
  });
}

test('a port counts as refused when sockets and HTTP are, and another one is then tried at once', async () => {
  link.ensureConnected();
  await settled();
  for (let i = 0; i < 2; i += 1) {
    FakeSocket.last.end(1006);
    await delayToNextSocket();
  }
  assert.deepEqual(setbacks, []);
  config = { port: 4712, ext_key: KEY };
  FakeSocket.last.end(1006);
  await settled();
  assert.deepEqual(setbacks, [[4711, 'unreachable']]);
  assert.equal(await delayToNextSocket(), 100);
  assert.equal(FakeSocket.last.url, 'ws://127.0.0.1:4712/ws');
});

test('without a key it dials nobody, and connects when there is one', async () => {
  config = null;
  link.ensureConnected();
  await settled();
  assert.deepEqual([FakeSocket.opened.length, statuses.at(-1)], [0, 'unpaired']);
  config = { port: 4711, ext_key: KEY };
  assert.equal(await delayToNextSocket(), 5_000);
});

test('with another pairing it leaves the daemon that it has and goes to the other one at once', async () => {
  const old = await connected();
  config = { port: 4712, ext_key: KEY };
  link.startOver();
  assert.deepEqual([old.closed, statuses.at(-1), link.sendText('{}')], [true, 'disconnected', false]);
  assert.equal(await delayToNextSocket(), 50);
  assert.equal(FakeSocket.last.url, 'ws://127.0.0.1:4712/ws');
  await prove();
  assert.equal(statuses.at(-1), 'connected');
});

test('a key that cannot be used does not end the retries', async () => {
  config = { port: 4711, ext_key: '***' };
  link.ensureConnected();
  await settled();
  FakeSocket.last.receive(CHALLENGE);
  await cryptoSettled();
  assert.deepEqual(FakeSocket.last.sent, []);
  assert.equal(statuses.at(-1), 'unproven');
  assert.equal(await delayToNextSocket(), 100);
});
