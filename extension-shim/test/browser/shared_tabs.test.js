// Which tabs the person shares with agents, and until when.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { SharedTabs } from '../../src/browser/shared_tabs.js';
import { installChrome, settled } from '../support/fakes.js';

let shared;
let told;
let urls;

function begin() {
  shared = new SharedTabs();
  told = [];
  shared.onChange = (ids) => told.push(ids);
}

beforeEach(() => {
  installChrome();
  const kept = {};
  chrome.storage.session.get = async (key) => structuredClone({ [key]: kept[key] });
  chrome.storage.session.set = async (more) => { Object.assign(kept, structuredClone(more)); };
  urls = { 7: 'https://shop.test/a', 8: 'http://news.test/', 9: 'chrome://settings/' };
  chrome.tabs.get = async (id) => {
    if (!(id in urls)) throw new Error('No tab');
    return { id, url: urls[id] };
  };
  begin();
});

const committed = (tabId, url, more) => shared.handleCommitted({ tabId, frameId: 0, url, ...more });

test('the person shares a tab and takes it back, and each is told', async () => {
  assert.equal(await shared.share(7), true);
  assert.equal(await shared.share(8), true);
  await shared.takeBack(7);
  assert.deepEqual(told, [[7], [7, 8], [8]]);
});

test('a tab without a page of a web site is not shared', async () => {
  assert.equal(await shared.share(9), false);
  assert.equal(await shared.share(77), false);
  assert.deepEqual(told, []);
});

test('sharing ends at once when the tab goes to another site, and at no page of the same one', async () => {
  await shared.share(7);
  committed(7, 'https://shop.test/b');
  committed(7, 'https://evil.test/', { frameId: 3 });
  committed(7, 'https://evil.test/', { documentLifecycle: 'prerender' });
  committed(8, 'https://evil.test/');
  assert.deepEqual(shared.list, [7]);
  committed(7, 'https://shop.test.evil.test/');
  assert.deepEqual([shared.list, told.at(-1)], [[], []], 'before anything else hears of the page');
});

for (const url of ['http://shop.test/a', 'https://shop.test:8443/', 'about:blank', 'data:text/html,x', 'file:///etc/passwd']) {
  test(`${url} is another site`, async () => {
    await shared.share(7);
    committed(7, url);
    assert.deepEqual(shared.list, []);
  });
}

test('sharing ends with the tab, and goes on under its new id', async () => {
  await shared.share(7);
  await shared.handleReplaced(17, 7);
  assert.deepEqual(shared.list, [17]);
  shared.handleRemoved(17);
  await settled();
  assert.deepEqual(shared.list, []);
});

test('the next worker goes on, but for a tab that went elsewhere meanwhile or is closed', async () => {
  await shared.share(7);
  await shared.share(8);
  urls[11] = 'https://a.test/';
  await shared.share(11);
  urls[8] = 'https://elsewhere.test/';
  delete urls[11];
  begin();
  await shared.restore();
  assert.deepEqual(shared.list, [7]);
});

test('a navigation that wakes the worker ends the sharing of an earlier one', async () => {
  await shared.share(7);
  begin();
  committed(7, 'https://evil.test/');
  await settled();
  await settled();
  assert.deepEqual(shared.list, []);
});

test('after a command the browser is asked where the tab is: its event may be late', async () => {
  await shared.share(7);
  const origin = shared.sharedAt(7);
  assert.equal(await shared.confirm(7, origin), true);
  assert.equal(shared.sharedAt(8), undefined, 'it was never shared');
  urls[7] = 'https://evil.test/';
  assert.equal(await shared.confirm(7, origin), false);
  assert.deepEqual([shared.list, told.at(-1)], [[], []]);
  assert.equal(await shared.confirm(7, origin), false, 'nor once it is known');
  await shared.share(7);
  assert.equal(await shared.confirm(7, origin), false, 'the person has shared the next page');
  assert.deepEqual(shared.list, [7]);
  urls[7] = `${origin}/again`;
  assert.equal(await shared.confirm(7, origin), false, 'it was shared at another site meanwhile');
  await shared.share(8);
  delete urls[8];
  assert.equal(await shared.confirm(8, 'https://a.test'), true, 'a closed tab shows nothing more');
});
