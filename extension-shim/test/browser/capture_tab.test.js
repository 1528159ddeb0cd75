// Pictures of tabs that nobody sees: their first frames can lack parts of the page.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { captureTab } = await import('../../src/browser/capture_tab.js');
const { attach, handleDetach, withFocus } = await import('../../src/browser/debugger.js');
const { policy, tabs } = await import('../../src/browser/state.js');

policy.handleRules({ type: 'site_rules', allow: [], deny: [] });

const URL = 'http://127.0.0.1:8000/';
const FOCUS = 'Emulation.setFocusEmulationEnabled';
const WHOLE_VIEW = { fullPage: false, maxSide: 1_568 };
const WHOLE_PAGE = { fullPage: true, maxSide: 1_568 };
/** Pictures that the browser gives, the last one for ever. */
let pictures;
let asked;

beforeEach(async () => {
  handleDetach({ tabId: 7 }, 'target_closed');
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(console, 'debug', () => {});
  installChrome();
  asked = [];
  await shownIn({ active: false });
  const view = { pageX: 0, pageY: 0, clientWidth: 1_000, clientHeight: 600 };
  chrome.debugger = {
    attach: async () => {},
    sendCommand: async (_, method, params) => {
      asked.push(method === FOCUS ? `focus ${params.enabled}` : method);
      if (method === 'Page.getLayoutMetrics') return { cssVisualViewport: view, visualViewport: view, cssContentSize: { ...view, x: 0, y: 0, width: 1_000, height: 1_500 } };
      if (method === 'Page.getFrameTree') return { frameTree: { frame: { id: 'F', url: URL } } };
      if (method === 'Page.createIsolatedWorld') return { executionContextId: 2 };
      if (method === 'Runtime.evaluate') return { result: { value: URL } };
      if (method === 'Page.captureScreenshot') return { data: pictures.length > 1 ? pictures.shift() : pictures[0] };
      return {};
    },
  };
  await attach(7);
});

/** @param {{active: boolean}} place */
async function shownIn({ active }) {
  const tab = { id: 7, windowId: 1, url: URL, title: 'Home Page', active, status: 'complete', discarded: false, width: 1_000, height: 600 };
  chrome.tabs.query = async () => [tab];
  chrome.tabs.get = async () => tab;
  chrome.tabs.getZoom = async () => 1;
  chrome.webNavigation.getFrame = async () => ({ documentId: 'D', url: URL });
  await tabs.load();
}

/** The picture of the tab, and how often the browser was asked for one. */
async function taken(frame = WHOLE_VIEW) {
  asked = [];
  const { data } = await captureTab(7, 'jpeg', frame, new AbortController().signal);
  return [data, asked.filter((method) => method === 'Page.captureScreenshot').length];
}

test('the first picture of a tab that nobody sees is taken until two are the same', async () => {
  pictures = ['none', 'part', 'all=', 'all=', 'late'];
  assert.deepEqual(await taken(), ['all=', 4]);
});

test('a page that never looks the same twice is captured so often and no more', async () => {
  pictures = ['aaa1', 'aaa2', 'aaa3', 'aaa4', 'aaa5'];
  assert.deepEqual(await taken(), ['aaa4', 4]);
});

test('a page that has just been painted, or that the person sees, is captured once', async () => {
  pictures = ['all='];
  await taken();
  pictures = ['next', 'late'];
  assert.deepEqual(await taken(), ['next', 1]);
  mock.timers.tick(5_000);
  await shownIn({ active: true });
  pictures = ['show', 'late'];
  assert.deepEqual(await taken(), ['show', 1]);
});

test('a whole page is laid out for its picture each time, and taken until two are the same', async () => {
  pictures = ['all='];
  await taken();
  pictures = ['slim', 'wide'];
  assert.deepEqual(await taken(WHOLE_PAGE), ['wide', 3]);
});

test('a page is not hidden between two commands that follow each other, and is soon after the last', async () => {
  pictures = ['all='];
  await withFocus(7, async () => {}, 5_000);
  await withFocus(7, async () => {});
  await taken();
  assert.ok(!asked.includes('focus false'));
  mock.timers.tick(4_999);
  assert.ok(!asked.includes('focus false'));
  mock.timers.tick(1);
  assert.equal(asked.at(-1), 'focus false');
});

test('a page is not hidden by the end of a former session while a command of a later one needs it', async () => {
  await withFocus(7, async () => {
    handleDetach({ tabId: 7 }, 'target_closed');
    await attach(7);
  }, 5_000);
  asked = [];
  await withFocus(7, async () => {
    mock.timers.tick(5_000);
    assert.deepEqual(asked, ['focus true']);
  });
  assert.equal(asked.at(-1), 'focus false');
});
