import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { Identity } from '../../src/connection/identity.js';
import { Link } from '../../src/connection/link.js';
import { REPLACED_HOLD_MS, SOCKET_AGAIN_MS } from '../../src/connection/limits.js';
import { welcomeMac } from '../../src/connection/proof.js';
import { Takeover } from '../../src/connection/takeover.js';
import { cryptoSettled, FakeRequest, FakeSocket, installChrome, proofVectors, settled } from '../support/fakes.js';

const [vector] = proofVectors();
const KEY = vector.ext_key;
const CHALLENGE = { type: 'challenge', nonce: vector.challenge_nonce };
const go = { type: 'go', correlation_id: 'x', attempt: 1 };

let heard;
let welcomes;
let statuses;
let link;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_795_298_985_123 });
  installChrome();
  globalThis.WebSocket = FakeSocket;
  FakeSocket.opened = [];
  FakeRequest.listen();
  [heard, welcomes, statuses] = [[], [], []];
  const takeover = new Takeover();
  link = new Link(new Identity(), takeover, {
    loadConfig: async () => ({ port: 4711, ext_key: KEY }),
    onSetback: () => false,
    prepare: () => takeover.restore(),
    onWelcome: (welcome) => welcomes.push(welcome),
    onFrame: (frame) => heard.push(frame) > 0,
    onStatus: (status, detail) => statuses.push([status, detail]),
  });
});

async function wait(ms) {
  for (let passed = 0; passed < ms; passed += 50) {
    mock.timers.tick(50);
    await settled();
  }
}

async function welcomeFor(hello, extKey = KEY) {
  const mac = await welcomeMac(extKey, { port: 4711, challengeNonce: CHALLENGE.nonce, helloNonce: hello.nonce, instanceId: hello.instance_id, epoch: '1' });
  return { type: 'welcome', protocol: 2, epoch: '1', server_version: '0.1.0', heartbeat_ms: 20000, capture: {}, mac };
}

/** Three sockets in a row that cannot be had. */
async function refuseSockets(count = 3) {
  link.ensureConnected();
  await settled();
  for (let n = 1; n <= count; n += 1) {
    FakeSocket.last.end(1006);
    await settled();
    if (n < count) await wait(100 * 2 ** (n - 1));
  }
}

const session = () => FakeRequest.open('POST', '/session');

async function proveHttp() {
  await session().answer(CHALLENGE);
  await cryptoSettled();
  const request = session();
  await request.answer({ ...await welcomeFor(request.body), session: 'secret' });
  await cryptoSettled();
  return request.body;
}

async function proveSocket(socket = FakeSocket.last) {
  socket.receive(CHALLENGE);
  await cryptoSettled();
  socket.receive(await welcomeFor(socket.sent[0]));
  await cryptoSettled();
  return socket;
}

async function overHttp() {
  await refuseSockets();
  return proveHttp();
}

const poll = () => FakeRequest.open('GET', '/frames');

test('two sockets that fail are no reason for HTTP, three are', async () => {
  await refuseSockets(2);
  assert.equal(FakeRequest.sent.length, 0);
  await wait(200);
  FakeSocket.last.end(1006);
  await settled();
  assert.deepEqual(session().body, { type: 'start' });
});

test('a socket that says why it ends is none that cannot be had', async () => {
  link.ensureConnected();
  await settled();
  for (let n = 0; n < 5; n += 1) {
    FakeSocket.last.end(4409, 'another version');
    await wait(5_000);
  }
  assert.equal(FakeRequest.sent.length, 0);
});

test('over HTTP the same proof is asked for and given, and the same is run', async () => {
  await overHttp();
  assert.equal(welcomes.length, 1);
  assert.deepEqual(statuses.at(-1), ['connected', 'Tabwire 0.1.0 over HTTP']);
  await poll().answer({ frames: [go], last: 1 });
  assert.deepEqual(heard, [go]);
  link.send({ type: 'pong', t: 1 });
  await settled();
  assert.deepEqual(FakeRequest.open('POST', '/frames').body.frames, [{ type: 'pong', t: 1 }]);
});

test('a welcome with a forged mac is worth no more over HTTP', async () => {
  await refuseSockets();
  await session().answer(CHALLENGE);
  await cryptoSettled();
  const request = session();
  await request.answer({ ...await welcomeFor(request.body, 'AAAA'), session: 'secret' });
  await cryptoSettled();
  assert.deepEqual([welcomes, statuses.at(-1)[0], poll()], [[], 'unproven', undefined]);
});

test('while there is no daemon it goes on with the back-off, and the socket is first', async () => {
  FakeRequest.noDaemon();
  await refuseSockets();
  const before = FakeSocket.opened.length;
  await wait(350);
  assert.equal(FakeSocket.opened.length, before);
  await wait(50);
  assert.equal(FakeSocket.opened.length, before + 1);
  await proveSocket();
  assert.deepEqual(statuses.at(-1), ['connected', 'Tabwire 0.1.0']);
});

test('goes back to the socket when that can be had, and not before it is proven', async () => {
  const hello = await overHttp();
  await wait(SOCKET_AGAIN_MS);
  const socket = FakeSocket.last;
  socket.receive(CHALLENGE);
  await cryptoSettled();
  await poll().answer({ frames: [go], last: 1 });
  assert.deepEqual(heard, [go], 'it works until the other one does');
  assert.ok(poll(), 'and is not dropped');
  socket.receive(await welcomeFor(socket.sent[0]));
  await cryptoSettled();
  assert.equal(poll(), undefined);
  assert.equal(welcomes.length, 2, 'each connection gets its own ready');
  assert.deepEqual(['browser_id', 'instance_id'].map((id) => socket.sent[0][id] === hello[id]), [true, true]);
  link.send({ type: 'pong', t: 1 });
  assert.deepEqual(socket.sent.at(-1), { type: 'pong', t: 1 });
});

test('a socket that still cannot be had disturbs nothing, and is tried again later', async () => {
  await overHttp();
  for (let n = 0; n < 3; n += 1) {
    const before = FakeSocket.opened.length;
    await wait(SOCKET_AGAIN_MS);
    assert.equal(FakeSocket.opened.length, before + 1);
    FakeSocket.last.end(1006);
    await settled();
  }
  await poll().answer({ frames: [go], last: 1 });
  assert.deepEqual([heard, welcomes.length], [[go], 1]);
});

test('replaced by its own socket is no take-over', async () => {
  await overHttp();
  await wait(SOCKET_AGAIN_MS);
  const socket = FakeSocket.last;
  socket.receive(CHALLENGE);
  await cryptoSettled();
  await poll().answer({ error: 'replaced', message: 'replaced', code: 4001 }, 410);
  socket.receive(await welcomeFor(socket.sent[0]));
  await cryptoSettled();
  assert.deepEqual(statuses.at(-1), ['connected', 'Tabwire 0.1.0']);
  await wait(1_000);
  assert.equal(socket.closed, false);
});

test('replaced by another browser over HTTP holds back as over the socket', async () => {
  await overHttp();
  await poll().answer({ error: 'replaced', message: 'replaced', code: 4001 }, 410);
  const before = FakeSocket.opened.length;
  await wait(REPLACED_HOLD_MS - 100);
  assert.deepEqual([FakeSocket.opened.length, statuses.at(-1)[0]], [before, 'replaced']);
  await wait(200);
  assert.equal(FakeSocket.opened.length, before + 1);
});

test('HTTP that ends while a socket is being proven leaves it to the socket', async () => {
  await overHttp();
  await wait(SOCKET_AGAIN_MS);
  const opened = FakeSocket.opened.length;
  await poll().answer({ error: 'shutting_down', message: 'bye', code: 1001 }, 503);
  await proveSocket();
  assert.deepEqual(statuses.at(-1), ['connected', 'Tabwire 0.1.0']);
  await wait(1_000);
  assert.equal(FakeSocket.opened.length, opened);
});

test('when both have ended it comes back after the back-off', async () => {
  await overHttp();
  await wait(SOCKET_AGAIN_MS);
  await poll().answer({ error: 'shutting_down', message: 'bye', code: 1001 }, 503);
  FakeRequest.noDaemon();
  const opened = FakeSocket.opened.length;
  FakeSocket.last.end(1006);
  await settled();
  await wait(100);
  assert.equal(FakeSocket.opened.length, opened + 1);
});

test('a session that ends is followed by a try of the socket, then by HTTP at once', async () => {
  await overHttp();
  await poll().answer({ error: 'silent', message: 'no request came', code: 1002 }, 410);
  await wait(100);
  FakeSocket.last.end(1006);
  await settled();
  await proveHttp();
  assert.equal(welcomes.length, 2);
});
