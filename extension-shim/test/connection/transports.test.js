import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { LOST, openHttp, openSocket, OTHER_PROGRAM } from '../../src/connection/transports.js';
import { BODY_MAX_BYTES } from '../../src/connection/limits.js';
import { KEEPALIVE_MS } from '../../src/lib/limits.js';
import { FakeRequest, FakeSocket, installChrome, settled } from '../support/fakes.js';

const go = (id) => ({ type: 'go', correlation_id: id, attempt: 1 });
const claim = (id) => JSON.stringify({ type: 'claim', correlation_id: id, attempt: 1 });

let transport;
let heard;
let ends;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  installChrome();
  FakeRequest.listen();
  globalThis.WebSocket = FakeSocket;
  FakeSocket.opened = [];
  [heard, ends] = [[], []];
});

async function begin() {
  transport = openHttp(4711, {
    onFrame: (frame) => heard.push(frame),
    onEnd: (code, reason) => ends.push([code, reason]),
  });
  await FakeRequest.open('POST', '/session').answer({ type: 'challenge', nonce: 'n1' });
}

async function opened() {
  await begin();
  transport.send('{"type":"hello","nonce":"n2"}');
  await settled();
  await FakeRequest.open('POST', '/session').answer({ type: 'welcome', epoch: '1', session: 'secret' });
  heard.length = 0;
}

const poll = () => FakeRequest.open('GET', '/frames');
const post = () => FakeRequest.open('POST', '/frames');

async function send(...texts) {
  for (const text of texts) transport.send(text);
  await settled();
}

async function wait(ms) {
  mock.timers.tick(ms);
  await settled();
}

test('begins with a challenge, and the hello names the challenge that it answers', async () => {
  await begin();
  assert.deepEqual(FakeRequest.sent[0].body, { type: 'start' });
  transport.send('{"type":"hello","nonce":"n2"}');
  await settled();
  const hello = FakeRequest.open('POST', '/session');
  assert.deepEqual(hello.body, { type: 'hello', nonce: 'n2', challenge: 'n1' });
  await hello.answer({ type: 'welcome', epoch: '1', session: 'secret' });
  assert.deepEqual(heard, [{ type: 'challenge', nonce: 'n1' }, { type: 'welcome', epoch: '1' }]);
});

test('every further request carries the token, and none before', async () => {
  await opened();
  await send(claim('x'));
  const [start, hello, ...rest] = FakeRequest.sent;
  assert.deepEqual([start, hello].map(({ headers }) => headers.Authorization), [undefined, undefined]);
  assert.deepEqual(rest.map(({ headers }) => headers.Authorization), ['Bearer secret', 'Bearer secret']);
});

test('posts are not held up by the poll, and one is answered before the next', async () => {
  await opened();
  assert.deepEqual(poll().query, { wait_ms: '25000', after: '0' });
  await send(claim('x'), claim('y'), claim('z'));
  assert.deepEqual(post().body, { n: 1, after: 0, frames: [JSON.parse(claim('x'))] });
  await post().answer({ frames: [go('x')], last: 1 });
  assert.deepEqual(heard, [go('x')]);
  assert.deepEqual(post().body, { n: 2, after: 1, frames: ['y', 'z'].map((id) => JSON.parse(claim(id))) });
});

test('an answer to the poll is followed by the next poll, which says what has come', async () => {
  await opened();
  await poll().answer({ frames: [go('x'), go('y')], last: 2 });
  assert.deepEqual(heard, [go('x'), go('y')]);
  assert.equal(poll().query.after, '2');
  await poll().answer({ frames: [], last: 2 });
  assert.equal(poll().query.after, '2');
});

test('what two answers bring is heard once, whichever comes first', async () => {
  await opened();
  await send(claim('x'));
  const [polled, posted] = [poll(), post()];
  await polled.answer({ frames: [go('a'), go('b'), go('x')], last: 3 });
  await posted.answer({ frames: [go('a'), go('b')], last: 2 });
  assert.deepEqual(heard, [go('a'), go('b'), go('x')]);
});

test('a poll whose connection breaks is sent again and asks for the same', async () => {
  await opened();
  await poll().answer({ frames: [go('x')], last: 1 });
  await poll().breaks();
  await wait(50);
  assert.equal(poll().query.after, '1');
  assert.deepEqual(ends, []);
});

test('a post whose connection breaks is sent again under its number', async () => {
  await opened();
  await send(claim('x'));
  await post().breaks();
  await send(claim('y'));
  await wait(50);
  assert.deepEqual(post().body, { n: 1, after: 0, frames: [JSON.parse(claim('x'))] });
});

test('connections that break again and again end the link', async () => {
  await opened();
  for (const ms of [50, 100, 200, 400]) {
    await poll().breaks();
    await wait(ms);
  }
  await poll().breaks();
  assert.equal(ends[0][0], 1006);
});

test('a refusal ends the link with the code of a close frame, and nothing is asked after it', async () => {
  await opened();
  await poll().answer({ error: 'replaced', message: 'replaced by a new connection', code: 4001 }, 410);
  await send(claim('x'));
  await wait(60_000);
  assert.deepEqual(ends, [[4001, 'replaced by a new connection']]);
  assert.equal(post(), undefined);
});

test('a refusal that says what to do is told with that', async () => {
  transport = openHttp(4711, { onFrame: () => {}, onEnd: (code, reason) => ends.push([code, reason]) });
  const refused = { error: 'unknown_extension', message: 'This extension may not connect', hint: 'Allow it' };
  await FakeRequest.open('POST', '/session').answer(refused, 403);
  assert.deepEqual(ends, [[1006, 'This extension may not connect. Allow it']]);
});

test('a session that the daemon does not know is a lost link', async () => {
  await opened();
  await poll().answer({ error: 'no_session', message: 'no such session' }, 401);
  assert.deepEqual(ends, [[1006, 'no such session']]);
});

test('without a daemon it ends at once', async () => {
  FakeRequest.noDaemon();
  transport = openHttp(4711, { onFrame: (frame) => heard.push(frame), onEnd: (code) => ends.push(code) });
  await settled();
  assert.deepEqual([heard, ends], [[], [1006]]);
});

test('a worker that only fetches is kept alive by a chrome.* call every 20 s, until it ends', async () => {
  await opened();
  const calls = () => chrome.runtime.getPlatformInfo.mock.callCount();
  await wait(KEEPALIVE_MS);
  await wait(KEEPALIVE_MS);
  assert.equal(calls(), 2);
  transport.close();
  await wait(KEEPALIVE_MS);
  assert.equal(calls(), 2);
});

test('closed by us: requests are given up, nothing is heard, nothing is told', async () => {
  await opened();
  await send(claim('x'));
  const [polled, posted] = [poll(), post()];
  transport.close();
  await settled();
  assert.deepEqual([polled.isOpen, posted.isOpen], [false, false]);
  assert.deepEqual([heard, ends], [[], []]);
});

test('a post is never larger than the daemon takes, but for one frame that is', async () => {
  await opened();
  const large = JSON.stringify({ type: 'complete', result: 'ä'.repeat(BODY_MAX_BYTES / 5) });
  await send(claim('x'), large, large, large);
  await post().answer({ frames: [], last: 0 });
  assert.equal(post().body.frames.length, 2);
  await post().answer({ frames: [], last: 0 });
  assert.equal(post().body.frames.length, 1);
});

test('a post has 64 frames at most, and the rest comes with the next', async () => {
  await opened();
  await send(...Array.from({ length: 101 }, (_, n) => claim(`x${n}`)));
  const counts = [];
  for (let n = 0; n < 3; n += 1) {
    counts.push(post().body.frames.length);
    await post().answer({ frames: [], last: 0 });
  }
  assert.deepEqual([counts, post()], [[1, 64, 36], undefined]);
});

const dial = () => openSocket(4711, { onFrame: (frame) => heard.push(frame), onEnd: (code, reason) => ends.push([code, reason]) });

for (const [what, health, end, status] of [
  ['nothing listens', null, [LOST, 'TypeError: Failed to fetch']],
  ['another program answers', { name: 'other' }, [OTHER_PROGRAM, 'at 127.0.0.1:4711']],
  ['another program answers that nothing is there', {}, [OTHER_PROGRAM, 'at 127.0.0.1:4711'], 404],
  ['a program answers with what is no object', 'ok', [OTHER_PROGRAM, 'at 127.0.0.1:4711']],
  ['a daemon has too many connections', {}, [LOST, '127.0.0.1:4711 answers 503'], 503],
]) {
  test(`where ${what} no socket is opened: Chrome would list it as an error of the extension`, async () => {
    FakeRequest.health = health;
    FakeRequest.healthStatus = status ?? 200;
    dial();
    await settled();
    assert.deepEqual([FakeSocket.opened.length, ends], [0, [end]]);
  });
}

test('a transport that is closed before Tabwire has answered opens no socket and tells no end', async () => {
  dial().close();
  await settled();
  assert.deepEqual([FakeSocket.opened.length, ends], [0, []]);
});

test('where Tabwire answers a socket is opened, and its end is told once', async () => {
  dial();
  await settled();
  FakeSocket.last.receive({ type: 'challenge', nonce: 'n' });
  FakeSocket.last.end(4401, 'refused');
  FakeSocket.last.end(1006);
  FakeSocket.last.receive({ type: 'challenge', nonce: 'n' });
  assert.deepEqual([FakeSocket.opened.length, ends, heard.length], [1, [[4401, 'refused']], 1]);
});
