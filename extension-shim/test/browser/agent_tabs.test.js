// Tabs that agents opened: what makes one the person's, and what closes one.

import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { AgentGroups } from '../../src/browser/agent_groups.js';
import { AgentTabs } from '../../src/browser/agent_tabs.js';
import { installChrome, settled } from '../support/fakes.js';

const TAB = { tab_id: 7, client: 'Claude Code', client_id: 'c1' };
/** @type {any} */
let shown;
let said;
let isHeard;
let acting;
let downloading;
let policy;
let pageAsks;
let undone;
let agentTabs;

beforeEach(async () => {
  installChrome();
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  [shown, said, isHeard, acting, downloading, pageAsks, undone] = [{ id: 7, windowId: 1, active: false, pinned: false, groupId: -1 }, [], true, false, false, [false], []];
  policy = { isStopped: false };
  Object.assign(chrome.tabs, {
    get: async () => shown ?? assert.fail('closed'),
    remove: async (id) => { undone.push(`remove ${id}`); shown = null; },
    ungroup: async (id) => { undone.push(`ungroup ${id}`); },
  });
  chrome.windows.get = async () => ({ focused: true });
  chrome.windows.getAll = async () => [{ tabs: [{ id: 1 }, { id: 7 }] }];
  chrome.scripting = { executeScript: mock.fn(async () => pageAsks.map((result) => ({ result }))) };
  agentTabs = await worker();
});

async function worker() {
  const made = new AgentTabs(policy, { isActing: () => acting, isDownloading: async () => downloading }, new AgentGroups());
  made.send = (text) => isHeard && said.push(JSON.parse(text).tab_id) > 0;
  await made.restore();
  made.handleReady();
  made.handleList([TAB]);
  await settled();
  return made;
}

async function closes() {
  const done = agentTabs.handleClose([7]);
  for (let i = 0; i < 8; i += 1) {
    await settled();
    mock.timers.tick(500);
  }
  await done;
  return undone.includes('remove 7');
}

test('a tab that nobody has used is closed, out of its group first', async () => {
  shown.groupId = 4;
  assert.equal(await closes(), true);
  assert.deepEqual(undone, ['ungroup 7', 'remove 7']);
  assert.deepEqual(said, []);
});

test('a tab is the person\'s once they go to it, move it, pin it, group it, or type an address', async () => {
  const uses = [
    () => agentTabs.handleActivated({ tabId: 7, windowId: 1 }),
    () => agentTabs.handleMoved(7),
    () => agentTabs.handleUpdated(7, { pinned: true }),
    () => agentTabs.handleUpdated(7, { groupId: 3 }),
    () => agentTabs.handleCommitted({ tabId: 7, frameId: 0, transitionQualifiers: ['from_address_bar'] }),
    () => agentTabs.handleMessage({ agent_tab: 'input' }, { tab: { id: 7 } }),
    () => agentTabs.keep(7),
  ];
  for (const use of uses) {
    agentTabs = await worker();
    said = [];
    use();
    assert.deepEqual(said, [7], String(use));
    assert.deepEqual(agentTabs.list, []);
    assert.equal(await closes(), false);
  }
});

test('what an agent does with a tab, and what the browser does by itself, makes it nobody\'s', async () => {
  agentTabs.bring(7);
  agentTabs.handleActivated({ tabId: 7, windowId: 1 });
  acting = true;
  agentTabs.handleMessage({ agent_tab: 'input' }, { tab: { id: 7 } });
  agentTabs.handleCommitted({ tabId: 7, frameId: 0, transitionQualifiers: [] });
  agentTabs.handleUpdated(7, { pinned: false });
  mock.timers.tick(2_001);
  agentTabs.handleRemoved(6, 1);
  agentTabs.handleActivated({ tabId: 7, windowId: 1 });
  assert.deepEqual(said, []);
  assert.equal(await closes(), true);
});

test('a tab of the person is none of this', () => {
  agentTabs.handleActivated({ tabId: 8, windowId: 1 });
  agentTabs.handleMoved(8);
  assert.deepEqual(said, []);
});

test('a tab stays while it is looked at, is the last one, while a download of its agent runs, and while the person has stopped all', async () => {
  shown.active = true;
  assert.equal(await closes(), false);
  shown.active = false;
  downloading = true;
  assert.equal(await closes(), false);
  downloading = false;
  policy.isStopped = true;
  assert.equal(await closes(), false);
  policy.isStopped = false;
  chrome.windows.getAll = async () => [{ tabs: [{ id: 7 }] }];
  assert.equal(await closes(), false);
  assert.deepEqual(said, [], 'the daemon asks again');
});

test('a page that asks before it is closed stays, in any of its frames, and one that does not answer gets its turn again', async () => {
  chrome.scripting.executeScript = () => new Promise(() => {});
  assert.equal(await closes(), false);
  assert.deepEqual(said, []);
  pageAsks = [false, true];
  chrome.scripting.executeScript = async () => pageAsks.map((result) => ({ result }));
  assert.equal(await closes(), false);
  assert.deepEqual(said, [7]);
});

test('a sleeping tab is closed without being woken, and one that stays open after all is kept', async () => {
  shown.discarded = true;
  chrome.tabs.remove = async () => { undone.push('tried'); };
  assert.equal(await closes(), false);
  assert.equal(chrome.scripting.executeScript.mock.callCount(), 0);
  assert.deepEqual([undone, said], [['tried'], [7]]);
});

test('the switch keeps all of them, over the browser\'s end', async () => {
  await agentTabs.setKeepsAll(true);
  assert.equal(await closes(), false);
  agentTabs = await worker();
  assert.equal(agentTabs.keepsAll, true);
  assert.equal(await closes(), false);
  await agentTabs.setKeepsAll(false);
  assert.equal(await closes(), true);
});

test('what the person did while no daemon was there is told to the next one', async () => {
  isHeard = false;
  agentTabs.handleMoved(7);
  await settled();
  isHeard = true;
  assert.deepEqual(said, []);
  agentTabs = await worker();
  assert.deepEqual(said, [7]);
});

/** A browser with groups, which the person allows. */
function withGroups() {
  let next = 40;
  const grouped = [];
  const groups = new Map();
  chrome.permissions = { contains: async () => true };
  Object.assign(chrome.tabs, {
    get: async () => ({ ...shown }),
    group: async ({ groupId = next += 1 }) => {
      grouped.push(groupId);
      shown.groupId = groupId;
      agentTabs.handleMoved(7);
      agentTabs.handleUpdated(7, { groupId });
      return groupId;
    },
    ungroup: async () => {
      shown.groupId = -1;
      undone.push('ungroup 7');
      agentTabs.handleUpdated(7, { groupId: -1 });
    },
  });
  chrome.tabGroups = {
    update: async (id, face) => groups.set(id, { id, ...face }),
    query: async () => [...groups.values()],
  };
  return { grouped, groups };
}

test('tabs are grouped under their agent\'s name only if the person wants it, and leave the group when they are the person\'s', async () => {
  const { grouped, groups } = withGroups();
  const agents = new AgentGroups();
  agentTabs = new AgentTabs(policy, { isActing: () => false, isDownloading: async () => false }, agents);
  agentTabs.send = (text) => said.push(JSON.parse(text).tab_id) > 0;
  await agentTabs.restore();
  agentTabs.handleList([TAB]);
  await settled();
  assert.deepEqual(grouped, [], 'off by default');
  await agents.setOn(true);
  assert.deepEqual(grouped, [41]);
  assert.equal(groups.get(41).title, 'Claude Code');
  assert.deepEqual(said, [], 'our own move is none of the person');
  mock.timers.tick(2_001);
  agentTabs.keep(7);
  await settled();
  assert.deepEqual(undone, ['ungroup 7']);

  agentTabs.handleList([{ ...TAB }]);
  await settled();
  mock.timers.tick(2_001);
  said = [];
  agentTabs.handleUpdated(7, { groupId: -1 });
  assert.deepEqual(said, [7], 'the person takes it out');
});

test('the person\'s own input in a tab of theirs that an agent holds is told, in each document, and no agent\'s input is', async () => {
  const watched = [];
  chrome.scripting = { executeScript: async ({ target }) => { watched.push(target.tabId); } };
  const input = (id) => agentTabs.handleMessage({ agent_tab: 'input' }, { tab: { id } });
  agentTabs.handleHeld([7, 30]);
  agentTabs.handleHeld([7, 30]);
  assert.deepEqual(watched, [30], 'once, and not in a tab that an agent opened');
  agentTabs.handleCommitted({ tabId: 30, frameId: 0 });
  assert.deepEqual(watched, [30, 30]);
  said = [];
  const used = [];
  agentTabs.onInput = (tabId) => used.push(tabId);
  acting = true;
  input(30);
  assert.deepEqual([said, used], [[], []], 'an agent acts there');
  acting = false;
  input(30);
  input(31);
  assert.deepEqual([said, used], [[30], [30, 31]]);
  agentTabs.handleHeld([7]);
  input(30);
  assert.deepEqual(said, [30], 'nobody holds it any more');
  // A tab that nobody holds is watched while frames of other extensions are aside in it, over its pages.
  watched.length = 0;
  agentTabs.handleAside(40, true);
  agentTabs.handleCommitted({ tabId: 40, frameId: 0 });
  input(40);
  agentTabs.handleAside(40, false);
  agentTabs.handleCommitted({ tabId: 40, frameId: 0 });
  assert.deepEqual([watched, used.at(-1), said], [[40, 40], 40, [30]]);
});

test('without the permission nothing is grouped', async () => {
  const { grouped } = withGroups();
  chrome.permissions.contains = async () => false;
  const agents = new AgentGroups();
  await agents.restore();
  await agents.follow([TAB]);
  await agents.setOn(true);
  assert.deepEqual(grouped, []);
});

test('after a new start of the browser only a tab of our group with its last address that nobody has touched is told as an agent\'s', async () => {
  const url = 'http://127.0.0.1/work';
  const former = { tab_id: 7, url, title: 'Claude Code', color: 'red' };
  const { groups } = withGroups();
  groups.set(50, { id: 50, title: 'Claude Code', color: 'red' });
  groups.set(51, { id: 51, title: 'Claude Code', color: 'blue' });
  const back = { id: 70, windowId: 2, url, groupId: 50, active: false };
  const cases = [
    [[back], [{ former: 7, tab_id: 70 }], []],
    [[{ ...back, active: true }], [], [70]],
    [[{ ...back, groupId: 51 }], [], [70]],
    [[{ ...back, groupId: -1 }], [], [70]],
    [[back, { ...back, id: 71 }], [], [70, 71]],
    [[back, { ...back, id: 71, groupId: -1 }], [], [70, 71]],
    [[{ ...back, url: `${url}?other` }], [], []],
    [[{ ...back, id: 7 }], [], []],
  ];
  for (const [open, restored, doubtful] of cases) {
    chrome.storage.session.data = {};
    chrome.storage.local.data = { agent_tabs_last_seen: [former], group_agent_tabs: true };
    chrome.tabs.query = async () => open;
    const agents = new AgentGroups();
    await agents.restore();
    assert.deepEqual([await agents.findRestored(), agents.doubtful], [restored, doubtful], JSON.stringify(open));
    const next = new AgentGroups();
    await next.restore();
    assert.deepEqual(next.doubtful, doubtful, 'the next worker knows it');
  }
});
