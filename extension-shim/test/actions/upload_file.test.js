import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome } from '../support/fakes.js';
import { installDocuments } from '../support/fake_documents.js';

installChrome();
const { actions } = await import('../../src/actions/index.js');
const { handleDetach } = await import('../../src/browser/debugger.js');
const { policy, tabs } = await import('../../src/browser/state.js');

let abort;
let dragged;
let world;

beforeEach(async () => {
  handleDetach({ tabId: 7 }, 'target_closed');
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  installChrome();
  abort = new AbortController();
  dragged = [];
  Object.assign(chrome.windows, { get: async () => ({ focused: true }) });
  Object.assign(chrome.tabs, { get: async () => ({ id: 7, windowId: 1, active: false }) });
  chrome.debugger = {
    attach: async () => {},
    sendCommand: async (_, method, params) => {
      if (method === 'Input.dispatchDragEvent') dragged.push(params.type);
      return { frameTree: { frame: { id: 'F', url: 'https://page.test/' } } };
    },
  };
  const target = { id: 1, role: 'button', name: 'Drop here', count: 1, place: -1 };
  world = {
    find: { total: 1, matches: [{ ...target, more: '', isVisible: true, isExact: true }], count: 1, place: -1 },
    check: { ...target, verdict: 'ready', tag: 'div', box: [0, 0, 20, 20], point: { x: 10, y: 10 } },
    landed: { events: {}, focus: null, count: 1, isThere: true, states: [] },
  };
  installDocuments([{ frameId: 0, documentId: 'D', world }]);
  policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny: [] });
  await tabs.load();
});

const drop = () => actions.upload_file({ target: '#here', paths: ['/shop/cat.png'], drop: true }, {
  tab_id: 7, timeout_ms: 5_000, client: '', signal: abort.signal, begin: () => abort.signal.throwIfAborted(), onStop() {},
  requestFiles: async () => [{ name: 'cat.png', size: 3, path: '/copies/cat.png' }],
});

test('files that are dropped are told as the page has got them', async () => {
  world.dragged = { takes: true, isDropped: true, files: [{ name: 'cat.png', size: 3, type: 'image/png' }] };
  const { value } = await drop();
  assert.deepEqual(value.files, [{ name: 'cat.png', size: 3, type: 'image/png' }]);
  assert.deepEqual(dragged, ['dragEnter', 'dragOver', 'drop']);
});

test('a drop that the page does not take, or that is cancelled on its way, is taken back', async () => {
  world.dragged = { takes: false, isDropped: false, files: [] };
  await assert.rejects(drop(), { code: 'wrong_kind' });
  world.dragged = () => {
    abort.abort(new Error('cancelled'));
    return { takes: true, isDropped: false, files: [] };
  };
  await assert.rejects(drop(), /cancelled/);
  assert.deepEqual(dragged, ['dragEnter', 'dragOver', 'dragCancel', 'dragEnter', 'dragOver', 'dragCancel']);
});
