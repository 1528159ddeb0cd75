// A picture without the debugger: of the tab and of the document that are in front all the time, or none.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { installDocuments } from '../support/fake_documents.js';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { VISIBLE_PAINT_MS, VISIBLE_PAUSE_MS } = await import('../../src/browser/limits.js');
const { policy } = await import('../../src/browser/state.js');
const { captureVisible } = await import('../../src/browser/visible_picture.js');

const WAY = { whose: 'Bitwarden', why: 'the person types' };
const VIEW = { left: 0, top: 0, width: 800, height: 600, whole: { width: 800, height: 600 }, pixelRatio: 1 };
const FRAME = { fullPage: false, maxSide: 1_568 };
const never = new AbortController().signal;
let world;
let tab;
let state;
let during;
let listeners;
let taken;
let pass;
let page;
let now = 1_000_000;

const event = (name) => ({ addListener: (listener) => listeners[name].add(listener), removeListener: (listener) => listeners[name].delete(listener) });
const happens = (name, details) => { for (const listener of listeners[name]) listener(details); };

beforeEach(() => {
  installChrome();
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(performance, 'now', () => now);
  pass = async (ms) => {
    await settled();
    now += ms;
    mock.timers.tick(ms);
    await settled();
  };
  [listeners, taken, state, during] = [{ activated: new Set(), committed: new Set() }, [], 'normal', () => {}];
  world = { twoFrames: null, shown: VIEW };
  tab = { id: 7, windowId: 1, active: true, width: 800, height: 600 };
  policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny: ['bad.test'] });
  const { documents } = installDocuments([{ frameId: 0, documentId: 'D', world }]);
  page = documents[0];
  Object.assign(chrome.webNavigation, { onCommitted: event('committed') });
  Object.assign(chrome.tabs, {
    get: async () => tab, getZoom: async () => 1, onActivated: event('activated'),
    captureVisibleTab: async (windowId) => {
      taken.push([windowId, now]);
      during();
      return 'data:image/png;base64,AAAA';
    },
  });
  chrome.windows.get = async () => ({ state });
  globalThis.createImageBitmap = async () => ({ width: 800, height: 600 });
});

afterEach(() => mock.reset());

/** Takes one, after the pause since the last one. */
async function capture(frame = FRAME, signal = never) {
  const picture = captureVisible(7, 'png', frame, WAY, signal);
  picture.catch(() => {});
  await pass(VISIBLE_PAUSE_MS);
  await pass(VISIBLE_PAINT_MS);
  return picture;
}

test('the picture of the tab in front is told with its place in the view', async () => {
  const picture = await capture();
  assert.deepEqual({ ...picture, view: picture.view.document }, { data: 'AAAA', url: 'https://page.test/', scale: 1, area: { x: 0, y: 0, width: 800, height: 600 }, view: 'D' });
  assert.deepEqual(listeners, { activated: new Set(), committed: new Set() }, 'nothing listens on');
});

test('pictures wait for their turn: two within a second, and one that nobody waits for is not taken', async () => {
  await pass(VISIBLE_PAUSE_MS);
  const gone = new AbortController();
  const [first, second, third] = [captureVisible(7, 'png', FRAME, WAY, never), captureVisible(7, 'png', FRAME, WAY, gone.signal), captureVisible(7, 'png', FRAME, WAY, never)];
  second.catch(() => {});
  await pass(VISIBLE_PAUSE_MS);
  await first;
  gone.abort();
  await pass(VISIBLE_PAUSE_MS);
  await pass(VISIBLE_PAUSE_MS);
  await assert.rejects(second);
  await third;
  assert.equal(taken.length, 2);
  assert.ok(taken[1][1] - taken[0][1] >= VISIBLE_PAUSE_MS);
});

test('a tab behind another one, or in a window that is not shown, has no picture', async () => {
  tab = { ...tab, active: false };
  await assert.rejects(capture(), { code: 'foreign_extension_frame', message: /Bitwarden.*the person types; .*only while a window shows the tab/ });
  [tab, state] = [{ ...tab, active: true }, 'minimized'];
  await assert.rejects(capture(), { code: 'foreign_extension_frame' });
  assert.deepEqual(taken, []);
});

test('a picture during which another tab or another page came is thrown away', async () => {
  during = () => { happens('activated', { windowId: 1, tabId: 8 }); happens('activated', { windowId: 1, tabId: 7 }); };
  await assert.rejects(capture(), { message: /another tab came to the front/ });
  during = () => { tab = { ...tab, active: false }; };
  await assert.rejects(capture(), { message: /only while a window shows the tab/ });
  tab = { ...tab, active: true };
  during = () => happens('committed', { tabId: 7, frameId: 0 });
  await assert.rejects(capture(), { code: 'navigation_interrupted' });
  during = () => { page.documentId = 'E'; };
  await assert.rejects(capture(), { code: 'navigation_interrupted' });
  page.documentId = 'D';
  // Of other windows and of frames.
  during = () => { happens('activated', { windowId: 2, tabId: 9 }); happens('committed', { tabId: 7, frameId: 3 }); happens('committed', { tabId: 8, frameId: 0 }); };
  assert.equal((await capture()).data, 'AAAA');
});

test('a page that agents may not see is pictured neither before nor after it came', async () => {
  page.url = 'https://bad.test/';
  await assert.rejects(capture(), { code: 'blocked_by_policy' });
  assert.deepEqual(taken, []);
  page.url = 'https://page.test/';
  during = () => { page.url = 'https://bad.test/'; };
  await assert.rejects(capture(), { code: 'blocked_by_policy' });
});

test('a page that paints nothing may show the one before it, and has no picture', async () => {
  world.twoFrames = new Promise(() => {});
  await assert.rejects(capture(), { code: 'foreign_extension_frame', message: /paints nothing/ });
  assert.deepEqual(taken, []);
});

test('only the view is pictured, and an element that was scrolled meanwhile is not', async () => {
  await assert.rejects(captureVisible(7, 'png', { ...FRAME, fullPage: true }, WAY, never), { code: 'foreign_extension_frame', message: /more than the view/ });
  await assert.rejects(capture({ ...FRAME, clip: { x: 0, y: 500, width: 10, height: 200 } }), { code: 'foreign_extension_frame', message: /not all in view/ });
  during = () => { world.shown = { ...VIEW, top: 40 }; };
  await assert.rejects(capture({ ...FRAME, clip: { x: 0, y: 0, width: 10, height: 20 } }), { code: 'not_stable' });
});

test('the failure of the browser to give a picture is told with its words', async () => {
  chrome.tabs.captureVisibleTab = async () => { throw new Error('image readback failed'); };
  await assert.rejects(capture(), { code: 'foreign_extension_frame', message: /image readback failed/ });
});
