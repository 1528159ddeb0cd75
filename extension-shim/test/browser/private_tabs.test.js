// Private tabs: those that agents opened are of one owner, and all others are nobody's but the person's.

import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { PRIVATE_LOOK_MS } from '../../src/browser/limits.js';
import { PrivateTabs } from '../../src/browser/private_tabs.js';
import { installChrome, settled } from '../support/fakes.js';

let open;
let privateTabs;
let isAllowed;
let kept;

beforeEach(() => {
  installChrome();
  kept = {};
  isAllowed = true;
  open = [{ id: 1, windowId: 1, incognito: false }];
  chrome.extension.isAllowedIncognitoAccess = async () => isAllowed;
  chrome.storage.session.get = async (key) => structuredClone({ [key]: kept[key] });
  chrome.storage.session.set = async (more) => { Object.assign(kept, structuredClone(more)); };
  chrome.tabs.query = async () => open.filter(({ incognito }) => !incognito || isAllowed);
  chrome.tabs.get = async (id) => {
    const tab = open.find((one) => one.id === id);
    if (!tab) throw new Error('No tab');
    return tab;
  };
  const add = (tab) => {
    open.push(tab);
    return tab;
  };
  chrome.windows.create = mock.fn(async () => ({ tabs: [add({ id: 100 + open.length, windowId: 9, incognito: true })] }));
  chrome.tabs.create = mock.fn(async ({ windowId }) => add({ id: 100 + open.length, windowId, incognito: true }));
  privateTabs = new PrivateTabs();
});

const ofPerson = { id: 55, windowId: 5, incognito: true };
const command = (more) => ({ type: 'page_info', tab_id: more.tab_id, ...more });
const code = (expected) => (/** @type {any} */ error) => {
  assert.equal(error.code, expected);
  return true;
};

test('one owner opens all of its private tabs in one window, another owner none', async () => {
  const first = await privateTabs.open('ann', false);
  const second = await privateTabs.open('ann', false);
  assert.equal(chrome.windows.create.mock.callCount(), 1);
  assert.deepEqual(chrome.tabs.create.mock.calls[0].arguments[0].windowId, 9);
  await assert.rejects(privateTabs.open('bob', false), code('private_in_use'));
  for (const id of [first, second]) privateTabs.handleRemoved(id);
  open = open.filter(({ incognito }) => !incognito);
  assert.equal(typeof await privateTabs.open('bob', false), 'number');
});

test('two owners at once do not both get the private session', async () => {
  const both = await Promise.allSettled([privateTabs.open('ann', false), privateTabs.open('bob', false)]);
  assert.deepEqual(both.map(({ status }) => status), ['fulfilled', 'rejected']);
});

test('where the person has not let the extension in, nothing is opened', async () => {
  isAllowed = false;
  await assert.rejects(privateTabs.open('ann', false), code('private_not_allowed'));
  assert.equal(chrome.windows.create.mock.callCount(), 0);
  assert.equal(privateTabs.isClosed, true);
});

test('a daemon that names no owner opens none', async () => {
  await assert.rejects(privateTabs.open(undefined, false), code('not_in_private'));
});

test('a private tab of the person is not there for any command', async () => {
  open.push(ofPerson);
  await privateTabs.restore();
  assert.equal(privateTabs.isPersons(ofPerson), true);
  await assert.rejects(privateTabs.assertMayUse(command({ tab_id: 55, private_owner: 'ann' }), 55), code('no_such_tab'));
  await privateTabs.assertMayUse(command({ tab_id: 1 }), 1);
  await privateTabs.assertMayUse(command({ tab_id: 77 }), 77);
});

test('a private tab of an agent is there for its owner alone', async () => {
  const tab_id = await privateTabs.open('ann', false);
  await privateTabs.assertMayUse(command({ tab_id, private_owner: 'ann' }), tab_id);
  for (const private_owner of ['bob', undefined]) {
    await assert.rejects(privateTabs.assertMayUse(command({ tab_id, private_owner }), tab_id), code('no_such_tab'));
    assert.equal(privateTabs.isFor({ private_owner }, tab_id), false);
  }
});

test('while the person has a private tab, agents may close theirs and do nothing else there', async () => {
  const tab_id = await privateTabs.open('ann', false);
  open.push(ofPerson);
  const mine = { tab_id, private_owner: 'ann' };
  await assert.rejects(privateTabs.assertMayUse(command(mine), tab_id), code('private_in_use'));
  await assert.rejects(privateTabs.open('ann', false), code('private_in_use'));
  await privateTabs.assertMayUse(command({ ...mine, type: 'tab_close' }), tab_id);
});

test('the person who comes is told of once the browser can say who opened the tab', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const came = [];
  privateTabs.onPersonCame = ({ code: why }) => came.push(why);
  const own = await privateTabs.open('ann', false);
  const beside = { id: 60, windowId: 9, incognito: true };
  open.push(beside);
  privateTabs.handleCreated(beside);
  assert.equal(await privateTabs.admitCreated(own, 60), true);
  mock.timers.tick(PRIVATE_LOOK_MS);
  await settled();
  assert.deepEqual(came, [], 'its own page has opened it');
  open.push(ofPerson);
  privateTabs.handleCreated(ofPerson);
  mock.timers.tick(PRIVATE_LOOK_MS);
  await settled();
  mock.timers.reset();
  assert.deepEqual(came, ['private_in_use']);
});

test('no tab that a page of the person opens is told, from or into a private window', async () => {
  open.push(ofPerson, { id: 56, windowId: 5, incognito: true }, { id: 2, windowId: 1, incognito: false });
  assert.equal(await privateTabs.admitCreated(55, 56), false);
  assert.equal(await privateTabs.admitCreated(1, 55), false);
  assert.equal(await privateTabs.admitCreated(55, 2), false);
  assert.equal(await privateTabs.admitCreated(1, 2), true);
});

test('no drawing is made in a private tab', async () => {
  const tab_id = await privateTabs.open('ann', false);
  await assert.rejects(privateTabs.assertMayUse(command({ type: 'draw_mode', tab_id, private_owner: 'ann' }), tab_id), code('not_in_private'));
});

test('a tab that the person keeps is theirs, and a later worker knows whose the others are', async () => {
  const tab_id = await privateTabs.open('ann', false);
  privateTabs = new PrivateTabs();
  await privateTabs.restore();
  assert.equal(privateTabs.isAgents(tab_id), true);
  await privateTabs.assertMayUse(command({ tab_id, private_owner: 'ann' }), tab_id);
  privateTabs.handleReplaced(200, tab_id);
  open.find(({ id }) => id === tab_id).id = 200;
  assert.equal(privateTabs.isAgents(200), true);
  privateTabs.handleKept(200);
  assert.equal(privateTabs.isPersons({ id: 200, incognito: true }), true);
});
