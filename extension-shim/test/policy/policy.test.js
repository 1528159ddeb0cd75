// What the person lets agents do, and what a worker knows of it that has just begun.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

let local;
let policy;

installChrome();
const { Policy } = await import('../../src/policy/policy.js');

const rules = (allow = [], deny = []) => ({ type: 'site_rules', allow, deny });
const command = (type, params = {}) => ({ type, params, tab_id: 7 });
const at = (url, pendingUrl) => async () => ({ url, pendingUrl });
const check = (type, params, look = at('https://allowed.example/')) => policy.check(command(type, params), look);
const isOpen = (params = {}, tab = { url: 'https://allowed.example/' }) => policy.isOpenFor(command('execute_js', params), tab);
const refused = (code) => (error) => error.code === code && error.more.mayHaveRun === false;

beforeEach(() => {
  mock.method(console, 'debug', () => {});
  ({ local } = installChrome());
  policy = new Policy();
});

/** A worker that begins anew. */
async function worker() {
  policy = new Policy();
  await policy.restore();
}

test('nothing is let through before the daemon has said once which sites may be used', async () => {
  await policy.restore();
  assert.equal(isOpen(), false);
  await assert.rejects(check('execute_js'), refused('blocked_by_policy'));
  await assert.rejects(check('tab_list'), refused('blocked_by_policy'));
  assert.throws(() => policy.assertUrl('about:blank'), refused('blocked_by_policy'));
  policy.handleRules(rules());
  assert.equal(isOpen(), true);
  await check('execute_js');
});

test('a worker that begins anew enforces what the last one knew', async () => {
  policy.handleRules(rules([], ['denied.example']));
  await policy.setStopped(true);
  await worker();
  assert.deepEqual([policy.isStopped, policy.rules], [true, { allow: [], deny: ['denied.example'], agent_deny: [], read: [], deny_actions: [], ask: [], default: 'allow' }]);
  await policy.setStopped(false);
  await worker();
  assert.equal(policy.isStopped, false);
  await assert.rejects(check('execute_js', {}, at('https://denied.example/')), refused('blocked_by_policy'));
});

test('a stop by which a worker begins anew holds at once, and keeps the rules', async () => {
  policy.handleRules(rules([], ['denied.example']));
  await settled();
  policy = new Policy();
  const stopped = policy.setStopped(true);
  assert.equal(policy.isStopped, true);
  await stopped;
  await worker();
  assert.deepEqual([policy.isStopped, policy.rules], [true, { allow: [], deny: ['denied.example'], agent_deny: [], read: [], deny_actions: [], ask: [], default: 'allow' }]);
});

test('a release by which a worker begins anew is not undone by what is read', async () => {
  policy.handleRules(rules());
  await policy.setStopped(true);
  policy = new Policy();
  await policy.setStopped(false);
  assert.equal(policy.isStopped, false);
  await worker();
  assert.equal(policy.isStopped, false);
});

test('what the daemon says while an earlier worker\'s word is read counts', async () => {
  policy.handleRules(rules([], ['denied.example']));
  await settled();
  policy = new Policy();
  const restored = policy.restore();
  policy.handleRules(rules([], ['other.example']));
  await restored;
  assert.deepEqual(policy.rules.deny, ['other.example']);
});

test('scripts in pages cannot write what is kept', async () => {
  const set = mock.method(local, 'setAccessLevel');
  await policy.restore();
  assert.deepEqual(set.mock.calls[0].arguments, [{ accessLevel: 'TRUSTED_CONTEXTS' }]);
});

test('a command is refused by where its tab is, by where it is on its way to, and by where it would go', async () => {
  policy.handleRules(rules([], ['denied.example']));
  for (const type of ['execute_js', 'screenshot', 'dom', 'page_info', 'navigate', 'tab_close', 'draw_mode']) {
    await check(type);
    await assert.rejects(check(type, {}, at('https://denied.example/')), refused('blocked_by_policy'), type);
    await assert.rejects(check(type, {}, at('https://allowed.example/', 'https://denied.example/')), refused('blocked_by_policy'), type);
  }
  for (const type of ['navigate', 'tab_open']) {
    await assert.rejects(check(type, { url: 'https://allowed.example@denied.example/' }), refused('blocked_by_policy'));
    await check(type, { url: 'https://allowed.example/' });
  }
});

test('tabs are listed, and a tab is opened, wherever the person is', async () => {
  policy.handleRules(rules([], ['denied.example']));
  for (const type of ['tab_list', 'tab_open']) await check(type, {}, at('https://denied.example/'));
});

test('a tab that is not there is for the action to name', async () => {
  policy.handleRules(rules([], ['denied.example']));
  await check('execute_js', {}, async () => { throw new Error('no such tab'); });
});

test('while all is stopped nothing may begin, whatever the rules say', async () => {
  policy.handleRules(rules());
  await policy.setStopped(true);
  assert.equal(isOpen(), false);
  for (const type of ['execute_js', 'tab_list', 'tab_open']) await assert.rejects(check(type), refused('stopped_by_user'));
});

test('whoever shows or records is told of each change', async () => {
  const changed = mock.fn();
  policy.onChange = changed;
  policy.handleRules(rules());
  await policy.setStopped(true);
  assert.equal(changed.mock.callCount(), 2);
});

test('a refusal names host and rule, and nothing else of the page', () => {
  policy.handleRules(rules([], ['denied.example']));
  assert.throws(() => policy.assertUrl('https://user:secret@denied.example/secret?secret'),
    ({ message }) => message.includes('denied.example') && !message.includes('secret'));
});

test('where anything is allowed, agents may leave the browser\'s own pages for it, and no page of no site', async () => {
  policy.handleRules(rules(['allowed.example']));
  const url = 'https://allowed.example/';
  for (const own of ['chrome://newtab/', 'edge://newtab/']) await check('navigate', { url }, at(own));
  await assert.rejects(check('navigate', { url }, at('chrome://newtab/', 'https://other.example/')), refused('blocked_by_policy'));
  await assert.rejects(check('navigate', { url }, at('data:text/html,x')), refused('blocked_by_policy'));
  await assert.rejects(check('navigate', { url }, at('view-source:https://other.example/')), refused('blocked_by_policy'));
});

test('what agents have denied counts as what the person has, also for the next worker', async () => {
  policy.handleRules({ ...rules(), agent_deny: ['bank.example'] });
  assert.equal(policy.allowsEverySite, false);
  await settled();
  await worker();
  await assert.rejects(policy.admit('https://www.bank.example/'), refused('blocked_by_policy'));
});
