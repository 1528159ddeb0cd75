// The way of a command: by the debugger, or by scripts where a frame of another extension keeps it out.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { attach, cdp, handleDetach, isPersonIn, withDialogs } = await import('../../src/browser/debugger.js');
const { asideFrames } = await import('../../src/browser/frames_aside.js');
const { chosenWay, needsDebugger, toldWay } = await import('../../src/browser/scripted_way.js');

const FOREIGN = 'Cannot access a chrome-extension:// URL of different extension';
const FRAME = { frameId: 4, parentFrameId: 0, parentDocumentId: 'D', url: 'chrome-extension://nngceckbapebfimnlniiiahkandclblb/menu.html' };
const TAB = { id: 7, url: 'http://a.example/' };
let frames;
let failure;
let orders;
let typing;

beforeEach(async () => {
  installChrome();
  handleDetach({ tabId: 7 }, 'replaced');
  asideFrames.forget(7);
  [frames, failure, orders, typing] = [[FRAME], null, 0, [false]];
  await asideFrames.setOn(true);
  chrome.tabs.get = async () => ({ id: 7, windowId: 1, active: true, width: 800, height: 600 });
  chrome.webNavigation.getAllFrames = async () => [{ frameId: 0, url: TAB.url }, ...frames];
  chrome.scripting.executeScript = async ({ args }) => {
    if (args.length === 2) return typing.map((result) => ({ result }));
    orders += 1;
    return [{ documentId: 'D', result: { addresses: [], unnamed: 0 } }];
  };
  chrome.debugger = {
    attach: async () => { if (frames.length > 0) throw new Error(FOREIGN); },
    detach: async () => {},
    sendCommand: async () => { if (failure) { queueMicrotask(() => handleDetach({ tabId: 7 }, 'target_closed')); throw new Error(failure); } return {}; },
  };
});

test('the debugger is the way where it may be, and scripts are none for what has no such way', async () => {
  await asideFrames.setOn(false);
  await assert.rejects(chosenWay(TAB, false), { code: 'foreign_extension_frame' });
  const way = await chosenWay(TAB, true);
  assert.deepEqual(way, { whose: 'Bitwarden', why: 'the person has switched off in the Tabwire popup that such frames are set aside' });
  assert.deepEqual(toldWay(way), { input: 'scripted', input_why: `a frame of Bitwarden keeps the debugger out: ${way.why}` });
  frames = [];
  assert.equal(await chosenWay(TAB, true), null);
});

test('a page from a folder, a closed bar and a closed page are never left to scripts', async () => {
  await asideFrames.setOn(false);
  await assert.rejects(chosenWay({ id: 7, url: 'file:///home/a.html' }, true), { code: 'foreign_extension_frame' });
  frames = [];
  for (const [message, code] of [['Cannot attach to this target.', 'restricted_page'], ['Another debugger is attached.', 'debugger_unavailable']]) {
    chrome.debugger.attach = async () => { throw new Error(message); };
    await assert.rejects(chosenWay(TAB, true), { code });
  }
});

test('what needs the debugger says so, why it is not there, and whether anything has run', () => {
  const error = needsDebugger({ whose: 'Bitwarden', why: 'the person types' }, 'a button is held', false);
  assert.equal(error.code, 'foreign_extension_frame');
  assert.match(error.message, /frame of Bitwarden.*: the person types; a button is held$/);
  assert.equal(error.more.mayHaveRun, false);
});

test('a page where setting aside has not helped is let be until the tab shows another page', async () => {
  const way = await chosenWay(TAB, true);
  assert.match(way.why, /comes back each time/);
  const before = orders;
  assert.match((await chosenWay(TAB, true)).why, /comes back each time/);
  assert.equal(orders, before, 'nothing is tried again');
  asideFrames.handlePage(7);
  await chosenWay(TAB, true);
  assert.ok(orders > before);
});

test('a page whose frames have cut off three commands is let be, and one command counts once', async (t) => {
  frames = [];
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  for (let times = 1; times <= 3; times += 1) {
    asideFrames.handleCutOff(7);
    asideFrames.handleCutOff(7);
    const isOver = await asideFrames.setAside(7, { isOurs: true, isSure: true }).then(() => false, () => true);
    assert.equal(isOver, times === 3);
    now += 1_000;
  }
  now += 61_000;
  await asideFrames.setAside(7, { isOurs: true, isSure: true });
});

test('a command that a frame has cut off is no command for scripts', async () => {
  frames = [];
  await attach(7);
  await withDialogs(7, { dialogs: [] }, async () => {
    failure = 'Detached while handling command.';
    frames = [FRAME];
    const error = await cdp(7, 'Runtime.evaluate', {}).catch((one) => one);
    assert.equal(error.more?.mayHaveRun, true);
  });
});

test('the person is in a tab if one of its documents says so, and never in one behind', async () => {
  typing = [false, true];
  assert.equal(await isPersonIn(7), true);
  chrome.tabs.get = async () => ({ id: 7, windowId: 1, active: false });
  assert.equal(await isPersonIn(7), false);
});
