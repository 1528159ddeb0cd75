// Stored values, and rules that answer or change requests, need a word of their own on each site, whatever the rules are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { ConsentNeeded } = await import('../../src/lib/consent.js');
const { runsScript } = await import('../../src/policy/acts.js');
const { askForOwnWord, assertOwnWord, needsOwnWord } = await import('../../src/policy/own_words.js');
const { Policy } = await import('../../src/policy/policy.js');

const SHOP = 'https://shop.example';
const GET = { area: 'cookies', operation: 'get' };
const ANSWER = { url: '/cart', answer: { body: '[]' } };
const HEADERS = { url: '/api', headers: { 'X-A': 'b', 'X-C': 'd' } };
const command = (type, params, over = {}) => ({ type, params, tab_id: 7, ...over });
const use = (over = {}) => command('storage', GET, over);
const batch = (...steps) => command('batch', { steps });
const ask = (asked, { url = `${SHOP}/cart`, isStep } = {}) => askForOwnWord(asked, url, { documentNow: async () => 'd1', isStep });
const needs = (wanted) => (error) => {
  assert.ok(error instanceof ConsentNeeded, String(error));
  assert.deepEqual(error.need, wanted);
  return true;
};
const NEED = { kind: 'values', site: SHOP, detail: 'get all of cookies', document: 'd1' };

test('permissions of a site need one of their own, with all of them in a line, and to look at them or put them back needs none', async () => {
  const set = command('set_permissions', { permissions: { camera: 'allow', geolocation: 'ask' } });
  await assert.rejects(ask(set), needs({ ...NEED, kind: 'settings', detail: 'allow camera; ask geolocation' }));
  for (const kind of ['act', 'values', 'requests', 'permission']) await assert.rejects(ask({ ...set, consents: [{ kind, site: SHOP, allowed: true }] }), ConsentNeeded, kind);
  for (const params of [{}, { reset: true }]) assert.ok(!needsOwnWord(command('set_permissions', params)));
});

test('only uses of stored values and rules that do more than block need it', () => {
  for (const one of [use(), command('network_rules', { rules: [ANSWER] }), command('network_rules', { rules: [{ url: '/a', block: true }, HEADERS] }), batch({ action: 'click' }, { action: 'storage', ...GET })]) assert.ok(needsOwnWord(one), JSON.stringify(one));
  for (const one of [command('cookies', {}), command('network_rules', {}), command('network_rules', { rules: [{ url: '/a', block: true }] }), command('network_rules', { rules: 'all' }), batch({ action: 'network_rules', rules: [] }, null), command('batch', { steps: 7 })]) assert.ok(!needsOwnWord(one), JSON.stringify(one));
});

test('without a word the person is asked, also where every site is allowed, with the act in a line', async () => {
  await assert.rejects(ask(use()), needs(NEED));
  await assert.rejects(ask(command('storage', { area: 'local', operation: 'set', name: 'theme', value: 'x'.repeat(100) })), needs({ ...NEED, detail: `set theme in local: ${'x'.repeat(70)}…` }));
  await assert.rejects(ask(command('network_rules', { rules: [{ url: '/ads', block: true }, ANSWER, HEADERS] })), needs({ ...NEED, kind: 'requests', detail: 'answer /cart; send X-A, X-C to /api' }));
});

test('a question that has no room for all says how many more there are', async () => {
  const rules = Array.from({ length: 40 }, (_, index) => ({ ...ANSWER, url: `/a/long/address/${index}` }));
  await assert.rejects(ask(command('network_rules', { rules })), (error) => {
    assert.match(error.need.detail, /^answer \/a\/long\/address\/0; .*; and \d+ more$/);
    assert.ok(error.need.detail.length <= 300);
    return true;
  });
  const long = command('storage', { area: 'a'.repeat(999), operation: 'o'.repeat(999), name: 'n'.repeat(999), value: 'v'.repeat(999) });
  await assert.rejects(ask(long), (error) => error.need.detail.length > 100 && error.need.detail.length <= 300);
});

test('a word for once is for this act on this document, and no other kind of word counts', async () => {
  const allowed = (over) => use({ allowed: [{ ...NEED, ...over }] });
  await ask(allowed({}));
  for (const over of [{ detail: 'get sid in cookies' }, { document: 'd0' }]) await assert.rejects(ask(allowed(over)), { code: 'consent_stale' });
  for (const kind of ['act', 'close', 'requests']) await assert.rejects(ask(allowed({ kind })), needs(NEED), kind);
  const known = (over) => use({ consents: [{ kind: 'values', site: SHOP, allowed: true, ...over }] });
  await ask(known({}));
  for (const over of [{ kind: 'act' }, { site: 'https://other.example' }, { site: 'http://shop.example' }]) await assert.rejects(ask(known(over)), needs(NEED));
  await assert.rejects(ask(known({ allowed: false })), { code: 'denied_by_user', message: 'the user does not let you use cookies and stored values of https://shop.example' });
});

test('a batch asks once for each site and kind that its steps name, and never for a place that is known only then', async () => {
  const steps = batch({ action: 'storage', ...GET }, { action: 'storage', area: 'local', operation: 'get', name: 'a' }, { action: 'back' }, { action: 'storage', ...GET });
  await assert.rejects(ask(steps), needs({ ...NEED, detail: 'get all of cookies; get a in local' }));
  const elsewhere = batch({ action: 'navigate', url: 'https://bank.example/' }, { action: 'storage', ...GET });
  await assert.rejects(ask(elsewhere), needs({ kind: 'values', site: 'https://bank.example', detail: 'get all of cookies' }));
  await ask(batch({ action: 'navigate', url: '{{a.url}}' }, { action: 'storage', ...GET }));
});

test('a step is carried out with the word on its batch alone', async () => {
  await ask(use({ allowed: [{ ...NEED, document: 'd0', detail: 'other' }] }), { isStep: true });
  await assert.rejects(ask(use(), { isStep: true }), ConsentNeeded);
});

test('the page that is really there decides, and a page of no site has no values', () => {
  const with_word = use({ consents: [{ kind: 'values', site: SHOP, allowed: true }] });
  assertOwnWord(with_word, `${SHOP}/x`, { ran: true });
  assertOwnWord(command('click', {}), 'https://bank.example/', { ran: true });
  assert.throws(() => assertOwnWord(with_word, 'https://bank.example/', { ran: true }), { code: 'consent_needed', more: { mayHaveRun: true } });
  for (const url of ['about:blank', 'file:///a/b.html', 'data:text/html,x', '']) assert.throws(() => assertOwnWord(with_word, url, { ran: false }), { code: 'wrong_kind' }, url);
});

test('where the person is asked before acts, one question is enough, and a rule against scripts holds for answers', async () => {
  const policy = new Policy();
  const page = async () => ({ url: `${SHOP}/`, owner: 'null' });
  policy.handleRules({ type: 'site_rules', allow: [], deny: [], default: 'ask' });
  await policy.check(use(), page, { documentNow: async () => 'd1' });
  await assert.rejects(policy.check(command('network_rules', { rules: [{ url: '/a', block: true }] }), page, { documentNow: async () => 'd1' }), ConsentNeeded);
  policy.handleRules({ type: 'site_rules', allow: [], deny: [], deny_actions: [{ action: 'execute_js', pattern: 'shop.example' }] });
  assert.ok(runsScript('network_rules', { rules: [ANSWER] }));
  await assert.rejects(policy.check(command('network_rules', { rules: [ANSWER] }), page), { code: 'blocked_by_policy' });
  await policy.check(command('network_rules', { rules: [HEADERS] }), page);
  policy.handleRules({ type: 'site_rules', allow: [], deny: [], read: ['shop.example'] });
  await assert.rejects(policy.check(use(), page), { code: 'blocked_by_policy' });
});
