// What an act switches on in a tab, and off again.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { handleDetach } = await import('../../src/browser/debugger.js');
const { policy, tabs } = await import('../../src/browser/state.js');
const { withInput } = await import('../../src/input/session.js');

const context = { tab_id: 7, timeout_ms: 5_000, client: '', signal: new AbortController().signal, begin() {}, onStop() {} };
let choosers;

beforeEach(async () => {
  handleDetach({ tabId: 7 }, 'target_closed');
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  installChrome();
  choosers = [];
  chrome.debugger = {
    attach: async () => {},
    sendCommand: async (_, method, params) => { if (method === 'Page.setInterceptFileChooserDialog') choosers.push(params.enabled); },
  };
  policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny: [] });
  await tabs.load();
});

test('an act that finds its tab between two pages lets the person have file choosers again', async () => {
  chrome.webNavigation = { getFrame: async () => null, getAllFrames: async () => null };
  await assert.rejects(withInput(context, {}, async () => assert.fail('acted')), { code: 'navigation_interrupted' });
  assert.deepEqual(choosers, [true, false]);
});
