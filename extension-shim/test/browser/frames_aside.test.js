// Frames of other extensions: attaching beside them, and what becomes of a command that one cuts off.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { attach, cdp, debuggerNews, emulateFocus, endBurstsBeside, handleDetach, onRegained, withDialogs } = await import('../../src/browser/debugger.js');
const { asideFrames } = await import('../../src/browser/frames_aside.js');

const FOREIGN = 'Cannot access a chrome-extension:// URL of different extension';
const FRAME = { frameId: 4, parentFrameId: 0, parentDocumentId: 'D', url: 'chrome-extension://nngceckbapebfimnlniiiahkandclblb/menu.html' };
/** The frames of other extensions in tab 7, what was asked of the debugger, and the orders to the page. */
let frames;
let asked;
let orders;
let isTyping;
let failures;

beforeEach(async () => {
  mock.timers.reset();
  installChrome();
  handleDetach({ tabId: 7 }, 'replaced');
  asideFrames.forget(7);
  [frames, asked, orders, isTyping, failures] = [[FRAME], [], [], false, []];
  await asideFrames.setOn(true);
  chrome.tabs.get = async () => ({ id: 7, windowId: 1, active: true, width: 800, height: 600 });
  chrome.webNavigation.getAllFrames = async () => [{ frameId: 0, url: 'http://a.example/' }, ...frames];
  chrome.scripting.executeScript = async ({ args }) => {
    if (args.length === 2) return [{ result: isTyping }];
    const [{ what }] = args;
    orders.push(what);
    const addresses = frames.map(({ url }) => url);
    if (what === 'aside') frames = [];
    return [{ documentId: 'D', result: { addresses, unnamed: 0 } }];
  };
  chrome.debugger = {
    attach: async () => { if (frames.length > 0) throw new Error(FOREIGN); },
    detach: async () => { asked.push('detach'); },
    sendCommand: async (_, method) => {
      asked.push(method);
      const failure = failures.shift();
      if (failure?.method !== method) { if (failure) failures.unshift(failure); return { done: method }; }
      if (failure.isLost || failure.isQuiet) queueMicrotask(() => handleDetach({ tabId: 7 }, 'target_closed'));
      if (failure.isQuiet) return {};
      throw new Error(failure.message);
    },
  };
});

const during = (run) => withDialogs(7, { dialogs: [] }, run);

test('a frame is set aside for the debugger, and put back soon after the last command', async () => {
  await attach(7);
  assert.deepEqual(orders, ['aside']);
  assert.ok(asideFrames.state.names.includes('Bitwarden'));
  await during(async () => {
    await new Promise((done) => { setTimeout(done, 400); });
    assert.deepEqual(orders, ['aside'], 'a command runs');
  });
  await new Promise((done) => { setTimeout(done, 600); });
  assert.deepEqual(orders, ['aside', 'back']);
  assert.equal(asked.at(-1), 'detach', 'before the frame is back, which would end it');
});

test('nothing is set aside while the person types, where they have switched it off, and for a recording', async () => {
  isTyping = true;
  await assert.rejects(attach(7), { code: 'foreign_extension_frame', message: /using the keyboard/ });
  isTyping = false;
  await asideFrames.setOn(false);
  await assert.rejects(attach(7), { code: 'foreign_extension_frame', message: /frame of Bitwarden.*switched off/ });
  await asideFrames.setOn(true);
  await assert.rejects(attach(7, { setsAside: false }), { code: 'foreign_extension_frame' });
  assert.deepEqual(orders, []);
});

test('nothing is set aside in the tab of a step that the person does alone, and a tab that closes to agents has its frames back', async (t) => {
  t.after(() => { debuggerNews.isHandedOver = () => false; });
  debuggerNews.isHandedOver = (tabId) => tabId === 7;
  await assert.rejects(attach(7), { code: 'handed_over' });
  assert.deepEqual([orders, asked], [[], []]);
  debuggerNews.isHandedOver = () => false;
  await attach(7);
  await emulateFocus(7);
  endBurstsBeside((tabId) => tabId === 8);
  await new Promise((done) => { setTimeout(done, 600); });
  assert.deepEqual(orders, ['aside'], 'a burst of commands goes on there');
  endBurstsBeside((tabId) => tabId === 7);
  await new Promise((done) => { setTimeout(done, 600); });
  assert.deepEqual(orders, ['aside', 'back']);
});

test('where nothing may be set aside, the end of a tab or its way to a closed page is told as such', async () => {
  for (const [message, code] of [['No tab with given id 7.', 'no_such_tab'], ['Cannot attach to this target.', 'restricted_page']]) {
    frames = [];
    await asideFrames.setOn(true);
    await attach(7);
    await asideFrames.setOn(false);
    await during(async () => {
      chrome.debugger.attach = async () => { throw new Error(message); };
      if (code === 'no_such_tab') chrome.tabs.get = async () => { throw new Error(message); };
      failures = [{ isLost: true, message: 'Detached while handling command.', method: 'Runtime.evaluate' }];
      await assert.rejects(cdp(7, 'Runtime.evaluate', {}), /Detached while/);
      await assert.rejects(attach(7), { code });
    });
    chrome.debugger.attach = async () => {};
    chrome.tabs.get = async () => ({ id: 7, windowId: 1, active: true, width: 800, height: 600 });
  }
});

test('a page cannot write into the popup by the addresses of its frames', async () => {
  const before = asideFrames.state.names;
  const idOf = (number) => [...String(number).padStart(32, '0')].map((digit) => 'abcdefghij'[digit]).join('');
  frames = [{ ...FRAME, url: 'chrome-extension://all-is-well/menu.html' }];
  chrome.debugger.attach = async () => {};
  const setAside = () => asideFrames.setAside(7, { isOurs: true, isSure: true });
  await setAside();
  assert.deepEqual(asideFrames.state.names, before);
  frames = Array.from({ length: 40 }, (_, at) => ({ ...FRAME, frameId: at + 4, url: `chrome-extension://${idOf(at)}/menu.html` }));
  await setAside();
  assert.equal(asideFrames.state.names.length, 12);
});

test('a frame that comes back each time is let be after a while', async () => {
  const script = chrome.scripting.executeScript;
  chrome.scripting.executeScript = async (given) => {
    const answer = await script(given);
    frames = [FRAME];
    return answer;
  };
  chrome.webNavigation.getAllFrames = async () => [];
  await assert.rejects(attach(7), { code: 'foreign_extension_frame' });
  const first = orders.length;
  await assert.rejects(attach(7), { code: 'foreign_extension_frame', message: /comes back each time/ });
  assert.ok(orders.length <= 12 && first > 1, `${first}, ${orders.length}`);
});

test('a command that was cut off is given again only if it has not run, or changes nothing by that', async () => {
  frames = [];
  await attach(7);
  const lost = { isLost: true, message: 'Detached while handling command.' };
  await during(async () => {
    failures = [{ ...lost, method: 'Runtime.evaluate' }];
    await assert.rejects(cdp(7, 'Runtime.evaluate', {}), (error) => error.code === 'foreign_extension_frame' && error.more.mayHaveRun === true);
    failures = [{ ...lost, method: 'Input.insertText' }];
    assert.deepEqual(await cdp(7, 'Input.insertText', { text: 'x' }), {});
    failures = [{ ...lost, method: 'Emulation.setTouchEmulationEnabled' }];
    assert.deepEqual(await cdp(7, 'Emulation.setTouchEmulationEnabled', {}), { done: 'Emulation.setTouchEmulationEnabled' });
    failures = [{ isLost: true, message: FOREIGN, method: 'DOM.focus' }];
    assert.deepEqual(await cdp(7, 'DOM.focus', {}), { done: 'DOM.focus' });
  });
  const times = (method) => asked.filter((one) => one === method).length;
  assert.equal(times('Input.insertText'), 1);
  assert.equal(times('DOM.focus'), 2);
});

test('a debugger that was lost without a word of the browser is attached again, or the command says why it is not', async () => {
  const quiet = { method: 'DOM.focus', message: 'Debugger is not attached to the tab with id: 7.' };
  frames = [];
  await attach(7);
  failures = [quiet];
  await during(async () => assert.deepEqual(await cdp(7, 'DOM.focus', {}), { done: 'DOM.focus' }));
  await asideFrames.setOn(false);
  frames = [FRAME];
  failures = [quiet];
  const isTold = (error) => error.code === 'foreign_extension_frame' && /switched off/.test(error.message) && !error.more.mayHaveRun;
  await during(() => assert.rejects(cdp(7, 'DOM.focus', {}), isTold));
  await assert.rejects(attach(7), isTold);
});

test('a second frame that appears while the debugger is attached again is set aside like the first', async () => {
  const intercept = 'Page.setInterceptFileChooserDialog';
  for (const second of [{ message: FOREIGN }, { message: 'Detached while handling command.', isLost: true }, { isQuiet: true }]) {
    handleDetach({ tabId: 7 }, 'replaced');
    await attach(7);
    [asked, orders] = [[], []];
    await during(async () => {
      const end = onRegained(7, intercept, { enabled: true });
      failures = [{ method: 'Page.captureScreenshot', message: 'Detached while handling command.', isLost: true }, { method: intercept, ...second }];
      assert.deepEqual(await cdp(7, 'Page.captureScreenshot', {}), { done: 'Page.captureScreenshot' });
      end();
    });
    assert.deepEqual(asked.filter((method) => method === intercept), [intercept, intercept], JSON.stringify(second));
    assert.deepEqual(orders, ['aside', 'aside']);
  }
});

test('a tab whose bar the person has closed is not attached to again', async () => {
  frames = [];
  await attach(7);
  await during(async () => {
    chrome.debugger.sendCommand = async () => {
      queueMicrotask(() => handleDetach({ tabId: 7 }, 'canceled_by_user'));
      throw new Error('Detached while handling command.');
    };
    await assert.rejects(cdp(7, 'Emulation.setTouchEmulationEnabled', {}), /Detached/);
  });
  await settled();
  assert.deepEqual(orders, []);
  await assert.rejects(attach(7), { code: 'debugger_unavailable' });
});
