// A tab for real input: one document in the background, and a debugger that keeps what it is sent.
import { mock } from 'node:test';
import { installChrome } from './fakes.js';
import { installDocuments } from './fake_documents.js';

installChrome();
const { handleDetach } = await import('../../src/browser/debugger.js');
const { policy, tabs } = await import('../../src/browser/state.js');

const TARGET = { id: 1, role: 'button', name: 'Here', count: 1, place: -1 };

/**
 * @param {Record<string, any>} [world] further answers of the document, which has one element
 * @returns {Promise<{sent: [string, any][], abort: AbortController, context: object}>} `sent`: protocol commands and their parameters
 */
export async function installActs(world = {}) {
  handleDetach({ tabId: 7 }, 'target_closed');
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  installChrome();
  Object.assign(chrome.windows, { get: async () => ({ focused: true }) });
  Object.assign(chrome.tabs, { get: async () => ({ id: 7, windowId: 1, active: false }) });
  const sent = [];
  chrome.debugger = {
    attach: async () => {},
    sendCommand: async (_, method, params) => {
      sent.push([method, params]);
      return { frameTree: { frame: { id: 'F', url: 'https://page.test/' } } };
    },
  };
  installDocuments([{ frameId: 0, documentId: 'D', world: Object.assign(world, {
    find: { total: 1, matches: [{ ...TARGET, more: '', isVisible: true, isExact: true }], count: 1, place: -1 },
    check: { ...TARGET, verdict: 'ready', tag: 'div', box: [0, 0, 20, 20], point: { x: 10, y: 10 } },
    at: { hit: TARGET, count: 1 }, landed: { events: {}, focus: null, count: 1, isThere: true, states: [] }, view: { width: 500, height: 500 },
  }) }]);
  policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny: [] });
  await tabs.load();
  const abort = new AbortController();
  return { sent, abort, context: { tab_id: 7, timeout_ms: 5_000, client: '', seesAll: true, sees: () => true, hides: () => false, noteOpened() {}, signal: abort.signal, begin: () => abort.signal.throwIfAborted(), onStop() {} } };
}
