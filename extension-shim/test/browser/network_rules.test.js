// Rules for requests: which are good, which requests they are about, and requests for which nobody decides.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { handleEvent } = await import('../../src/browser/debugger.js');
const { interception } = await import('../../src/browser/interception.js');
const { checkedRules, decideByRules, patternsOf } = await import('../../src/browser/network_rules.js');

let sent;
let answered;
const paused = (url, resourceType = 'XHR') => ({ requestId: 'R', request: { url, method: 'GET' }, resourceType });
const SITE = 'https://a.test';
const scope = (over = {}) => ({ isTold: () => true, onAnswer: (site) => answered.push(site), site: null, isOfPage: async (frameId) => frameId === 'MAIN', ...over });
const allowed = scope({ site: SITE });
const own = (url, over = {}) => ({ ...paused(url), frameId: 'MAIN', ...over });

beforeEach(() => {
  interception.forget(7);
  [sent, answered] = [[], []];
  chrome.debugger = { sendCommand: async (_, method, params) => { sent.push([method, params]); return {}; } };
});

for (const wrong of [
  'all', [{ url: '/x' }], [{ url: '/x', block: false }], [{ url: 'x', block: true }], [{ url: 7, block: true }], [null], Array(101).fill({ url: '/x', block: true }), [{ url: '/x', block: true, answer: { body: '' } }],
  [{ url: '/x', block: true, headers: { Cookie: 'a' } }], [{ url: '/x', headers: {} }], [{ url: '/x', headers: ['X-A'] }], [{ url: '/x', headers: { 'X A': 'b' } }], [{ url: '/x', headers: { 'X-A': 'b\r\nCookie: c' } }], [{ url: '/x', headers: { 'X-A': 7 } }],
  [{ url: '/x', answer: null }], [{ url: '/x', answer: { body: 7 } }], [{ url: '/x', answer: { body: '', headers: {} } }], [{ url: '/x', answer: { body: '', type: 'text/html\r\nSet-Cookie: a' } }], [{ url: '/x', answer: { body: '', status: 302 } }], [{ url: '/x', answer: { body: '', status: 101 } }], [{ url: '/x', answer: { body: 'a'.repeat(200_001) } }],
]) {
  test(`rules cannot be ${JSON.stringify(wrong).slice(0, 80)}`, () => {
    assert.throws(() => checkedRules(wrong), { code: 'invalid_params', message: /^rules/ });
  });
}

test('a part of an address and a pattern are asked of the browser as at least all that they fit', () => {
  assert.deepEqual(patternsOf(checkedRules([{ url: '/a?b', block: true }, { url: 'https://*.test/**', block: true }])), [{ urlPattern: '*/a\\?b*' }, { urlPattern: 'https://*.test/*' }]);
});

test('a request that fits is refused and counted, and no document is', async () => {
  const rules = checkedRules([{ url: '/ads/', block: true }]);
  assert.equal(await decideByRules(7, rules, paused('https://a.test/ads/1'), scope()), true);
  assert.deepEqual(sent, [['Fetch.failRequest', { requestId: 'R', errorReason: 'BlockedByClient' }]]);
  assert.equal(await decideByRules(7, rules, paused('https://a.test/ads/', 'Document'), scope()), false);
  assert.equal(await decideByRules(7, rules, paused('https://a.test/other'), scope()), false);
  assert.equal(rules[0].matched, 1);
});

test('a request to a site that agents may not use is refused, and not counted', async () => {
  const rules = checkedRules([{ url: '/ads/', block: true }]);
  assert.equal(await decideByRules(7, rules, paused('https://denied.test/ads/1'), scope({ isTold: () => false })), true);
  assert.equal(rules[0].matched, 0);
});

for (const header of ['Cookie', 'authorization', 'Proxy-Authorization', 'Origin', 'Referer', 'Host', 'Sec-Fetch-Site', 'Content-Security-Policy', 'X-Frame-Options', 'Strict-Transport-Security', 'Access-Control-Request-Method', 'Set-Cookie', 'X-CSRF-Token', 'X-Api-Key', 'X-HTTP-Method-Override', 'Content-Length', 'Service-Worker', 'Upgrade-Insecure-Requests']) {
  test(`no rule changes the header ${header}`, () => {
    assert.throws(() => checkedRules([{ url: '/x', headers: { 'X-Fine': 'a', [header]: 'b' } }]), { code: 'invalid_params', message: new RegExp(`cannot change ${header}`) });
  });
}

test('a request of the page is answered in place of the server, in UTF-8, and kept by no cache', async () => {
  const rules = checkedRules([{ url: '/cart', answer: { body: 'ü', type: 'text/plain', status: 404 } }]);
  assert.equal(await decideByRules(7, rules, own('https://a.test/cart'), allowed), true);
  const responseHeaders = [{ name: 'Content-Type', value: 'text/plain; charset=utf-8' }, { name: 'Cache-Control', value: 'no-store' }];
  assert.deepEqual(sent, [['Fetch.fulfillRequest', { requestId: 'R', responseCode: 404, responseHeaders, body: 'w7w=' }]]);
  assert.deepEqual(answered, [SITE], 'each answer is noted');
  assert.equal(rules[0].matched, 1);
});

test('no rule answers a document, a worker, a frame, another page, or without the word', async () => {
  const rules = checkedRules([{ url: '/x', answer: { body: '' } }]);
  const url = 'https://a.test/x';
  for (const kind of ['Document', 'Other', 'Preflight', 'WebSocket', 'Ping', 'Manifest', 'Prefetch', 'a kind to come']) assert.equal(await decideByRules(7, rules, own(url, { resourceType: kind }), allowed), false, kind);
  assert.equal(await decideByRules(7, rules, own(url, { resourceType: 'Script', request: { url, method: 'GET', headers: { 'Service-Worker': 'script' } } }), allowed), false);
  assert.equal(await decideByRules(7, rules, own(url, { frameId: 'FRAME' }), allowed), false);
  assert.equal(await decideByRules(7, rules, paused(url), allowed), false);
  assert.equal(await decideByRules(7, rules, own(url), scope()), false);
  assert.deepEqual([sent, rules[0].matched, answered], [[], 0, []]);
});

test('headers are changed for requests to the site of the word alone, and the others stay', async () => {
  const rules = checkedRules([{ url: '/api', headers: { 'x-variant': 'b', 'X-New': '1' } }]);
  const request = (url) => ({ url, method: 'GET', headers: { Accept: '*/*', 'X-Variant': 'a' } });
  assert.equal(await decideByRules(7, rules, own('', { request: request('https://other.test/api') }), allowed), false);
  assert.equal(await decideByRules(7, rules, own('', { request: request('https://a.test:444/api') }), allowed), false);
  assert.equal(await decideByRules(7, rules, own('', { request: request('https://a.test/api'), frameId: 'FRAME' }), allowed), false);
  assert.deepEqual(sent, []);
  assert.equal(await decideByRules(7, rules, own('', { request: request('https://a.test/api') }), allowed), true);
  assert.deepEqual(sent, [['Fetch.continueRequest', { requestId: 'R', headers: [{ name: 'Accept', value: '*/*' }, { name: 'x-variant', value: 'b' }, { name: 'X-New', value: '1' }] }]]);
});

test('a rule that may not decide leaves the request to the next one that fits', async () => {
  const rules = checkedRules([{ url: '/x', answer: { body: '' } }, { url: '/x', block: true }]);
  assert.equal(await decideByRules(7, rules, own('https://a.test/x', { frameId: 'FRAME' }), allowed), true);
  assert.deepEqual([sent[0][0], rules.map(({ matched }) => matched)], ['Fetch.failRequest', [0, 1]]);
});

test('the patterns of all who want to decide are held up together, and a request about which nobody decides goes on', async () => {
  const [first, second] = [{ patterns: [{ resourceType: 'XHR' }], decide: async () => false }, { patterns: [{ urlPattern: '*x*' }], handlesAuth: true }];
  await interception.begin(7, first);
  await interception.begin(7, second);
  assert.deepEqual(sent.at(-1), ['Fetch.enable', { handleAuthRequests: true, patterns: [...first.patterns, ...second.patterns] }]);
  handleEvent({ tabId: 7 }, 'Fetch.requestPaused', paused('https://a.test/'));
  await settled();
  assert.deepEqual(sent.at(-1), ['Fetch.continueRequest', { requestId: 'R' }]);
  await interception.end(7, second);
  assert.deepEqual(sent.at(-1), ['Fetch.enable', { handleAuthRequests: false, patterns: first.patterns }]);
  await interception.end(7, first);
  assert.deepEqual(sent.at(-1)[0], 'Fetch.disable');
  const count = sent.length;
  handleEvent({ tabId: 7 }, 'Fetch.requestPaused', paused('https://a.test/'));
  await settled();
  assert.equal(sent.length, count);
});
