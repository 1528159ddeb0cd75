// What becomes of a tab whose script will not stop.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { attach, handleDetach, handleEvent } = await import('../../src/browser/debugger.js');
const { CRASH_MS, PAGE_ANSWER_MS, PAGE_PROBE_MS, RELOAD_MS } = await import('../../src/browser/limits.js');
const { HEARTBEAT_MS } = await import('../../src/scripts/heartbeat.js');
const { actions } = await import('../../src/actions/index.js');
const { Heartbeat } = await import('../../src/scripts/heartbeat.js');
const { policy } = await import('../../src/browser/state.js');
const { endScript, stopNavigation, stopWaiting, unstick, unstickNote } = await import('../../src/browser/unstick.js');

policy.handleRules({ type: 'site_rules', allow: [], deny: [] });

/** A page: what it does when it is asked to stop, and whether it answers. */
let page;
let asked;

beforeEach(async () => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(console, 'debug', () => {});
  installChrome();
  page = { answers: true, onTerminate: () => {}, onCrash: () => {} };
  asked = [];
  const never = new Promise(() => {});
  chrome.debugger = {
    attach: async () => {},
    sendCommand: async (_, method) => {
      asked.push(method);
      if (method === 'Runtime.terminateExecution') page.onTerminate();
      if (method === 'Page.crash') page.onCrash();
      return method === 'Page.enable' || page.answers ? {} : never;
    },
  };
  chrome.tabs.reload = async () => {
    asked.push('reload');
    page.answers = true;
    handleEvent({ tabId: 7 }, 'Inspector.targetReloadedAfterCrash', {});
  };
  await attach(7);
  asked = [];
});

async function outcome() {
  let how = 'waiting';
  endScript(7).then((result) => { how = result; });
  for (let passed = 0; passed < 2_000 && how === 'waiting'; passed += 50) {
    await settled();
    if (how === 'waiting') mock.timers.tick(50);
  }
  return how;
}

test('a page that answers is left alone', async () => {
  assert.equal(await outcome(), 'usable');
  assert.deepEqual(asked, ['Runtime.evaluate']);
});

test('a loop is ended, and the page stays as it is', async () => {
  Object.assign(page, { answers: false, onTerminate: () => { page.answers = true; } });
  assert.equal(await outcome(), 'stopped');
  assert.ok(!asked.includes('Page.crash') && !asked.includes('reload'));
});

test('where the browser refuses to end a loop its page is thrown away without another wait', async () => {
  Object.assign(page, { answers: false, onCrash: () => handleEvent({ tabId: 7 }, 'Inspector.targetCrashed', {}) });
  page.onTerminate = () => { throw new Error('Runtime.terminateExecution is not allowed for untrusted clients'); };
  let how;
  endScript(7, '1', PAGE_ANSWER_MS).then((result) => { how = result; });
  await settled();
  mock.timers.tick(PAGE_ANSWER_MS);
  await settled();
  assert.equal(how, 'reloaded');
});

test('a tab that goes while its loop is ended needs nothing more', async () => {
  Object.assign(page, { answers: false });
  page.onTerminate = () => {
    handleDetach({ tabId: 7 }, 'target_closed');
    throw new Error('Debugger is not attached to the tab with id: 7.');
  };
  assert.equal(await outcome(), 'stopped');
  assert.ok(!asked.includes('Page.crash'));
});

test('a page that does not even end is thrown away and loaded anew, in this order', async () => {
  Object.assign(page, { answers: false, onCrash: () => handleEvent({ tabId: 7 }, 'Inspector.targetCrashed', {}) });
  assert.equal(await outcome(), 'reloaded');
  assert.deepEqual(asked.slice(-4), ['Page.crash', 'reload', 'Page.enable', 'Runtime.evaluate']);
});

test('a page that nothing ends is not reloaded: that would hang too', async () => {
  page.answers = false;
  assert.equal(await outcome(), 'stuck');
  assert.ok(!asked.includes('reload'));
});

test('a tab that is gone needs nothing', async () => {
  handleDetach({ tabId: 7 }, 'target_closed');
  assert.equal(await outcome(), 'usable');
  assert.deepEqual(asked, []);
});

test('a page that a tab waits for in vain is given up before anything else is sent to it', async () => {
  handleDetach({ tabId: 7 }, 'target_closed');
  chrome.tabs.get = async () => ({ id: 7, pendingUrl: 'http://silent.test/' });
  assert.match(await stopWaiting(7), /the server has not answered and the tab stays where it was/);
  assert.deepEqual(asked, ['Page.stopLoading', 'Inspector.enable', 'Page.enable', 'Network.enable']);
});

test('a page that has begun to load goes on loading', async () => {
  chrome.tabs.get = async () => ({ id: 7, status: 'loading' });
  assert.equal(await stopWaiting(7), '');
  assert.deepEqual(asked, []);
});

test('a wait for a server is given up before the page is asked whether it answers', async () => {
  chrome.tabs.get = async () => ({ id: 7, pendingUrl: 'http://silent.test/' });
  assert.match(await unstick(7), /the server has not answered/);
  assert.deepEqual(asked, ['Page.stopLoading', 'Runtime.evaluate']);
  chrome.tabs.get = async () => { throw new Error('No tab with id: 7.'); };
  assert.equal(await unstick(7), '');
});

test('a page that has not answered for long is ended without another wait, and one that has is given its time', async () => {
  chrome.tabs.get = async () => ({ id: 7 });
  for (const [silentMs, patienceMs] of [[PAGE_PROBE_MS, PAGE_ANSWER_MS], [PAGE_PROBE_MS - 100, 100], [0, PAGE_PROBE_MS]]) {
    Object.assign(page, { answers: false, onTerminate: () => { page.answers = true; } });
    asked = [];
    const ended = unstick(7, { silentMs });
    await settled();
    mock.timers.tick(patienceMs - 1);
    await settled();
    assert.ok(!asked.includes('Runtime.terminateExecution'), `${silentMs}`);
    mock.timers.tick(1);
    assert.equal(await ended, '');
    assert.ok(asked.includes('Runtime.terminateExecution'), `${silentMs}`);
  }
});

test('while a server was waited for, that the page did not answer says nothing', async () => {
  chrome.tabs.get = async () => ({ id: 7, pendingUrl: 'http://silent.test/' });
  page.answers = false;
  chrome.debugger.sendCommand = async (_, method) => {
    asked.push(method);
    return method === 'Runtime.evaluate' ? new Promise(() => {}) : {};
  };
  unstick(7, { silentMs: 10 * PAGE_PROBE_MS });
  await settled();
  mock.timers.tick(PAGE_PROBE_MS - 1);
  await settled();
  assert.deepEqual(asked, ['Page.stopLoading', 'Runtime.evaluate']);
});

test('a navigation that was cancelled goes no further, and one that is out of time does', async () => {
  chrome.tabs.get = async () => ({ id: 7, status: 'loading' });
  assert.equal(await stopNavigation(7, 'timeout'), '');
  assert.deepEqual(asked, []);
  assert.equal(await stopNavigation(7, 'cancelled'), '');
  assert.deepEqual(asked, ['Page.stopLoading']);
});

test('how long a page has not answered is known while a script runs, and nobody asks it afterwards', async () => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  let clock = 0;
  mock.method(performance, 'now', () => clock);
  const heartbeat = new Heartbeat(7);
  heartbeat.start();
  assert.equal(heartbeat.silentMs(), 0);
  assert.deepEqual(asked, [], 'a quick script costs nothing');
  mock.timers.tick(HEARTBEAT_MS);
  await settled();
  clock = 50;
  assert.equal(heartbeat.silentMs(), 0, 'it has answered');
  page.answers = false;
  mock.timers.tick(HEARTBEAT_MS);
  clock = 350;
  assert.equal(heartbeat.silentMs(), 300);
  heartbeat.stop();
  mock.timers.tick(10 * HEARTBEAT_MS);
  assert.deepEqual(asked, ['Runtime.evaluate', 'Runtime.evaluate']);
  mock.restoreAll();
});

test('a script whose tab waits for a server can be stopped before it has begun', async () => {
  handleDetach({ tabId: 7 }, 'target_closed');
  let serverAnswers;
  const [tab] = await chrome.tabs.query({});
  chrome.tabs.get = async () => ({ ...tab, pendingUrl: 'http://silent.test/' });
  chrome.debugger.sendCommand = async (_, method) => {
    asked.push(method);
    if (method === 'Page.enable') await new Promise((resolve) => { serverAnswers = resolve; });
    if (method === 'Page.stopLoading') serverAnswers();
    return {};
  };
  let stop;
  const onStop = (cleanUp) => { stop = cleanUp; };
  const begin = () => { throw new Error('it is cancelled'); };
  const run = actions.execute_js({ script: '"script"' }, { tab_id: 7, timeout_ms: 1_000, begin, onStop, admitAct() {} });
  run.catch(() => {});
  await settled();
  assert.deepEqual(asked, ['Inspector.enable', 'Page.enable', 'Network.enable']);
  assert.match(await stop('cancelled'), /the server has not answered/);
  await assert.rejects(run);
  const seen = asked.filter((method) => method !== 'Emulation.setFocusEmulationEnabled');
  assert.deepEqual(seen, ['Inspector.enable', 'Page.enable', 'Network.enable', 'Page.stopLoading', 'Runtime.evaluate'], 'only whether it answers was asked');
});

test('a tab whose debugger bar was closed by the person is not attached again', async () => {
  handleDetach({ tabId: 8 }, 'canceled_by_user');
  chrome.tabs.get = async () => ({ id: 8, pendingUrl: 'http://silent.test/' });
  await assert.rejects(stopWaiting(8), { code: 'debugger_unavailable' });
  assert.deepEqual(asked, []);
});

test('all of it fits into the 2 s that the daemon waits for the report', () => {
  assert.ok(2 * PAGE_PROBE_MS + CRASH_MS + RELOAD_MS < 2_000);
});

test('the report says what was lost', () => {
  assert.deepEqual(['usable', 'stopped'].map(unstickNote), ['', '']);
  assert.match(unstickNote('reloaded'), /the tab was reloaded because the script would not stop/);
  assert.match(unstickNote('stuck'), /tab_close/);
});
