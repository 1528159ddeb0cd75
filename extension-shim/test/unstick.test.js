// What becomes of a tab whose script will not stop.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from './support/fakes.js';

installChrome();
const { attach, handleDetach, handleEvent } = await import('../debugger.js');
const { CRASH_MS, PAGE_PROBE_MS, RELOAD_MS } = await import('../limits.js');
const { actions } = await import('../actions/index.js');
const { endScript, stopWaiting, unstick, unstickNote } = await import('../unstick.js');

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

test('a page that does not even end is thrown away and loaded anew, in this order', async () => {
  Object.assign(page, { answers: false, onCrash: () => handleEvent({ tabId: 7 }, 'Inspector.targetCrashed', {}) });
  assert.equal(await outcome(), 'reloaded');
  assert.deepEqual(asked.slice(-3), ['Page.crash', 'reload', 'Runtime.evaluate']);
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
  assert.deepEqual(asked, ['Page.stopLoading', 'Page.enable']);
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

test('a script whose tab waits for a server can be stopped before it has begun', async () => {
  handleDetach({ tabId: 7 }, 'target_closed');
  let serverAnswers;
  chrome.tabs.get = async () => ({ id: 7, pendingUrl: 'http://silent.test/' });
  chrome.debugger.sendCommand = async (_, method) => {
    asked.push(method);
    if (method === 'Page.enable') await new Promise((resolve) => { serverAnswers = resolve; });
    if (method === 'Page.stopLoading') serverAnswers();
    return {};
  };
  let stop;
  const onStop = (cleanUp) => { stop = cleanUp; };
  actions.execute_js({ script: '1' }, { tab_id: 7, timeout_ms: 1_000, onStop }).catch(() => {});
  await settled();
  assert.deepEqual(asked, ['Page.enable']);
  assert.match(await stop(), /the server has not answered/);
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
