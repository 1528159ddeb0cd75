import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { lookAtPage, withAttachedPage } = await import('../../src/browser/attached_page.js');
const { cdp, handleDetach } = await import('../../src/browser/debugger.js');
const { policy, tabs } = await import('../../src/browser/state.js');

/** The page as the debugger has it; the list of tabs has another one. */
let url;
let begun;
const context = { tab_id: 7, timeout_ms: 5_000, onStop() {}, begin() { begun = true; }, admitAct() {} };

beforeEach(async () => {
  handleDetach({ tabId: 7 }, 'target_closed');
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  installChrome();
  url = 'https://new.test/page';
  begun = false;
  const tab = { id: 7, windowId: 1, url: 'https://old.test/', title: '', active: true, status: 'complete', discarded: false };
  Object.assign(chrome.tabs, { query: async () => [tab], get: async () => tab });
  chrome.debugger = {
    attach: async () => {},
    sendCommand: async (_, method) => {
      if (method === 'Page.getFrameTree') return { frameTree: { frame: { id: 'F', url } } };
      if (method === 'Runtime.evaluate') throw new Error('{"code":-32000,"message":"Cannot find context with specified id"}');
      return {};
    },
  };
  chrome.webNavigation.getFrame = async () => ({ documentId: 'D', url });
  policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny: ['bad.test'] });
  await tabs.load();
});

test('which page was read, the debugger says, and not the list of tabs', async () => {
  const { value, url: read } = await lookAtPage(context, async () => 'seen');
  assert.deepEqual([value, read, begun], ['seen', 'https://new.test/page', true]);
});

test('a page of a denied site is not read, and none of the read is told if it has come meanwhile', async () => {
  await assert.rejects(lookAtPage(context, async () => { url = 'https://bad.test/'; }), { code: 'blocked_by_policy', more: { mayHaveRun: true } });
  begun = false;
  await assert.rejects(lookAtPage(context, async () => assert.fail('read')), { code: 'blocked_by_policy' });
  assert.equal(begun, false);
});

test('a failure of the protocol is told in words for agents', async () => {
  await assert.rejects(withAttachedPage(context, (tabId) => cdp(tabId, 'Runtime.evaluate')), { code: 'navigation_interrupted' });
});
