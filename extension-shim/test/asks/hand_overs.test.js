// Steps that a person does alone: what is closed to agents meanwhile, and what becomes of the tab.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { FakeStorage, installChrome, settled } from '../support/fakes.js';

installChrome();
const { HandOvers } = await import('../../src/asks/hand_overs.js');
const { handedHost, isSameSite } = await import('../../src/policy/handed_over.js');
const { Policy } = await import('../../src/policy/policy.js');

const ASK = { correlation_id: 'ask_1', kind: 'hand_over', question: 'Log in.', client: 'Bot', tab_id: 7 };
let open;
let policy;
let steps;
let shown;
let behind;

function worker() {
  policy = new Policy();
  policy.handleRules({ allow: [], deny: [] });
  steps = new HandOvers(policy, (id) => open.get(id), async (id) => { shown.push(id); }, { keepBehind: (...given) => behind.push(given) });
}

beforeEach(() => {
  shown = [];
  behind = [];
  open = new Map([[7, { id: 7, url: 'https://shop.example/login', windowId: 1, index: 0 }]]);
  chrome.storage.session = new FakeStorage();
  chrome.tabs.get = async (id) => open.get(id) ?? assert.fail(`no tab ${id}`);
  chrome.tabs.create = async (tab) => {
    const made = { ...tab, id: 20 };
    open.set(20, made);
    return made;
  };
  chrome.tabs.update = async (id, change) => Object.assign(open.get(id), change);
  chrome.tabs.remove = async (id) => { open.delete(id); };
  worker();
});

const refused = (url) => assert.throws(() => policy.assertUrl(url), { code: 'handed_over' });

test('from the request to the answer the site is closed, and the tab of the step for as long as it lives', async () => {
  steps.follow([ASK]);
  refused('https://www.shop.example/cart');
  policy.assertUrl('https://other.example/');
  assert.equal(policy.isOpenFor({ type: 'click', params: {} }, undefined), false);
  assert.equal(steps.answered('ask_1', { kind: 'done' }), false, 'nothing was begun');
  await steps.begin('ask_1');
  assert.deepEqual([open.get(20).url, open.get(20).openerTabId], ['https://shop.example/login', undefined]);
  assert.ok(policy.handed.hasTab(20));
  assert.equal(steps.answered('ask_1', { kind: 'done' }), true);
  assert.ok(open.has(20), 'the daemon may not take the answer');
  steps.follow([]);
  await settled();
  assert.ok(!open.has(20));
  policy.assertUrl('https://shop.example/');
});

test('where the person goes is closed too, and tabs that the page opens', async () => {
  steps.follow([ASK]);
  await steps.begin('ask_1');
  steps.handleAddress(20, 'https://accounts.example/sign-in');
  refused('https://accounts.example/');
  steps.handleCreated({ id: 21, openerTabId: 20, pendingUrl: 'https://bank.test/' });
  steps.handleOpened(20, 21);
  steps.handleCreated({ id: 23, openerTabId: 20, pendingUrl: 'chrome://newtab/' });
  assert.ok(!policy.handed.hasTab(23), 'a new tab of the person');
  steps.handleAddress(21, 'https://bank.test/');
  refused('https://bank.test/');
  assert.ok(policy.handed.hasTab(21));
  steps.handleOpened(7, 22);
  steps.handleAddress(7, 'https://elsewhere.test/');
  policy.assertUrl('https://elsewhere.test/');
  assert.ok(!policy.handed.hasTab(22));
});

test('a step that ends without the person leaves them their tab, closed to agents', async () => {
  for (const leave of ['another tab', 'close']) {
    steps.follow([ASK]);
    await steps.begin('ask_1');
    // The agent cancels its request while the person types.
    steps.follow([]);
    await settled();
    assert.ok(open.has(20) && policy.handed.hasTab(20));
    refused('https://shop.example/');
    assert.throws(() => policy.handed.assertFrontIsFree(), { code: 'handed_over' });
    steps.handleActivated();
    await settled();
    refused('https://shop.example/');
    if (leave === 'close') {
      open.delete(20);
      steps.handleRemoved(20);
    } else {
      open.get(20).active = false;
      steps.handleActivated();
    }
    await settled();
    policy.assertUrl('https://shop.example/');
    policy.handed.assertFrontIsFree();
    assert.equal(policy.handed.hasTab(20), leave !== 'close');
  }
});

test('a daemon that asks later than it should finds the step as it was', async () => {
  steps.follow([ASK]);
  await steps.begin('ask_1');
  steps.follow([]);
  await settled();
  steps.follow([ASK]);
  open.get(20).active = false;
  steps.handleActivated();
  await settled();
  refused('https://shop.example/');
  assert.deepEqual(steps.describe('ask_1'), { hand_over: { site: 'shop.example', is_begun: true } });
  // Also while the browser is still asked whether the person has left its tab.
  const { get } = chrome.tabs;
  let answer;
  chrome.tabs.get = () => new Promise((done) => { answer = () => done(open.get(20)); });
  steps.follow([]);
  steps.follow([ASK]);
  answer();
  await settled();
  chrome.tabs.get = get;
  refused('https://shop.example/');
});

test('the next worker knows what is closed; a tab that was closed meanwhile can be opened again', async () => {
  steps.follow([ASK]);
  await steps.begin('ask_1');
  await settled();
  worker();
  await steps.restore();
  refused('https://shop.example/');
  assert.ok(policy.handed.hasTab(20));
  steps.handleRemoved(20);
  assert.deepEqual(steps.describe('ask_1'), { hand_over: { site: 'shop.example', is_begun: false } });
  open.delete(20);
  worker();
  await steps.restore();
  await steps.begin('ask_1');
  assert.ok(open.has(20));
});

test('the address is that of the request, and only that of a web page', async () => {
  steps.follow([ASK]);
  open.get(7).url = 'https://phish.example/';
  await steps.begin('ask_1');
  assert.equal(open.get(20).url, 'https://shop.example/login');
  for (const url of ['about:blank', 'blob:https://shop.example/1', 'data:text/html,x', 'file:///etc/passwd']) {
    open.get(7).url = url;
    steps.follow([{ ...ASK, correlation_id: url }]);
    await assert.rejects(steps.begin(url), /no page of the web/, url);
  }
});

test('pages of one site may reach each other, also those that another page shows or holds', () => {
  assert.equal(handedHost('blob:https://a.example/1'), 'a.example');
  assert.equal(handedHost('view-source:https://a.example./'), 'a.example');
  assert.equal(handedHost('about:blank'), '');
  assert.ok(isSameSite('login.a.example', 'www.a.example') && isSameSite('a.example', 'x.y.a.example'));
  assert.ok(!isSameSite('a.example', 'b.example') && !isSameSite('127.0.0.1', '127.0.0.2') && !isSameSite('localhost', 'other'));
});

test('the tab of a step is closed before the browser has answered for it', async () => {
  steps.follow([ASK]);
  const create = chrome.tabs.create;
  let wasClosed;
  chrome.tabs.create = async (tab) => {
    steps.handleCreated({ id: 19, pendingUrl: 'https://other.example/' });
    steps.handleCreated({ id: 20, url: 'about:blank' });
    wasClosed = policy.handed.hasTab(20) && !policy.handed.hasTab(19);
    return create(tab);
  };
  await steps.begin('ask_1');
  assert.ok(wasClosed);
  steps.handleCreated({ id: 21, url: 'about:blank' });
  assert.ok(!policy.handed.hasTab(21), 'a tab that is no step\'s');
});

test('while the person does a step no tab of an agent comes to the front, or stays there', async () => {
  const front = () => policy.handed.assertFrontIsFree();
  chrome.tabs.query = async () => [...open.values()];
  steps.follow([ASK]);
  front();
  await steps.begin('ask_1');
  assert.throws(front, { code: 'handed_over' });
  const [step, agent] = [open.get(20), open.get(7)];
  Object.assign(step, { lastAccessed: 5, active: false });
  Object.assign(agent, { lastAccessed: 4, active: false });
  open.set(30, { id: 30, windowId: 1, active: true, lastAccessed: 6 });
  steps.handleCreated({ id: 30, openerTabId: 20, pendingUrl: 'https://other.test/' });
  assert.ok(policy.handed.hasTab(30), 'it may be the step\'s');
  steps.handleOpened(7, 30);
  assert.ok(!policy.handed.hasTab(30));
  await settled();
  assert.equal(step.active, true);
  Object.assign(agent, { lastAccessed: 6 });
  step.active = false;
  steps.handleOpened(7, 30);
  await settled();
  assert.equal(step.active, false, 'the person had gone elsewhere');
  open.set(31, { id: 31, windowId: 2, active: true });
  steps.handleOpened(7, 31);
  await settled();
  assert.deepEqual(behind, [[2, { home: 1, isSeen: false }]]);
  steps.follow([]);
  await settled();
  front();
});
