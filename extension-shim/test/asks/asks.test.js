// The questions of agents in the worker: their answers, their notifications, and where their pictures go.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { FakeStorage, goldenFrames, installChrome, settled } from '../support/fakes.js';

installChrome();
const { AskNotifications } = await import('../../src/asks/ask_notifications.js');
const { Asks } = await import('../../src/asks/asks.js');
const { dropOtherAskPictures, keepAskPicture, keptAskPicture } = await import('../../src/asks/kept_pictures.js');

const { asks: OPEN } = goldenFrames('to_extension').asks;
const [APPROVE, CHOOSE, ANSWER, HAND_OVER, CONSENT] = OPEN;
let made;
let clicked;

beforeEach(() => {
  made = {};
  clicked = {};
  chrome.runtime.getURL = (path) => `chrome-extension://us/${path}`;
  chrome.storage.session = new FakeStorage();
  chrome.notifications = {
    onButtonClicked: { addListener: (heard) => { clicked.button = heard; } },
    onClicked: { addListener: (heard) => { clicked.body = heard; } },
    getAll: async () => structuredClone(made),
    create: async (id, options) => { made[id] = options; },
    clear: async (id) => { delete made[id]; },
  };
});

test('an answer goes to the daemon as a frame, and not without one', () => {
  const asks = new Asks();
  const sent = [];
  assert.equal(asks.answer('ask_1', { kind: 'allow' }), false);
  asks.send = (text) => sent.push(JSON.parse(text)) > 0;
  const golden = goldenFrames('from_extension').ask_answer;
  assert.equal(asks.answer(golden.correlation_id, golden.answer), true);
  assert.deepEqual(sent, [golden]);
});

test('the list is the last one of the daemon, and goes with the connection', () => {
  const asks = new Asks();
  const counts = [];
  asks.onChange = (open) => counts.push(open.length);
  asks.forget();
  asks.handleFrame({ type: 'asks', asks: OPEN });
  asks.handleFrame({ type: 'asks', asks: [ANSWER] });
  assert.deepEqual(asks.open, [ANSWER]);
  asks.forget();
  assert.deepEqual([asks.open, counts], [[], [5, 1, 0]]);
});

test('a permission of the extension is denied by a notification, and given in the popup alone', async () => {
  const notifications = new AskNotifications();
  notifications.listen();
  notifications.follow([{ ...CONSENT, correlation_id: 'lacks', need: { kind: 'permission', site: 'contentSettings' } }]);
  await settled();
  assert.deepEqual(made['ask:lacks'].buttons, [{ title: 'Deny' }]);
  assert.equal(made['ask:lacks'].title, 'Agent “Claude Code” wants to use the browser\'s permission to change settings of sites');
});

test('files are allowed by a notification only where it shows their whole names', async () => {
  const notifications = new AskNotifications();
  notifications.listen();
  const file = { path: '/home/ann/cat.png', size: 3, mark: '1', may_open_folder: true };
  const asked = (question, id) => ({ ...CONSENT, correlation_id: id, question, need: { kind: 'file', site: 'https://shop.example', files: [file] } });
  notifications.follow([asked('upload_file: /home/ann/cat.png (3 bytes)', 'short'), asked(`upload_file: /${'a'.repeat(80)}/cat.png (3 bytes)`, 'long')]);
  await settled();
  assert.deepEqual(made['ask:short'].buttons, [{ title: 'Allow once' }, { title: 'Deny' }]);
  assert.equal(made['ask:short'].title, 'Agent “Claude Code” wants to give files to https://shop.example');
  assert.deepEqual(made['ask:long'].buttons, [{ title: 'Deny' }]);
});

test('a notification about a tab of another browser names that browser', async () => {
  const notifications = new AskNotifications();
  notifications.listen();
  notifications.follow([APPROVE, { ...CONSENT, tab_id: undefined, browser_label: 'work' }]);
  await settled();
  assert.equal(made[`ask:${APPROVE.correlation_id}`].contextMessage, 'Tabwire');
  assert.equal(made[`ask:${CONSENT.correlation_id}`].contextMessage, 'Tabwire, about the browser work');
});

test('a notification shows each question in its words, answers what has two buttons, and goes with its question', async () => {
  const notifications = new AskNotifications();
  const answers = [];
  notifications.onAnswer = (id, answer) => answers.push([id, answer]);
  notifications.listen();
  notifications.follow(OPEN);
  await settled();
  const id = (ask) => `ask:${ask.correlation_id}`;
  assert.deepEqual(made[id(APPROVE)].buttons, [{ title: 'Allow' }, { title: 'Deny' }]);
  assert.equal(made[id(APPROVE)].message, APPROVE.question);
  assert.deepEqual(made[id(CHOOSE)].buttons, [{ title: 'red' }, { title: 'blue' }]);
  assert.deepEqual(made[id(ANSWER)].buttons, []);
  clicked.button(id(APPROVE), 1);
  clicked.button(id(CHOOSE), 0);
  clicked.button(id(ANSWER), 0);
  clicked.button(id(APPROVE), 2);
  assert.deepEqual(made[id(HAND_OVER)].buttons, [], 'a step begins and ends in the popup');
  clicked.button('another', 0);
  assert.deepEqual(made[id(CONSENT)].buttons, [{ title: 'Allow once' }, { title: 'Deny' }]);
  assert.equal(made[id(CONSENT)].title, 'Agent “Claude Code” wants to act on https://shop.example');
  clicked.button(id(CONSENT), 0);
  assert.deepEqual(answers, [[APPROVE.correlation_id, { kind: 'deny' }], [CHOOSE.correlation_id, { kind: 'option', index: 0 }], [CONSENT.correlation_id, { kind: 'consent', consent: 'once' }]]);
  notifications.follow([ANSWER]);
  await settled();
  assert.deepEqual(Object.keys(made), [id(ANSWER)]);
  clicked.button(id(APPROVE), 0);
  assert.equal(answers.length, 3, 'a question that is over has no answer');
});

test('nothing is notified while the person has not allowed it, and all open questions are once they have', async () => {
  const { notifications: allowed } = chrome;
  delete chrome.notifications;
  const notifications = new AskNotifications();
  notifications.listen();
  notifications.follow([APPROVE]);
  await settled();
  assert.deepEqual(made, {});
  chrome.notifications = allowed;
  notifications.listen();
  notifications.listen();
  await settled();
  assert.equal(Object.keys(made).length, 1);
});

test('a picture is kept as long as its question is open, and nothing else is touched', async () => {
  await chrome.storage.session.set({ other: 1 });
  await keepAskPicture('ask_1', { picture: 'data:,1' });
  await keepAskPicture('ask_2', { trouble: 'none' });
  assert.deepEqual(await dropOtherAskPictures(['ask_2', 'ask_3']), ['ask_2']);
  assert.deepEqual([await keptAskPicture('ask_1'), await keptAskPicture('ask_2')], [undefined, { trouble: 'none' }]);
  assert.deepEqual(await chrome.storage.session.get('other'), { other: 1 });
});
