import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { ReplacedTabs } = await import('../../src/browser/replaced_tabs.js');
const { Tabs } = await import('../../src/browser/tabs.js');
const { WakefulTabs } = await import('../../src/browser/wakeful_tabs.js');
const { FORMER_IDS_MAX, WAKEFUL_MS } = await import('../../src/browser/limits.js');

let updates;
let autoDiscardable;

beforeEach(() => {
  installChrome();
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  updates = [];
  autoDiscardable = true;
  chrome.tabs.get = async (id) => ({ id, autoDiscardable });
  chrome.tabs.update = async (id, change) => { updates.push([id, change.autoDiscardable]); };
});

test('a tab is known by all ids that it has had, also by the next worker, and by 8 at most', async () => {
  const replaced = new ReplacedTabs();
  replaced.handleReplaced(2, 1);
  replaced.handleReplaced(3, 2);
  assert.deepEqual([replaced.now(1), replaced.now(2), replaced.now(3), replaced.now(9)], [3, 3, 3, 9]);
  const next = new ReplacedTabs();
  await next.restore();
  assert.deepEqual(next.formerIds(3), [1, 2]);
  for (let id = 4; id < 20; id += 1) next.handleReplaced(id, id - 1);
  assert.equal(next.formerIds(19).length, FORMER_IDS_MAX);
  next.handleRemoved(19);
  assert.equal(next.now(18), 18);
});

test('a command for a former id goes to the tab, and lists name what sleeps', async () => {
  const replaced = new ReplacedTabs();
  const policy = { blocks: () => false, handed: { hasTab: () => false }, own: { hasTab: () => false } };
  const tabs = new Tabs(/** @type {any} */ (policy), () => undefined, replaced);
  await tabs.load();
  replaced.handleReplaced(80, 8);
  tabs.handleReplaced(80, 8);
  assert.equal(tabs.known(8)?.id, 80);
  const listed = tabs.list().find(({ tab_id }) => tab_id === 80);
  assert.deepEqual([listed?.discarded, listed?.former_ids], [true, [8]]);
  tabs.handleUpdated(/** @type {any} */ ({ id: 80, windowId: 1, url: 'http://127.0.0.1/', frozen: true, discarded: false }));
  assert.deepEqual(tabs.list().find(({ tab_id }) => tab_id === 80)?.frozen, true);
  mock.timers.tick(1_000);
});

test('a tab in use is kept loaded until it is used no more, held by no agent, and then set back', async () => {
  const wakeful = new WakefulTabs();
  let isHeld = true;
  wakeful.isHeld = () => isHeld;
  await wakeful.use(7);
  await wakeful.use(7);
  assert.deepEqual(updates, [[7, false]]);
  mock.timers.tick(WAKEFUL_MS);
  assert.equal(updates.length, 1);
  isHeld = false;
  mock.timers.tick(WAKEFUL_MS);
  assert.deepEqual(updates.at(-1), [7, true]);
});

test('a tab that somebody else keeps loaded stays so, and a worker that starts anew sets back what the last one has set', async () => {
  autoDiscardable = false;
  await new WakefulTabs().use(7);
  assert.deepEqual(updates, []);
  autoDiscardable = true;
  const last = new WakefulTabs();
  await last.use(8);
  last.handleReplaced(80, 8);
  await settled();
  const next = new WakefulTabs();
  await next.restore();
  updates.length = 0;
  mock.timers.tick(WAKEFUL_MS);
  assert.ok(updates.some(([id, value]) => id === 80 && value === true), JSON.stringify(updates));
});
