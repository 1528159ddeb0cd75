// When the extension loads itself anew, and how its session outlives that.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

let { session, local } = installChrome();
const { OwnReload } = await import('../../src/worker/own_reload.js');

let events;
let isBusy;
let contexts;
let disk;
let installType;
let reload;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  ({ session, local } = installChrome());
  [events, isBusy, contexts, disk, installType] = [[], false, ['BACKGROUND'], '0.2.0', 'development'];
  chrome.management = { getSelf: async () => ({ installType }) };
  chrome.runtime.getContexts = async () => contexts.map((contextType) => ({ contextType }));
  chrome.runtime.reload = () => events.push('reload');
  globalThis.fetch = async (url) => {
    assert.equal(url, 'chrome-extension://ours/manifest.json');
    return { json: async () => ({ version: disk }) };
  };
  reload = new OwnReload();
  reload.isBusy = () => isBusy;
  reload.leave = () => events.push('leave');
});

/** The daemon says so, and so much time passes. */
async function told(version, ms) {
  reload.handleFrame({ type: 'reload', version });
  await pass(ms);
}

async function pass(ms) {
  for (let passed = 0; passed < ms; passed += 100) {
    await settled();
    mock.timers.tick(100);
  }
  await settled();
}

test('an extension whose files were renewed leaves the daemon and loads them once, after a quiet moment', async () => {
  await told('0.2.0', 1_000);
  assert.deepEqual(events, [], 'an agent may only be thinking');
  await pass(2_000);
  assert.deepEqual(events, ['leave', 'reload']);
  await told('0.2.0', 60_000);
  assert.deepEqual(events, ['leave', 'reload'], 'it did not bring that version, and would not the next time');
});

test('nothing is loaded while something runs, nor in the moment after', async () => {
  isBusy = true;
  await told('0.2.0', 600_000);
  assert.deepEqual(events, []);
  assert.deepEqual([local.data.own_reload, local.data.handed_on], [undefined, undefined]);
  isBusy = false;
  await pass(1_000);
  isBusy = true;
  await pass(1_000);
  isBusy = false;
  await pass(1_000);
  assert.deepEqual(events, []);
  await pass(2_000);
  assert.deepEqual(events, ['leave', 'reload']);
});

test('a command that comes while the session is kept is not ended, and the session does not stay on the disk', async () => {
  const { set } = local;
  local.set = async (entries) => { isBusy = true; return set.call(local, entries); };
  await told('0.2.0', 10_000);
  assert.deepEqual(events, []);
  assert.deepEqual(Object.keys(local.data), []);
  local.set = set;
  isBusy = false;
  await pass(10_000);
  assert.deepEqual(events, ['leave', 'reload']);
});

test('nothing is loaded while the person has the popup or a drawing open', async () => {
  for (const open of ['POPUP', 'TAB']) {
    contexts = ['BACKGROUND', open];
    await told('0.2.0', 10_000);
    assert.deepEqual(events, [], open);
  }
  contexts = ['BACKGROUND'];
  await pass(10_000);
  assert.deepEqual(events, ['leave', 'reload']);
});

test('an extension from a store, of that version, or loaded from another folder loads nothing', async () => {
  for (const kind of ['normal', 'admin', 'sideload', 'other']) {
    installType = kind;
    await told('0.2.0', 10_000);
  }
  installType = 'development';
  await told('0.1.0', 10_000);
  disk = '0.1.0';
  await told('0.2.0', 10_000);
  assert.deepEqual(events, []);
  assert.deepEqual(local.data, {});
});

test('a file that changes while it waits is looked at again', async () => {
  const { set } = local;
  isBusy = true;
  await told('0.2.0', 1_000);
  local.set = async (entries) => { isBusy = true; disk = '0.3.0'; return set.call(local, entries); };
  isBusy = false;
  await pass(10_000);
  assert.deepEqual(events, [], 'a command came meanwhile, and then another version');
});

test('what the session holds is there again for the next worker, and not on the disk', async () => {
  session.data = { browser_session: 'run_1', agent_tabs: { agents: [7] }, dismissed_tabs: [8] };
  await told('0.2.0', 10_000);
  assert.deepEqual(events, ['leave', 'reload']);
  const { handed_on: handedOn } = local.data;
  for (const [why, change, isKept] of [
    ['the next worker', {}, true], ['an hour later', { at: handedOn.at - 3_600_000 }, false], ['another run of the browser', { windows: [99] }, false],
  ]) {
    local.data = { handed_on: { ...handedOn, ...change } };
    session.data = { newer: 1, browser_session: 'run_2' };
    // A worker reads its modules anew.
    const { isAfterReload, sessionItems } = await import(`../../src/lib/session_items.js?${encodeURIComponent(why)}`);
    const items = await sessionItems(null);
    assert.deepEqual(items, isKept ? { ...handedOn.items, newer: 1, browser_session: 'run_2' } : { newer: 1, browser_session: 'run_2' }, why);
    assert.equal(await isAfterReload(), isKept, why);
    assert.deepEqual(local.data, {}, why);
  }
});
