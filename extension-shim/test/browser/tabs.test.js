// Opening, closing and showing tabs, and what is checked of parameters.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { actions } = await import('../../src/actions/index.js');
const { checkedFlag, checkedInteger, checkedUrl } = await import('../../src/commands/params.js');
const { elementRefs, navigations, policy, tabs } = await import('../../src/browser/state.js');

policy.handleRules({ type: 'site_rules', allow: [], deny: [] });

/** What happened, in its order: calls to the browser, and what the daemon was told. */
let done;
let open;

beforeEach(async () => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  installChrome();
  done = [];
  open = new Map([[7, { id: 7, windowId: 1, url: 'http://a/', title: 'A', active: true, status: 'complete' }]]);
  Object.assign(chrome.tabs, {
    query: async () => [...open.values()],
    create: async ({ url, active }) => {
      done.push(active ? 'create in front' : 'create');
      open.set(9, { id: 9, windowId: 2, url, title: '', active });
      return open.get(9);
    },
    update: async (id, { url, active }) => {
      done.push(url ? `load ${url}` : 'activate');
      Object.assign(open.get(id), url && { url }, active && { active });
      return open.get(id);
    },
    remove: async (id) => {
      if (!open.delete(id)) throw new Error(`No tab with id: ${id}.`);
      done.push('remove');
    },
  });
  chrome.windows.update = async (id) => { done.push(`window ${id}`); };
  tabs.onChange = () => {};
  await tabs.tellNow();
  tabs.onChange = (list) => done.push(`told ${list.map(({ tab_id }) => tab_id)}`);
});

// A timer that is cleared after a reset upsets those that follow.
afterEach(() => mock.timers.tick(50));

const context = (over) => ({ tab_id: undefined, timeout_ms: 1000, seesAll: true, sees: () => true, hides: () => false, noteOpened: () => {}, signal: new AbortController().signal, begin: () => {}, admitAct: () => {}, onStop: () => {}, ...over });
const run = (name, params = {}, over = {}) => actions[name](params, context(over)).then((outcome) => {
  done.push('done');
  return outcome.value;
});

test('a tab is opened behind the person\'s back, and told before it is done', async () => {
  assert.deepEqual(await run('tab_open'), { tab_id: 9, url: 'about:blank', title: '' });
  assert.deepEqual(done, ['create', 'told 7,9', 'done']);
});

test('a tab that the person has just opened is told before a list names it', async () => {
  open.set(8, { id: 8, windowId: 1, url: 'http://b/', title: 'B', active: false });
  assert.deepEqual((await run('tab_list')).map(({ tab_id }) => tab_id), [7, 8]);
  assert.deepEqual(done, ['told 7,8', 'done']);
});

test('a tab that is opened with a URL is done when that has loaded', async () => {
  const opened = run('tab_open', { url: 'http://b/' });
  await settled();
  assert.deepEqual(done, ['create', 'load http://b/']);
  const [blank, wanted] = ['about:blank', 'http://b/'];
  const events = [['BeforeNavigate', blank], ['BeforeNavigate', wanted], ['Committed', blank], ['Completed', blank],
    ['Committed', wanted], ['Completed', wanted]];
  for (const [event, url] of events) {
    assert.ok(!done.includes('done'), 'the blank page is not it');
    navigations[`handle${event}`]({ tabId: 9, frameId: 0, url });
    await settled();
  }
  assert.deepEqual(await opened, { tab_id: 9, url: 'http://b/', title: '' });
  assert.deepEqual(done.slice(-2), ['told 7,9', 'done']);
});

test('a tab that the browser closes since only a download came is told as closed, whichever is heard first', async () => {
  const [url, filename] = ['http://b/a.csv', '/home/ann/a.csv'];
  for (const closesFirst of [true, false]) {
    const opened = run('tab_open', { url });
    await settled();
    for (const event of ['BeforeNavigate', 'ErrorOccurred']) {
      navigations[`handle${event}`]({ tabId: 9, frameId: 0, url, error: 'net::ERR_ABORTED' });
    }
    const item = { id: 1, url, finalUrl: url, filename: '', mime: 'text/csv', totalBytes: 3 };
    navigations.handleDownload(item);
    open.delete(9);
    const events = [() => navigations.handleRemoved(9), () => navigations.handleDownloadChanged({ id: 1, filename: { current: filename } })];
    for (const event of closesFirst ? events : events.toReversed()) event();
    const download = { file_name: 'a.csv', url, mime_type: 'text/csv', bytes: 3 };
    assert.deepEqual(await opened, { url, title: '', tab_closed: true, download });
  }
});

test('a browser without a window opens one for the tab, in front only when asked', async () => {
  open.clear();
  chrome.tabs.create = async () => assert.fail('there is no window for it');
  chrome.windows.getAll = async () => [];
  chrome.windows.create = async ({ url, focused }) => {
    done.push(focused ? 'window in front' : 'window');
    open.set(9, { id: 9, windowId: 2, url, title: '', active: true });
    return { id: 2, tabs: [open.get(9)] };
  };
  assert.deepEqual(await run('tab_open'), { tab_id: 9, url: 'about:blank', title: '' });
  assert.deepEqual(done, ['window', 'told 9', 'done']);
  await run('tab_open', { focus: true });
  assert.ok(done.includes('window in front'));
});

test('the letters of a tab are told before the answer that has them in a ref', async () => {
  await elementRefs.restore();
  const ref = elementRefs.names(7, 'document', 3)(2);
  assert.deepEqual(done, ['told 7']);
  assert.deepEqual(tabs.list().map(({ ref_prefix }) => `${ref_prefix}2`), [ref]);
  elementRefs.names(7, 'document', 5);
  assert.deepEqual(done, ['told 7'], 'once');
});

test('with focus the tab and its window come to the front', async () => {
  await run('tab_open', { focus: true });
  assert.deepEqual(done.slice(0, 3), ['create in front', 'activate', 'window 2']);
});

test('a page that does not load leaves the tab open, and the message names it', async () => {
  const opened = run('tab_open', { url: 'http://b/' });
  await settled();
  navigations.handleBeforeNavigate({ tabId: 9, frameId: 0, url: 'http://b/' });
  navigations.handleErrorOccurred({ tabId: 9, frameId: 0, url: 'http://b/', error: 'net::ERR_NAME_NOT_RESOLVED' });
  await assert.rejects(opened, { code: 'navigation_failed', message: /tab 9 was opened and stays open, but .*ERR_NAME_NOT_RESOLVED/ });
  assert.deepEqual(done.at(-1), 'told 7,9');
});

test('no tab is opened for a URL that is none, or a script', async () => {
  for (const url of ['example.com', 'javascript:alert(1)', 'chrome://settings', 7]) {
    await assert.rejects(run('tab_open', { url }), { code: 'invalid_params' });
  }
  assert.deepEqual(done, []);
});

test('a closed tab is told before it is done', async () => {
  assert.deepEqual(await run('tab_close', {}, { tab_id: 7 }), { tab_id: 7, url: 'http://a/', title: 'A' });
  assert.deepEqual(done, ['remove', 'told ', 'done']);
});

test('a tab whose browser ends with it was closed', async () => {
  const { remove } = chrome.tabs;
  chrome.tabs.remove = async (id) => {
    await remove(id);
    chrome.tabs.query = async () => { throw new Error('The browser is shutting down.'); };
  };
  mock.method(console, 'debug', () => {});
  assert.equal((await run('tab_close', {}, { tab_id: 7 })).tab_id, 7);
});

test('a tab that is not there cannot be closed or shown', async () => {
  for (const name of ['tab_close', 'tab_activate']) {
    await assert.rejects(run(name, {}, { tab_id: 99 }), { code: 'no_such_tab' });
  }
});

test('a tab is shown in its window; its window comes to the front only when asked', async () => {
  await run('tab_activate', {}, { tab_id: 7 });
  assert.deepEqual(done, ['activate', 'done']);
  done = [];
  await run('tab_activate', { focus: true }, { tab_id: 7 });
  assert.deepEqual(done, ['activate', 'window 1', 'done']);
});

test('a page that is out of reach says so to every page action', async () => {
  open.get(7).url = 'chrome://settings/';
  await tabs.load();
  for (const [name, params] of [['execute_js', { script: '1' }], ['screenshot', {}], ['page_info', {}], ['refresh', {}]]) {
    await assert.rejects(run(name, params, { tab_id: 7 }), { code: 'restricted_page' }, name);
  }
});

test('steps in the history say when it ends, on pages within reach and out of it', async () => {
  const ends = { code: 'navigation_failed', message: /history of this tab ends here/ };
  const history = { currentIndex: 0, entries: [{ id: 1 }] };
  chrome.debugger = { attach: async () => {}, sendCommand: async (_, method) => (method === 'Page.getNavigationHistory' ? history : {}) };
  for (const name of ['back', 'forward']) await assert.rejects(run(name, {}, { tab_id: 7 }), ends);
  open.get(7).url = 'chrome://settings/';
  chrome.tabs.goBack = async () => { throw new Error('Cannot find a next page in history.'); };
  await assert.rejects(run('back', {}, { tab_id: 7 }), ends);
});

test('back goes one page back, not to the last one that somebody has clicked in', async () => {
  const history = { currentIndex: 2, entries: [1, 2, 3].map((id) => ({ id, url: 'http://old/' })) };
  chrome.debugger = {
    attach: async () => {},
    sendCommand: async (_, method, params) => {
      if (method === 'Page.navigateToHistoryEntry') done.push(params);
      return history;
    },
  };
  const back = run('back', {}, { tab_id: 7 });
  for (let i = 0; i < 5; i += 1) await settled();
  for (const event of ['BeforeNavigate', 'Committed', 'Completed']) {
    navigations[`handle${event}`]({ tabId: 7, frameId: 0, url: 'http://old/', transitionQualifiers: ['forward_back'] });
  }
  await back;
  assert.deepEqual(done[0], { entryId: 2 });
});

test('parameters of the wrong kind are named', async () => {
  assert.throws(() => checkedFlag('focus', 1), { code: 'invalid_params', message: /focus must be true or false/ });
  assert.equal(checkedFlag('focus', undefined), false);
  const range = { least: 64, most: 8192 };
  for (const value of [63, 8193, 64.5, '64', null]) assert.throws(() => checkedInteger('max_side', value, range), /64 to 8192/);
  assert.equal(checkedInteger('max_side', 64, range), 64);
  assert.equal(await checkedUrl('http://a'), 'http://a/');
});

test('a tab that a person draws in is the page to agents: listed as in front, named by none, and no tab of its own', async () => {
  const page = open.get(7);
  const drawing = { id: 8, windowId: 1, url: 'chrome-extension://ours/src/draw/page/draw.html?tab=7', title: 'Draw', active: true };
  Object.assign(page, { active: false });
  for (const shown of [drawing, { ...drawing, url: '', pendingUrl: drawing.url }]) {
    open.set(8, shown);
    await tabs.load();
    assert.deepEqual(tabs.list().map(({ tab_id, active }) => [tab_id, active]), [[7, true]]);
    assert.equal((await tabs.target(undefined)).id, 7);
    await assert.rejects(tabs.target(8), { code: 'no_such_tab' });
    for (const action of ['tab_close', 'tab_activate', 'navigate', 'screenshot', 'execute_js']) {
      const context = { tab_id: 8, timeout_ms: 1_000, seesAll: true, sees: () => true, hides: () => false, noteOpened() {}, begin() {}, admitAct() {}, onStop() {}, signal: new AbortController().signal };
      await assert.rejects(actions[action]({ url: 'http://a/', script: '1' }, context), { code: 'no_such_tab' }, action);
    }
  }
  open.delete(7);
  await assert.rejects(tabs.fresh(undefined), { code: 'no_such_tab' }, 'its page is closed');
});

test("a tab with a page of Tabwire's own is in no list, and each command for it is told why", async () => {
  policy.own.setPort(7890);
  const page = open.get(7);
  const dashboard = 'http://localhost:7890/dashboard';
  for (const shown of [{ url: dashboard }, { url: 'http://b/', pendingUrl: dashboard }, { url: 'chrome-extension://ours/popup/popup.html' }]) {
    Object.assign(page, { active: false });
    open.set(8, { id: 8, windowId: 1, title: 'Tabwire', active: true, ...shown });
    await tabs.load();
    assert.deepEqual(tabs.list().map(({ tab_id }) => tab_id), [7]);
    assert.equal(tabs.known(8), undefined);
    for (const tabId of [8, undefined]) await assert.rejects(tabs.fresh(tabId), { code: 'tabwire_page' });
    for (const action of ['tab_close', 'tab_activate', 'navigate', 'screenshot', 'execute_js']) {
      const context = { tab_id: 8, timeout_ms: 1_000, seesAll: true, sees: () => true, hides: () => false, noteOpened() {}, begin() {}, admitAct() {}, onStop() {}, signal: new AbortController().signal };
      await assert.rejects(actions[action]({ url: 'http://a/', script: '1' }, context), { code: 'tabwire_page' }, action);
    }
  }
  assert.deepEqual(done, []);
});

test('the tab that a window shows is known as soon as the browser tells it', async () => {
  open.set(8, { id: 8, windowId: 1, url: 'http://b/', title: 'B', active: false });
  open.set(9, { id: 9, windowId: 2, url: 'http://c/', title: 'C', active: true });
  await tabs.tellNow();
  assert.equal(tabs.activeBeside(8), 7);
  tabs.handleActivated({ tabId: 8, windowId: 1 });
  assert.deepEqual([tabs.activeBeside(7), tabs.activeBeside(9)], [8, 9]);
  tabs.handleRemoved(8);
  assert.equal(tabs.activeBeside(7), undefined, 'the browser has not told which one it shows now');
});

test('a page that loads is told from the events of its tab, and a tab that came or went has the browser asked', async () => {
  let queries = 0;
  const { query } = chrome.tabs;
  chrome.tabs.query = (about) => { queries += 1; return query(about); };
  tabs.onChange = (list) => done.push(list.map(({ tab_id, url, title }) => `${tab_id} ${url} ${title}`).join());
  const heard = async (change) => { change(); mock.timers.tick(50); await settled(); };
  const tab = { id: 7, windowId: 1, url: 'http://b/', title: 'B', active: true };
  open.set(7, tab);
  await heard(() => { tabs.handleUpdated({ ...tab, status: 'loading', title: '' }); tabs.handleUpdated(tab); });
  assert.deepEqual([done, queries], [['7 http://b/ B'], 0]);
  open.set(8, { id: 8, windowId: 1, url: 'http://c/', title: 'C', active: false });
  await heard(() => tabs.handleUpdated(open.get(8)));
  open.delete(8);
  await heard(() => tabs.handleRemoved(8));
  open.set(7, { ...tab, title: 'C' });
  await heard(() => tabs.handleChange());
  assert.deepEqual([done.length, queries], [4, 3]);
});

test('an answer of the browser that is older than an event before it does not count for long', async () => {
  const tab = { id: 7, windowId: 1, url: 'http://b/', title: 'B', active: true };
  let answer = () => {};
  const { query } = chrome.tabs;
  chrome.tabs.query = () => new Promise((resolve) => { answer = () => resolve([{ ...tab, title: '' }]); });
  const loaded = tabs.load();
  tabs.handleUpdated(tab);
  answer();
  await loaded;
  [chrome.tabs.query, open] = [query, new Map([[7, tab]])];
  mock.timers.tick(50);
  await settled();
  assert.equal(tabs.titleOf(7), 'B');
});

test('of a site without a word neither address nor title is told, and the new tab of such a site is named', async () => {
  const hides = (url) => url.startsWith('http://b');
  open.set(8, { id: 8, windowId: 1, url: 'http://b/', title: 'B', active: false });
  const list = await run('tab_list', {}, { hides });
  assert.deepEqual(list.map(({ tab_id, url, title }) => [tab_id, url, title]), [[7, 'http://a/', 'A'], [8, '', '']]);
  assert.deepEqual(await run('tab_activate', {}, { tab_id: 8, hides }), { tab_id: 8, url: '', title: '' });
  assert.deepEqual(await run('tab_close', {}, { tab_id: 8, hides }), { tab_id: 8, url: '', title: '' });
  const opened = run('tab_open', { url: 'http://c/' }, { hides }).catch((error) => error);
  await settled();
  for (const [event, url] of [['BeforeNavigate', 'http://c/'], ['Committed', 'http://b/'], ['Completed', 'http://b/']]) navigations[`handle${event}`]({ tabId: 9, frameId: 0, url });
  open.get(9).url = 'http://b/';
  const { code, message, more } = await opened;
  assert.deepEqual([code, more.mayHaveRun], ['consent_needed', true]);
  assert.match(message, /tab 9 was opened and stays open/);
  assert.doesNotMatch(message, /http/);
});

test('of a tab that is not there, or of no number at all, the browser is asked for all tabs', async () => {
  // As the browser checks the number: at once, not by its promise.
  chrome.tabs.get = (id) => {
    if (id < 0) throw new TypeError('Value must be at least 0.');
    return open.has(id) ? Promise.resolve(open.get(id)) : Promise.reject(new Error(`No tab with id: ${id}.`));
  };
  assert.equal((await tabs.fresh(7)).url, 'http://a/');
  for (const id of [8, chrome.tabs.TAB_ID_NONE]) await assert.rejects(tabs.fresh(id), { code: 'no_such_tab' });
});
