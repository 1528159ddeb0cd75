// The person is asked before an agent acts: which commands need a word, which word fits, and which comes too late.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { Policy } = await import('../../src/policy/policy.js');
const { ConsentNeeded, tooLateToAsk } = await import('../../src/lib/consent.js');
const { askedSite } = await import('../../src/policy/sites.js');

const SHOP = 'https://shop.example';
let policy;
let document;

const rules = (over) => ({ type: 'site_rules', allow: [], deny: [], ...over });
const command = (type, params = {}, over = {}) => ({ type, params, tab_id: 7, ...over });
const check = (asked, url = `${SHOP}/cart`, so = {}) => policy.check(asked, async () => ({ url }), { documentNow: async () => document, ...so });
const code = (wanted) => (error) => error.code === wanted && error.more.mayHaveRun === false;
const need = (over = {}) => ({ kind: 'act', site: SHOP, document: 'd1', ...over });
const asks = (wanted) => (error) => {
  assert.ok(error instanceof ConsentNeeded, String(error));
  assert.deepEqual(error.need, wanted);
  return true;
};

beforeEach(() => {
  mock.method(console, 'debug', () => {});
  installChrome();
  policy = new Policy();
  policy.handleRules(rules({ ask: ['shop.example'] }));
  document = 'd1';
});

test('an act on a site whose rule is ask waits for the person, and reading and opening it do not', async () => {
  for (const type of ['click', 'type', 'execute_js', 'upload_file', 'dialog']) await assert.rejects(check(command(type)), asks(need()));
  await assert.rejects(check(command('wait_for', { function: 'x' })), asks(need()));
  for (const type of ['snapshot', 'navigate', 'refresh', 'tab_close', 'screenshot']) await check(command(type, { url: `${SHOP}/` }));
  await check(command('click'), 'https://other.example/');
  assert.equal(policy.isOpenFor(command('click'), { url: 'https://other.example/' }), false);
});

test('where the default is ask every site asks, with its scheme and port in its name', () => {
  const ask = rules({ default: 'ask' });
  assert.equal(askedSite(ask, 'http://127.0.0.1:8000/a?b'), 'http://127.0.0.1:8000');
  assert.equal(askedSite(ask, 'https://Shop.Example.:443/'), SHOP);
  assert.equal(askedSite(ask, 'view-source:https://shop.example/'), SHOP);
  assert.equal(askedSite(ask, 'data:text/html,x'), 'data:');
  assert.equal(askedSite(ask, 'about:blank'), null);
  assert.equal(askedSite(rules({ ask: ['localhost'] }), 'http://127.0.0.1:8000/'), 'http://127.0.0.1:8000');
  assert.equal(askedSite(rules({}), `${SHOP}/`), null);
});

test('a word for once fits the document and the site that it was given for, and nothing else', async () => {
  const allowed = (over) => command('click', {}, { allowed: [need(over)] });
  await check(allowed({}));
  document = 'd2';
  await assert.rejects(check(allowed({})), code('consent_stale'));
  await assert.rejects(check(allowed({ detail: 'x', document: 'd2' })), code('consent_stale'));
  await assert.rejects(check(allowed({ site: 'https://other.example' })), asks(need({ document: 'd2' })));
  // The person allowed a batch as a whole: its steps may lead to other pages of the site.
  await check(allowed({}), undefined, { isStep: true });
});

test('a kept word fits its site, and a no of the person ends the command', async () => {
  const known = (over) => command('click', {}, { consents: [{ kind: 'act', site: SHOP, allowed: true, ...over }] });
  document = 'd9';
  await check(known({}));
  await assert.rejects(check(known({ allowed: false })), code('denied_by_user'));
  await assert.rejects(check(known({ site: `${SHOP}:8443` })), asks(need({ document: 'd9' })));
});

test('a batch waits before its first step if one of its steps acts where the person wants to be asked', async () => {
  const batch = (...steps) => command('batch', { steps });
  const open = { action: 'navigate', url: `${SHOP}/` };
  const elsewhere = 'https://other.example/';
  await assert.rejects(check(batch(open, { action: 'click' }), elsewhere), asks({ kind: 'act', site: SHOP }));
  await assert.rejects(check(batch({ action: 'click' })), asks(need()));
  await check(batch(open, { action: 'snapshot' }), elsewhere);
  await check(batch({ action: 'click' }, open), elsewhere);
  await check(batch({ action: 'navigate', url: elsewhere }, { action: 'click' }));
  // Where it leads is known at the step: it is refused there.
  await check(batch({ action: 'navigate', url: '{{1.url}}' }, { action: 'click' }), elsewhere);
});

test('in the middle of a command nobody can be asked any more: the act is refused and says so', () => {
  assert.throws(() => policy.assertAct(command('click'), `${SHOP}/`, { ran: true }), (error) => error.code === 'consent_needed' && error.more.mayHaveRun === true);
  policy.assertAct(command('click', {}, { allowed: [need()] }), `${SHOP}/next`);
  policy.assertAct(command('snapshot'), `${SHOP}/`);
  assert.throws(() => policy.assertAct(command('click', {}, { consents: [{ kind: 'act', site: SHOP, allowed: false }] }), `${SHOP}/`), code('denied_by_user'));
  const late = tooLateToAsk(new ConsentNeeded(need()), { ran: false });
  assert.ok(code('consent_needed')(late));
});

test('deny wins over ask', async () => {
  policy.handleRules(rules({ ask: ['shop.example'], deny: ['shop.example'] }));
  await assert.rejects(check(command('click')), code('blocked_by_policy'));
});
