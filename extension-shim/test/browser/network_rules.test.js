// Rules for requests: which are good, which requests they are about, and requests for which nobody decides.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { handleEvent } = await import('../../src/browser/debugger.js');
const { interception } = await import('../../src/browser/interception.js');
const { checkedRules, decideByRules, patternsOf } = await import('../../src/browser/network_rules.js');

let sent;
const paused = (url, resourceType = 'XHR') => ({ requestId: 'R', request: { url, method: 'GET' }, resourceType });
const isTold = () => true;

beforeEach(() => {
  interception.forget(7);
  sent = [];
  chrome.debugger = { sendCommand: async (_, method, params) => { sent.push([method, params]); return {}; } };
});

for (const wrong of [
  'all', [{ url: '/x' }], [{ url: '/x', block: false }], [{ url: 'x', block: true }], [{ url: 7, block: true }], [null], Array(101).fill({ url: '/x', block: true }),
  [{ url: '/x', block: true, answer: { body: '' } }], [{ url: '/x', block: true, headers: { Cookie: 'a' } }], [{ url: '/x', headers: { 'Content-Security-Policy': '' } }],
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
  assert.equal(await decideByRules(7, rules, paused('https://a.test/ads/1'), isTold), true);
  assert.deepEqual(sent, [['Fetch.failRequest', { requestId: 'R', errorReason: 'BlockedByClient' }]]);
  assert.equal(await decideByRules(7, rules, paused('https://a.test/ads/', 'Document'), isTold), false);
  assert.equal(await decideByRules(7, rules, paused('https://a.test/other'), isTold), false);
  assert.equal(rules[0].matched, 1);
});

test('a request to a site that agents may not use is refused, and not counted', async () => {
  const rules = checkedRules([{ url: '/ads/', block: true }]);
  assert.equal(await decideByRules(7, rules, paused('https://denied.test/ads/1'), () => false), true);
  assert.equal(rules[0].matched, 0);
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
