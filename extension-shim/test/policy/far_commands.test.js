// Commands of programs on another machine: what needs the person's word, and what they are told.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { Policy } = await import('../../src/policy/policy.js');
const { ConsentNeeded } = await import('../../src/lib/consent.js');
const { assertTold, hidesPage } = await import('../../src/policy/far_commands.js');

const [SHOP, BANK] = ['https://shop.example', 'https://bank.example'];
let policy;
let document;

const word = (site, allowed = true) => ({ kind: 'use', site, allowed });
const command = (type, params = {}, over = {}) => ({ type, params, tab_id: 7, far: true, tabs: [7], ...over });
const check = (asked, url = `${SHOP}/cart`, so = {}, page = {}) => policy.check(asked, async () => ({ url, ...page }), { documentNow: async () => document, ...so });
const code = (wanted, ran = false) => (error) => error.code === wanted && error.more.mayHaveRun === ran;
const asks = (site, over = {}) => (error) => {
  assert.ok(error instanceof ConsentNeeded, String(error));
  assert.deepEqual(error.need, { kind: 'use', site, ...over });
  return true;
};
const onPage = { document: 'd1' };

beforeEach(() => {
  mock.method(console, 'debug', () => {});
  installChrome();
  policy = new Policy();
  policy.handleRules({ type: 'site_rules', allow: [], deny: [] });
  document = 'd1';
});

test('every site asks before it is opened, read or acted on, where no rule is about it', async () => {
  for (const type of ['snapshot', 'get_text', 'screenshot', 'page_info', 'refresh', 'click', 'execute_js', 'wait_for', 'cookies', 'record']) {
    assert.equal(policy.isOpenFor(command(type), { url: `${SHOP}/` }), false);
    await assert.rejects(check(command(type)), asks(SHOP, onPage), type);
    await check(command(type, {}, { consents: [word(SHOP)] }));
  }
  for (const type of ['navigate', 'tab_open']) await assert.rejects(check(command(type, { url: `${BANK}/a` })), asks(BANK), type);
  // The page that is left is neither read nor acted on.
  await check(command('navigate', { url: `${BANK}/a` }, { consents: [word(BANK)] }));
  for (const type of ['tab_list', 'tab_close', 'tab_activate', 'back', 'forward']) await check(command(type));
});

test('what a program of this machine does asks nobody, while one of another machine does it', async () => {
  const end = policy.far.begin(command('snapshot', {}, { tab_id: 8 }));
  const local = { type: 'click', params: {}, tab_id: 7 };
  assert.equal(policy.isOpenFor(local, { url: `${SHOP}/` }), true);
  await check(local);
  await check({ ...local, type: 'navigate', params: { url: `${BANK}/` } });
  policy.far.assert(7, `${BANK}/`);
  assert.equal(policy.blocksPage('about:blank', null), false, 'an empty page of which no opener is known');
  assert.equal(policy.allowsEverySite, false);
  end();
  assert.equal(policy.allowsEverySite, true);
});

test('a no holds, a word is for its site and its kind, and one for once for the page that was there', async () => {
  await assert.rejects(check(command('get_text', {}, { consents: [word(SHOP, false)] })), code('denied_by_user'));
  for (const consents of [[word(BANK)], [word(`${SHOP}:8443`)], [word('http://shop.example')], [{ kind: 'act', site: SHOP, allowed: true }]]) {
    await assert.rejects(check(command('get_text', {}, { consents })), asks(SHOP, onPage));
  }
  const once = command('get_text', {}, { allowed: [{ kind: 'use', site: SHOP, document: 'd1' }] });
  await check(once);
  document = 'd2';
  await assert.rejects(check(once), code('consent_stale'));
});

test('an agent is told no site for which it has no word', async () => {
  const denied = await check(command('get_text', {}, { consents: [word(BANK, false)] }), `${BANK}/`).catch((error) => error);
  const landed = (() => { try { assertTold(command('click'), `${BANK}/`, { ran: true }); } catch (error) { return error; } return null; })();
  document = 'd2';
  const stale = await check(command('get_text', {}, { allowed: [{ kind: 'use', site: BANK, document: 'd1' }] }), `${BANK}/`).catch((error) => error);
  assert.deepEqual([denied.code, landed?.code, stale.code], ['denied_by_user', 'consent_needed', 'consent_stale']);
  for (const { message, more } of [denied, landed, stale]) assert.ok(!`${message} ${more.hint ?? ''}`.includes('bank'), message);
});

test('an empty page is of the site that has opened it, and one of nobody is open', async () => {
  await check(command('get_text'), 'about:blank', {}, { owner: 'null' });
  await assert.rejects(check(command('get_text'), 'about:blank', {}, { owner: BANK }), asks(BANK, onPage));
  assert.throws(() => assertTold(command('get_text'), null), code('consent_needed'));
  await assert.rejects(check(command('get_text'), 'data:text/html,x'), asks('data:', onPage));
});

test('a batch asks about the pages of all its steps before the first', async () => {
  const batch = (steps, ...sites) => command('batch', { steps }, { consents: sites.map((site) => word(site)) });
  const open = { action: 'navigate', url: `${BANK}/` };
  await assert.rejects(check(batch([{ action: 'get_text' }])), asks(SHOP, onPage));
  await assert.rejects(check(batch([{ action: 'get_text' }, open], SHOP)), asks(BANK));
  await check(batch([open, { action: 'get_text' }], BANK));
  const step = command('get_text');
  await assert.rejects(check(step, `${BANK}/`, { isStep: true }), asks(BANK, onPage));
});

test('local files are closed, whichever folders are open', async () => {
  const file = 'file:///home/ann/site/a.html';
  policy.files.handleRules({ type: 'local_files', enabled: true, folders: ['/home/ann/site'] });
  policy.files.send = (text) => {
    const { check: asked, urls } = JSON.parse(text);
    queueMicrotask(() => policy.files.handleVerdict({ type: 'file_verdict', check: asked, admitted: urls.map(() => true) }));
    return true;
  };
  await check({ ...command('get_text'), far: undefined }, file);
  const words = { consents: [word('file:'), word('file://')] };
  for (const [type, params] of [['get_text', {}], ['navigate', { url: file }], ['tab_open', { url: `view-source:${file}` }]]) {
    await assert.rejects(check(command(type, params, words), type === 'get_text' ? file : `${SHOP}/`), code('blocked_by_policy'), type);
  }
  assert.equal(hidesPage(command('get_text', {}, words), file), true);
  assert.throws(() => assertTold(command('get_text', {}, words), file, { ran: true }), code('blocked_by_policy', true));
});

test('while a command runs its tabs are looked at for each page that they show, and others are not', () => {
  const running = command('click', {}, { consents: [word(SHOP)] });
  const end = policy.far.begin(running);
  policy.far.addTab(running, 9);
  policy.far.assert(7, `${SHOP}/`);
  policy.far.assert(8, `${BANK}/`);
  for (const tabId of [7, 9]) {
    assert.throws(() => policy.far.assert(tabId, `${BANK}/`, { ran: true }), code('consent_needed', true));
    assert.equal(policy.far.hides(tabId, `${BANK}/frame`), true);
  }
  assert.throws(() => policy.assertAct(running, `${BANK}/`, { ran: true }), code('consent_needed', true));
  policy.assertAct(running, `${SHOP}/`);
  end();
  policy.far.assert(7, `${BANK}/`);
});

test('a rule of the person that forbids holds over each word', async () => {
  policy.handleRules({ type: 'site_rules', allow: [], deny: ['shop.example'], read: ['bank.example'] });
  const words = { consents: [word(SHOP), word(BANK)] };
  await assert.rejects(check(command('get_text', {}, words)), code('blocked_by_policy'));
  await assert.rejects(check(command('click', {}, words), `${BANK}/`), code('blocked_by_policy'));
  await check(command('get_text', {}, words), `${BANK}/`);
});

test('a command that led to a site without a word is given again, and the person is asked about that site, too', async () => {
  const words = { consents: [word(SHOP)] };
  const led = command('click', { target: '#go' }, words);
  const end = policy.far.begin(led);
  const kept = policy.far.keepFrom(7, `${BANK}/in`);
  end();
  assert.equal(kept.code, 'consent_needed');
  assert.equal(kept.more.mayHaveRun, true);
  assert.doesNotMatch(JSON.stringify([kept.message, kept.more]), /bank/);
  await assert.rejects(check(command('click', { target: '#go' }, words)), asks(BANK));
  await check(command('click', { target: '#go' }, { consents: [word(SHOP), word(BANK)] }));
  await check(command('click', { target: '#go' }, { ...words, allowed: [{ kind: 'use', site: BANK }] }));
  // Another command, and the same in another tab, lead elsewhere.
  await check(command('click', { target: '#other' }, words));
  await check(command('click', { target: '#go' }, { ...words, tab_id: 8 }));
  await check({ ...led, far: undefined });
});

test('a page that was to be opened is asked about in whichever tab it is opened again', async () => {
  const words = { consents: [word(SHOP)] };
  const opened = command('tab_open', { url: `${SHOP}/to` }, { ...words, tab_id: undefined });
  const endOpened = policy.far.begin(opened);
  policy.far.addTab(opened, 9);
  assert.equal(policy.far.isIn(9), true);
  assert.match(policy.far.keepFrom(9, `${BANK}/in`).more.hint, /navigate with the same URL/);
  endOpened();
  await assert.rejects(check(command('navigate', { url: `${SHOP}/to`, focus: true }, words)), asks(BANK));
  await check(command('navigate', { url: `${SHOP}/from` }, words));
});

test('local files that something leads to are closed, and of many commands the last are remembered', async () => {
  const words = { consents: [word(SHOP)] };
  const lead = (at) => {
    const led = command('click', { target: `#n${at}` }, words);
    const end = policy.far.begin(led);
    policy.far.keepFrom(7, `${BANK}/${at}`);
    end();
    return led;
  };
  const end = policy.far.begin(command('click'));
  assert.equal(policy.far.keepFrom(7, 'file:///home/x').code, 'blocked_by_policy');
  end();
  const all = Array.from({ length: 101 }, (_, at) => lead(at));
  await check(all[0]);
  await assert.rejects(check(all[1]), asks(BANK));
  await assert.rejects(check(all[100]), asks(BANK));
});
