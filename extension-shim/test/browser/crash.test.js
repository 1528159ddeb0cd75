// A page whose process is gone: commands end at once, and a new process makes it usable again.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { adoptAttached, attach, cdp, emulateFocus, handleDetach, handleEvent, isAttached } = await import('../../src/browser/debugger.js');
const { asideFrames } = await import('../../src/browser/frames_aside.js');
const { EMULATION_OFF } = await import('../../src/browser/emulation.js');
const { actions } = await import('../../src/actions/index.js');
const { policy, tabs } = await import('../../src/browser/state.js');

policy.handleRules({ type: 'site_rules', allow: [], deny: [] });

const NEVER = new Promise(() => {});
const CRASHED = { code: 'tab_crashed', message: 'the page of tab 7 has crashed' };
/** The tab as the browser has it: one without a process answers nothing. */
let tab;
let asked;

beforeEach(async () => {
  handleDetach({ tabId: 7 }, 'target_closed');
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(console, 'debug', () => {});
  installChrome();
  tab = { id: 7, windowId: 1, url: 'http://127.0.0.1:8000/', title: 'Home Page', active: true, status: 'complete', discarded: false, width: 1_000, height: 700 };
  asked = [];
  chrome.tabs.query = async () => [tab];
  chrome.tabs.get = async () => tab;
  chrome.debugger = {
    attach: async () => { asked.push('attach'); },
    sendCommand: async (_, method) => {
      asked.push(method);
      // As the browser does for one that has no process when it is asked.
      if (method === 'Inspector.enable' && tab.status === 'unloaded') Promise.resolve().then(() => say('Inspector.targetCrashed'));
      return tab.status === 'unloaded' && method !== 'Inspector.enable' ? NEVER : {};
    },
  };
  await tabs.load();
});

const say = (method) => handleEvent({ tabId: 7 }, method, {});

/** Its process goes: what was asked of it is never answered. */
function crash() {
  tab.status = 'unloaded';
  say('Inspector.targetCrashed');
}

/** Notes the switches, for a page that has this width. @param {number} clientWidth */
function switching(clientWidth) {
  return async (_, method, params) => {
    asked.push([method, params?.enabled]);
    return { cssVisualViewport: { clientWidth, clientHeight: tab.height } };
  };
}

/** It is loaded anew. */
function revive() {
  tab.status = 'complete';
  say('Inspector.targetReloadedAfterCrash');
}

test('a command that runs when its page crashes ends at once, and so does each after it, until the page is loaded anew', async () => {
  await attach(7);
  chrome.debugger.sendCommand = async (_, method) => (method === 'Runtime.evaluate' ? NEVER : {});
  const running = assert.rejects(cdp(7, 'Runtime.evaluate', {}), CRASHED);
  crash();
  await running;
  await assert.rejects(attach(7), CRASHED);
  revive();
  await attach(7);
});

test('what an action asks of its page after the crash ends at once, too', async () => {
  await attach(7);
  crash();
  await settled();
  asked = [];
  await assert.rejects(cdp(7, 'Runtime.evaluate', {}), CRASHED);
  await cdp(7, 'Inspector.enable');
  assert.deepEqual(asked, ['Inspector.enable'], 'the browser answers this one itself');
});

test('a new worker takes over a tab that has crashed, and says so', async () => {
  tab.status = 'unloaded';
  chrome.debugger.attach = async () => { throw new Error('Another debugger is already attached to the tab with id: 7.'); };
  chrome.debugger.getTargets = async () => [{ tabId: 7, attached: true }, { attached: true }, { tabId: 8, attached: false }];
  await adoptAttached();
  assert.equal(isAttached(7), true);
  await assert.rejects(attach(7), CRASHED);
});

test('a new worker switches off all that the act of a killed one has left on, before anything else is asked', async () => {
  chrome.debugger.attach = async () => { throw new Error('Another debugger is already attached to the tab with id: 7.'); };
  chrome.debugger.sendCommand = switching(390);
  await attach(7);
  await emulateFocus(7);
  const settings = asked.filter(([, enabled]) => enabled !== undefined);
  const focus = 'Emulation.setFocusEmulationEnabled';
  assert.deepEqual(settings, [
    [focus, true], ['Page.setInterceptFileChooserDialog', false], ['Input.setInterceptDrags', false], ['Emulation.setTouchEmulationEnabled', false],
  ]);
  const names = asked.map(([method]) => method);
  for (const [method] of EMULATION_OFF) assert.ok(names.includes(method), method);
  assert.ok(names.includes('Overlay.hideHighlight'));
});

test('a page in which a killed worker has left something on is seen until it knows its size, and then as unseen as it is', async () => {
  chrome.debugger.attach = async () => { throw new Error('Another debugger is already attached to the tab with id: 7.'); };
  chrome.debugger.sendCommand = switching(390);
  await attach(7);
  const isSeen = () => asked.findLast(([method]) => method === 'Emulation.setFocusEmulationEnabled')[1];
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  assert.equal(isSeen(), true);
  chrome.debugger.sendCommand = switching(tab.width);
  mock.timers.tick(20);
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  assert.equal(isSeen(), false);
});

test('a tab is gone only if the browser says so of the tab: the debugger may have lost one that is open', async () => {
  chrome.debugger.attach = async () => { throw new Error('No tab with given id 7.'); };
  await assert.rejects(attach(7), { code: 'debugger_unavailable', message: /No tab with given id 7/ });
  chrome.tabs.get = async () => { throw new Error('No tab with id: 7.'); };
  await assert.rejects(attach(7), { code: 'no_such_tab', message: 'tab 7 is not open' });
});

test('a page with a frame of another extension is told from a page that is closed to extensions, and the extension is named', async () => {
  const refuse = (message) => { chrome.debugger.attach = async () => { throw new Error(message); }; };
  const getAllFrames = chrome.webNavigation?.getAllFrames;
  chrome.webNavigation = { ...chrome.webNavigation, getAllFrames: async () => [
    { frameId: 0, url: 'https://a.example/' }, { frameId: 4, url: 'chrome-extension://nngceckbapebfimnlniiiahkandclblb/menu.html' },
  ] };
  // Where the person has them left alone.
  await asideFrames.setOn(false);
  refuse('Cannot access a chrome-extension:// URL of different extension');
  await assert.rejects(attach(7), { code: 'foreign_extension_frame', message: /a frame of Bitwarden/ });
  chrome.webNavigation.getAllFrames = async () => [{ frameId: 0, url: 'https://a.example/' }];
  await assert.rejects(attach(7), { code: 'foreign_extension_frame', message: /a frame of another extension/ });
  refuse('Cannot access a chrome:// URL');
  await assert.rejects(attach(7), { code: 'restricted_page' });
  await asideFrames.setOn(true);
  chrome.webNavigation.getAllFrames = getAllFrames;
});

test('a page that had crashed before the debugger came is found out, and hears of the debugger when it is back', async () => {
  tab.status = 'unloaded';
  await assert.rejects(attach(7), CRASHED);
  assert.deepEqual(asked, ['attach', 'Inspector.enable', 'Page.enable', 'Network.enable']);
  revive();
  await attach(7);
  assert.deepEqual(asked.slice(4), ['Page.enable']);
});

test('a tab that the browser has put to sleep has not crashed, although the browser says the same of it', async () => {
  await attach(7);
  tab.discarded = true;
  crash();
  await settled();
  await attach(7);
});

test('page_info says that a page has crashed, and attaches no debugger to one that has a process', async () => {
  const context = { tab_id: 7, begin() {}, admitAct() {} };
  assert.equal((await actions.page_info({}, context)).value.title, 'Home Page');
  assert.deepEqual(asked, []);
  tab.status = 'unloaded';
  await assert.rejects(actions.page_info({}, context), CRASHED);
});

test('a page that crashed as it was to take itself for focused is told so again once it is loaded anew', async () => {
  await attach(7);
  crash();
  await settled();
  await assert.rejects(emulateFocus(7), CRASHED);
  revive();
  asked = [];
  await emulateFocus(7);
  assert.deepEqual(asked, ['Emulation.setFocusEmulationEnabled']);
});
