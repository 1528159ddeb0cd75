// From what the debugger tells to the entries of the golden frames, with whatever pages do in between.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goldenFrames, installChrome } from '../support/fakes.js';

installChrome();
const { bodyEntry, hasTextAnswer, isFetchable } = await import('../../src/capture/bodies.js');
const { FloodGuard } = await import('../../src/capture/flood.js');
const { browserEntry, consoleEntry, exceptionEntry } = await import('../../src/capture/logs.js');
const { lineOf, textOf } = await import('../../src/capture/remote_object.js');
const { Requests } = await import('../../src/capture/requests.js');
const { readSettings, streamsOf, writeSettings } = await import('../../src/capture/settings.js');
const { Sockets } = await import('../../src/capture/sockets.js');
const { clipBytes } = await import('../../src/capture/text.js');

const golden = (stream) => goldenFrames('from_extension')[`events.${stream}`].entries;
const PAGE = 'http://127.0.0.1:8000/';
const T = golden('logs')[0].t;
const ofTab = (entry, fields = {}) => ({ ...entry, tab_id: 7, ...fields });

const string = (value) => ({ type: 'string', value });
const number = (value) => ({ type: 'number', value, description: String(value) });
const preview = (description, properties, more) => ({ type: 'object', description, overflow: false, properties, ...more });
const object = (description, properties, more) =>
  ({ type: 'object', subtype: more?.subtype, description, preview: preview(description, properties, more) });
const property = (name, type, value, more) => ({ name, type, value, ...more });

// ── Settings ────────────────────────────────────────────────────────────────────────

test('a tab records what is wanted of all tabs and of itself', () => {
  const settings = readSettings({ all: ['logs'], tabs: [{ tab_id: 7, streams: ['network', 'logs'] }] });
  assert.deepEqual(streamsOf(settings, 7), new Set(['logs', 'network']));
  assert.deepEqual(streamsOf(settings, 8), new Set(['logs']));
});

for (const capture of [{}, undefined, null, [], 'all', { all: [], tabs: [] }, { all: 'logs' }, { tabs: [{ tab_id: '7', streams: ['logs'] }] },
  { all: ['from_the_future'] }, { tabs: [null, { tab_id: 7 }, { tab_id: 7, streams: [] }] }]) {
  test(`${JSON.stringify(capture)} records nothing`, () => {
    const settings = readSettings(capture);
    assert.equal(streamsOf(settings, 7).size, 0);
    assert.equal(settings.tabs.size, 0);
  });
}

test('settings survive being stored', () => {
  const settings = readSettings({ all: ['actions'], tabs: [{ tab_id: 7, streams: ['bodies'] }] });
  assert.deepEqual(readSettings(JSON.parse(JSON.stringify(writeSettings(settings)))), settings);
});

// ── Logs ────────────────────────────────────────────────────────────────────────────

const frame = (lineNumber, functionName = '') => ({ functionName, url: `${PAGE}shop.js`, lineNumber, columnNumber: 4 });

test('a console line, an exception and the browser\'s own words are those of the golden frame', () => {
  const cart = object('Object', [property('items', 'number', '2'), property('total', 'number', '9.5')]);
  const line = consoleEntry({ type: 'log', timestamp: T, args: [string('cart'), cart], stackTrace: { callFrames: [frame(11)] } });
  const thrown = { type: 'object', subtype: 'error', description: `TypeError: cart is undefined\n    at pay (${PAGE}shop.js:31:5)` };
  const exception = exceptionEntry({ timestamp: T, exceptionDetails: { text: 'Uncaught', url: `${PAGE}shop.js`, lineNumber: 30, columnNumber: 4, exception: thrown } });
  const browser = browserEntry({ entry: { level: 'warning', text: 'A cookie was refused', timestamp: T } });
  assert.deepEqual([line, exception, browser].map((entry) => ofTab(entry, { url: PAGE })), golden('logs'));
});

test('every kind of console call has its level, and those that write nothing have no entry', () => {
  const of = (type) => consoleEntry({ type, args: [string('x')], timestamp: T })?.level;
  const levels = { log: 'log', debug: 'debug', info: 'info', warning: 'warn', error: 'error', assert: 'error', table: 'log', trace: 'log', startGroup: 'log' };
  for (const [type, level] of Object.entries(levels)) assert.equal(of(type), level, type);
  for (const type of ['clear', 'endGroup', 'profile', 'profileEnd']) assert.equal(of(type), undefined, type);
});

test('errors and warnings tell their way, and a thrown string has the way that was seen', () => {
  const callFrames = [frame(11, 'pay'), { functionName: '', url: '', lineNumber: 0, columnNumber: 0 }];
  const { stack } = consoleEntry({ type: 'error', args: [], timestamp: T, stackTrace: { callFrames } });
  assert.equal(stack, `    at pay (${PAGE}shop.js:12:5)\n    at <anonymous> (<anonymous>:1:1)`);
  const entry = exceptionEntry({ timestamp: T, exceptionDetails: { text: 'Uncaught (in promise)', exception: string('no'), stackTrace: { callFrames } } });
  assert.deepEqual([entry.text, entry.stack, entry.line], ['Uncaught (in promise) no', stack, 12]);
});

test('long lines are cut', () => {
  const { text } = consoleEntry({ type: 'log', args: [string('x'.repeat(1e6))], timestamp: T });
  assert.ok(text.length < 9_000 && text.endsWith('…'));
});

test('values read as in a console', () => {
  const date = { type: 'object', subtype: 'date', description: 'Sun Nov 22 2026' };
  for (const [value, text] of [
    [string('a "b"'), 'a "b"'],
    [number(1.5), '1.5'],
    [{ type: 'boolean', value: false }, 'false'],
    [{ type: 'bigint', unserializableValue: '5n', description: '5n' }, '5n'],
    [{ type: 'number', unserializableValue: '-0', description: '-0' }, '-0'],
    [{ type: 'undefined' }, 'undefined'],
    [{ type: 'object', subtype: 'null', value: null }, 'null'],
    [{ type: 'symbol', description: 'Symbol(x)' }, 'Symbol(x)'],
    [{ type: 'function', description: 'function f() {}' }, 'function f() {}'],
    [date, 'Sun Nov 22 2026'],
    [object('Object', []), '{}'],
    [object('Cart', [property('name', 'string', 'a')], { overflow: true }), 'Cart {name: "a", …}'],
    [object('Array(2)', [property('0', 'number', '1'), property('1', 'string', 'two')], { subtype: 'array' }), '[1, "two"]'],
    [object('Uint8Array(1)', [property('0', 'number', '1')], { subtype: 'typedarray' }), 'Uint8Array(1) [1]'],
    [object('Map(1)', [], { subtype: 'map', entries: [{ key: { type: 'string', description: 'k' }, value: { type: 'number', description: '1' } }] }), 'Map(1) {"k" => 1}'],
    [object('Object', [property('o', 'object', 'Object'), property('f', 'function', ''), property('n', 'object', 'null', { subtype: 'null' })]), '{o: {…}, f: function, n: null}'],
    [object('Object', [{ name: 'o', type: 'object', valuePreview: preview('Object', [property('a', 'number', '1')]) }]), '{o: {a: 1}}'],
  ]) assert.equal(textOf(value), text);
});

test('formats are filled in, and what they do not use follows', () => {
  assert.equal(lineOf([string('%s has %d of %i, %f%% %c!'), string('Ann'), string('3.7'), number(4.2), string('1.5'), string('color: red'), string('more')]),
    'Ann has 3 of 4, 1.5% ! more');
  assert.equal(lineOf([string('%s and %s'), string('one')]), 'one and %s');
  assert.equal(lineOf([string('plain'), number(1)]), 'plain 1');
  assert.equal(lineOf([]), '');
});

// ── Network ─────────────────────────────────────────────────────────────────────────

const sent = (requestId, over = {}, request = {}) => ['Network.requestWillBeSent', {
  requestId, timestamp: 100, wallTime: T / 1000, type: 'Fetch', documentURL: PAGE, ...over, request: { method: 'GET', url: `${PAGE}x`, headers: {}, ...request },
}];
const answered = (requestId, response) => ['Network.responseReceived', { requestId, timestamp: 100.7, response: { status: 200, statusText: 'OK', mimeType: 'application/json', headers: {}, ...response } }];
const ended = (requestId, encodedDataLength = 168) => ['Network.loadingFinished', { requestId, timestamp: 100.7055, encodedDataLength }];
const failed = (requestId, over) => ['Network.loadingFailed', { requestId, timestamp: 100.002, errorText: 'net::ERR_CONNECTION_REFUSED', ...over }];

/** What the last of these events ends. */
function requestsOf(...events) {
  const requests = new Requests((url) => url.startsWith('http://denied.example/'));
  return events.flatMap(([method, params]) => requests.handle(method, params));
}

const json = { 'Content-Type': 'application/json' };
const paying = [
  sent('4711.2', {}, { method: 'POST', url: `${PAGE}pay`, headers: { Authorization: 'Bearer secret', ...json }, hasPostData: true, postData: '{"sum":9.5}' }),
  answered('4711.2', { status: 500, statusText: 'Internal Server Error', headers: json, timing: { requestTime: 100.001, receiveHeadersStart: 702, receiveHeadersEnd: 703 } }),
  ended('4711.2'),
];

test('a request that was answered and one that failed are those of the golden frame', () => {
  const finished = requestsOf(...paying, sent('4711.3', {}, { url: 'http://127.0.0.1:9/' }), failed('4711.3'));
  assert.deepEqual(finished.map(({ entry }) => ofTab(entry)), golden('network'));
});

test('each redirect is an entry of its own', () => {
  const redirectResponse = { status: 302, statusText: 'Found', mimeType: '', headers: { location: '/y' }, encodedDataLength: 90 };
  const finished = requestsOf(sent('1'), sent('1', { redirectResponse, timestamp: 100.1 }, { url: `${PAGE}y` }), answered('1'), ended('1'));
  assert.deepEqual(finished.map(({ entry: { url, status, bytes } }) => [url, status, bytes]), [[`${PAGE}x`, 302, 90], [`${PAGE}y`, 200, 168]]);
});

test('a request that is on a denied site anywhere on its way leaves no trace, and the next one of its kind does', () => {
  const to = (url, redirectResponse = { status: 302, headers: { location: url }, encodedDataLength: 90 }) => sent('1', { redirectResponse }, { url });
  const denied = 'http://denied.example/secret?token=x';
  const allowed = `${PAGE}callback?token=x`;
  const urls = (...events) => requestsOf(...events).map(({ entry: { url } }) => url);
  assert.deepEqual(urls(sent('1', {}, { url: denied }), answered('1'), ended('1')), []);
  assert.deepEqual(urls(sent('1', {}, { url: denied }), failed('1')), []);
  assert.deepEqual(urls(sent('1'), to(denied), answered('1'), ended('1')), [], 'where it was sent on names where to');
  assert.deepEqual(urls(sent('1', {}, { url: denied }), to(allowed), answered('1'), ended('1')), []);
  assert.deepEqual(urls(sent('1'), to(`${PAGE}y`), to(denied), to(allowed), answered('1'), ended('1')), [`${PAGE}x`]);
  assert.deepEqual(urls(sent('1'), answered('1', { url: denied }), ended('1')), [], 'a service worker has answered with it');
  assert.deepEqual(urls(sent('1', {}, { url: denied }), ended('1'), sent('1'), answered('1'), ended('1')), [`${PAGE}x`]);
});

test('no header that opens a door leaves the browser', () => {
  const secret = Object.fromEntries(['cookie', 'Set-Cookie', 'authorization', 'PROXY-Authorization'].map((name) => [name, 'secret']));
  const [{ entry }] = requestsOf(sent('1', {}, { headers: { ...secret, accept: '*/*' } }), answered('1', { headers: secret }), ended('1'));
  assert.equal(JSON.stringify(entry).includes('secret'), false);
  assert.equal(entry.request_headers.accept, '*/*');
  assert.equal(entry.response_headers['Set-Cookie'], '[redacted]');
});

test('why a request was blocked, and that it came from the cache, is told', () => {
  const cached = requestsOf(sent('1'), ['Network.requestServedFromCache', { requestId: '1' }], answered('1'), ended('1', 0));
  assert.equal(cached[0].entry.from_cache, true);
  assert.equal(requestsOf(...paying)[0].entry.from_cache, undefined);
  const error = (over) => requestsOf(sent('1'), failed('1', over))[0].entry.error;
  assert.equal(error({ errorText: 'net::ERR_FAILED', corsErrorStatus: { corsError: 'MissingAllowOriginHeader' } }), 'net::ERR_FAILED (MissingAllowOriginHeader)');
  assert.equal(error({ errorText: '', blockedReason: 'csp' }), 'blocked (csp)');
});

test('data: URLs are no requests, an end without a beginning is none, and open ones are bounded', () => {
  assert.deepEqual(requestsOf(sent('1', {}, { url: 'data:text/plain,x' }), ended('1'), ended('unknown'), answered('unknown')), []);
  const many = Array.from({ length: 1_001 }, (_, at) => sent(String(at)));
  assert.equal(requestsOf(...many, ended('0'), ended('1')).length, 1);
});

// ── Bodies ──────────────────────────────────────────────────────────────────────────

test('what a request carried and what came back is that of the golden frame', () => {
  const [finished] = requestsOf(...paying);
  const entry = bodyEntry(finished, '{"sum":9.5}', { body: '{"error":"no funds"}', base64Encoded: false });
  assert.deepEqual(ofTab(entry), golden('bodies')[0]);
});

test('bodies are cut to 16 KiB, and those that are too large are not fetched', () => {
  const [finished] = requestsOf(...paying);
  const entry = bodyEntry(finished, undefined, { body: 'é'.repeat(20_000), base64Encoded: false });
  assert.equal(new TextEncoder().encode(entry.response_body).length, 16 * 1024);
  assert.equal(entry.truncated, true);
  const [large] = requestsOf(sent('1'), answered('1'), ended('1', 3e6));
  assert.equal(isFetchable(large), false);
  assert.equal(bodyEntry(large, undefined, undefined).truncated, true);
});

test('only text is read: no picture, no code, no redirect, nothing that failed', () => {
  const textual = (response, over) => hasTextAnswer(requestsOf(sent('1', over), answered('1', response), ended('1'))[0]);
  for (const mimeType of ['text/html', 'application/json', 'application/problem+json', 'image/svg+xml', 'application/x-www-form-urlencoded']) {
    assert.equal(textual({ mimeType }), true, mimeType);
  }
  for (const mimeType of ['image/png', 'application/octet-stream', 'application/pdf', '']) assert.equal(textual({ mimeType }), false, mimeType);
  assert.equal(textual({}, { type: 'Script' }), false);
  assert.equal(textual({ status: 302 }), false);
  const [refused] = requestsOf(sent('1'), answered('1'), failed('1'));
  assert.equal(hasTextAnswer(refused), false);
  assert.equal(bodyEntry(refused, undefined, undefined), null);
});

// ── WebSockets ──────────────────────────────────────────────────────────────────────

const socketEvents = (...events) => {
  const sockets = new Sockets();
  return events.map(([event, more]) => sockets.handle(`Network.webSocket${event}`, { requestId: '4711.4', ...more }, T)).filter(Boolean);
};
const created = ['Created', { url: 'ws://127.0.0.1:8000/live' }];

test('the life of a WebSocket is that of the golden frame', () => {
  const entries = socketEvents(created, ['WillSendHandshakeRequest'], ['HandshakeResponseReceived'],
    ['FrameSent', { response: { opcode: 1, payloadData: 'hello' } }], ['FrameReceived', { response: { opcode: 2, payloadData: 'AQID' } }], ['Closed']);
  assert.deepEqual(entries.map((entry) => ofTab(entry, { page_url: PAGE })), golden('websocket'));
});

test('long frames are cut to 4 KiB and tell how long they were, and errors have their words', () => {
  const [long, error] = socketEvents(created, ['FrameSent', { response: { opcode: 1, payloadData: 'é'.repeat(5_000) } }], ['FrameError', { errorMessage: 'refused' }]);
  assert.deepEqual([long.text, long.bytes, long.truncated], ['é'.repeat(2_048), 10_000, true]);
  assert.deepEqual([error.event, error.text], ['error', 'refused']);
});

test('no half a character is left at a cut', () => {
  assert.deepEqual(clipBytes('aéb', 2), { text: 'a', truncated: true });
  assert.deepEqual(clipBytes('aéb', 3), { text: 'aé', truncated: true });
  assert.deepEqual(clipBytes('aéb', 4), { text: 'aéb', truncated: false });
  assert.deepEqual(clipBytes('😀😀', 7), { text: '😀', truncated: true });
});

// ── Too much ────────────────────────────────────────────────────────────────────────

test('a page that says too much is noticed once in each window, and a large page is none', () => {
  const guard = new FloodGuard();
  const told = (domain, count, now) => Array.from({ length: count }, () => guard.handle(domain, now)).filter(Boolean).length;
  assert.equal(told('Runtime', 99, 0), 0);
  assert.equal(told('Runtime', 5_000, 99), 1);
  assert.equal(told('Runtime', 5_000, 100), 1);
  assert.equal(told('Network', 1_000, 0), 0);
});

test('what goes on is not listened to for longer each time, up to a minute, until it has been calm', () => {
  const guard = new FloodGuard();
  let now = 0;
  const pauses = Array.from({ length: 10 }, () => {
    const pauseMs = guard.mute('Runtime', now);
    now += pauseMs;
    guard.end('Runtime', now);
    return pauseMs;
  });
  assert.deepEqual(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  assert.equal(guard.mute('Runtime', now + 60_000), 500);
});

test('what had to be let go of is left alone for longer', () => {
  const guard = new FloodGuard();
  guard.mute('Runtime', 0);
  assert.equal(guard.rest(), 30_000);
  guard.end('Runtime', 30_000);
  assert.equal(guard.mute('Runtime', 31_000), 60_000);
  assert.equal(guard.rest(), 60_000);
});

test('what comes although it was asked to stop tells a loop', () => {
  const guard = new FloodGuard();
  guard.mute('Runtime', 0);
  const say = (count) => { for (let at = 0; at < count; at += 1) guard.handle('Runtime', 1); };
  say(100);
  assert.equal(guard.isInLoop('Runtime'), false);
  say(1);
  assert.equal(guard.isInLoop('Runtime'), true);
});
