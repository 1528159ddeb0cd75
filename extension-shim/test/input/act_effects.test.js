// What an act has set off, and how long its answer waits for it.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { policy, tabDownloads, tabs } = await import('../../src/browser/state.js');
const { actEffects } = await import('../../src/input/act_effects.js');

const PAGE = { frameId: 0, parentFrameId: -1, documentId: 'D', url: 'https://shop.test/a' };
const never = new AbortController().signal;
let shown;
let watch;

beforeEach(() => {
  installChrome();
  shown = { documentId: 'D', url: 'https://shop.test/a' };
  chrome.webNavigation.getFrame = async () => shown;
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  watch = actEffects.watch(7, 7, true);
  watch.beginIn(PAGE);
  policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny: ['bank.test'] });
});

const told = () => watch.settled(5_000, never);
const say = (method, params) => actEffects.handleDebuggerEvent({ tabId: 7 }, method, params);
const frame = (more) => ({ tabId: 7, frameId: 0, url: 'https://shop.test/b', ...more });

test('an act that sets nothing off is over at once', async () => {
  assert.deepEqual(await told(), {});
});

test('a page that was asked for is waited for from the request until its document is there', async () => {
  say('Page.frameRequestedNavigation', { disposition: 'currentTab', reason: 'anchorClick', url: 'https://shop.test/b' });
  const done = mock.fn();
  const waiting = told().then(done);
  await settled();
  actEffects.handleBeforeNavigate(frame());
  await settled();
  assert.equal(done.mock.callCount(), 0);
  shown = { documentId: 'E', url: 'https://shop.test/b' };
  actEffects.handleDomReady(frame());
  await waiting;
  assert.deepEqual(done.mock.calls[0].arguments, [{ navigated: 'https://shop.test/b' }]);
});

test('a page that does not come in time is told as loading, and one that fails with its reason', async () => {
  actEffects.handleBeforeNavigate(frame());
  const late = told();
  await settled();
  mock.timers.tick(5_000);
  assert.deepEqual(await late, { loading: 'https://shop.test/b' });
  actEffects.handleErrorOccurred(frame({ error: 'net::ERR_NAME_NOT_RESOLVED' }));
  assert.deepEqual(await told(), { navigation_failed: 'https://shop.test/b did not load: net::ERR_NAME_NOT_RESOLVED' });
});

test('the URL of a denied site is told neither while it loads nor when it has failed', async () => {
  const url = 'https://bank.test/account?token=1';
  actEffects.handleBeforeNavigate(frame({ url }));
  const late = told();
  await settled();
  mock.timers.tick(5_000);
  await assert.rejects(late, { code: 'blocked_by_policy', more: { mayHaveRun: true } });
  actEffects.handleErrorOccurred(frame({ url, error: 'net::ERR_FAILED' }));
  assert.deepEqual(await told(), { navigation_failed: 'a page that agents may not see did not load: net::ERR_FAILED' });
});

test('frames that load by themselves are not waited for, and those that a link is for are', async () => {
  actEffects.handleBeforeNavigate(frame({ frameId: 4, url: 'https://ads.test/' }));
  assert.deepEqual(await told(), {});
  say('Page.frameRequestedNavigation', { disposition: 'currentTab', reason: 'anchorClick', url: 'https://shop.test/b' });
  actEffects.handleBeforeNavigate(frame({ frameId: 5 }));
  const waiting = told();
  await settled();
  actEffects.handleDomReady(frame({ frameId: 5 }));
  assert.deepEqual(await waiting, {});
});

test('tabs are told by their numbers, and the tab that the person was in is shown again', async () => {
  const shows = mock.fn(async () => {});
  Object.assign(chrome.tabs, { get: async () => ({ active: true, windowId: 1 }), update: shows });
  let isTold;
  mock.method(tabs, 'tellNow', () => new Promise((resolve) => { isTold = resolve; }));
  watch = actEffects.watch(7, 3, true);
  say('Page.windowOpen', { url: 'https://shop.test/b' });
  const waiting = told();
  actEffects.handleNewTarget({ sourceTabId: 7, tabId: 9 });
  await settled();
  assert.equal(await Promise.race([waiting, 'not before the daemon knows the tab']), 'not before the daemon knows the tab');
  isTold();
  assert.deepEqual(await waiting, { new_tab: 9 });
  tabs.tellNow.mock.restore();
  assert.deepEqual(shows.mock.calls.map(({ arguments: given }) => given), [[3, { active: true }]]);
  actEffects.handleNewTarget({ sourceTabId: 7, tabId: 10 });
  assert.deepEqual(await told(), { new_tab: [9, 10] });
});

test('a tab that was refused is waited for no longer than it takes to come', async () => {
  say('Page.windowOpen', { url: 'https://shop.test/b' });
  const waiting = told();
  await settled();
  mock.timers.tick(500);
  assert.deepEqual(await waiting, {});
});

const download = (url, finalUrl = url) => ({ id: 1, url, finalUrl, filename: '/home/x/a.csv', mime: 'text/csv', totalBytes: 3, referrer: '' });

test('a load that becomes a download is one, and a download of another site is not', async () => {
  actEffects.handleBeforeNavigate(frame());
  actEffects.handleErrorOccurred(frame({ error: 'net::ERR_ABORTED' }));
  const item = download('https://cdn.test/a.csv');
  actEffects.handleDownload({ ...item, referrer: 'https://other.test/' });
  const waiting = told();
  actEffects.handleDownload({ ...item, filename: '', referrer: 'https://shop.test/a' });
  await settled();
  actEffects.handleDownloadChanged({ id: 1, filename: { current: item.filename } });
  assert.deepEqual((await waiting).download, { file_name: 'a.csv', url: 'https://cdn.test/a.csv', mime_type: 'text/csv', bytes: 3 });
});

test('a download without a referrer is that of the tab in which the debugger has seen it begin', async () => {
  const url = 'https://cdn.test/report.csv';
  actEffects.handleDownload(download(url));
  assert.deepEqual(await told(), {}, 'the person may have begun it, in any tab');
  tabDownloads.handleEvent(8, 'Page.downloadWillBegin', { url });
  actEffects.handleDownload(download(url));
  assert.deepEqual(await told(), {}, 'another tab has begun it');
  tabDownloads.handleEvent(7, 'Page.downloadWillBegin', { url });
  actEffects.handleDownload(download('https://shop.test/redirect', url));
  assert.equal((await told()).download.url, url);
});

test('whoever may not see every tab is told of no download by its referrer', async () => {
  watch.end();
  watch = actEffects.watch(7, 7, false);
  watch.beginIn(PAGE);
  const ofSite = { ...download('https://shop.test/bill.pdf'), referrer: 'https://shop.test/a' };
  actEffects.handleDownload(ofSite);
  assert.deepEqual(await told(), {}, 'another tab of the site may have begun it');
  tabDownloads.handleEvent(7, 'Page.downloadWillBegin', { url: 'https://shop.test/bill.pdf' });
  actEffects.handleDownload(ofSite);
  assert.equal((await told()).download.url, 'https://shop.test/bill.pdf');
});

test('a client that may not see every tab any more is told of no download from before', async () => {
  const begun = (id, seesAll) => {
    const url = `https://cdn.test/${id}`;
    const end = tabDownloads.followAct(9, 'work·a', seesAll);
    tabDownloads.handleEvent(9, 'Page.downloadWillBegin', { url });
    const owned = tabDownloads.handleCreated({ ...download(url), id }, []);
    end();
    return owned;
  };
  chrome.downloads = { search: async ({ id }) => [{ ...download(`https://cdn.test/${id}`), id }] };
  await begun(1, true);
  await begun(2, false);
  const ids = async (seesAll) => (await tabDownloads.ofClient('work·a', seesAll)).map(({ id }) => id);
  assert.deepEqual(await ids(false), [2]);
  assert.deepEqual(await ids(true), [2, 1]);
  assert.deepEqual(await tabDownloads.ofClient('work', true), []);
});

test('a download of the URL that a link was for is told, also if a new tab was for it', async () => {
  const url = 'https://cdn.test/export';
  say('Page.frameRequestedNavigation', { disposition: 'newTab', reason: 'anchorClick', url });
  const waiting = told();
  actEffects.handleDownload(download(url));
  await settled();
  mock.timers.tick(500);
  assert.equal((await waiting).download.url, url);
});

test('a page that asks before it is left stays, and says so', async () => {
  say('Page.frameRequestedNavigation', { disposition: 'currentTab', reason: 'scriptInitiated', url: 'https://shop.test/b' });
  say('Page.javascriptDialogOpening', { type: 'beforeunload', message: '' });
  assert.match((await told()).navigation_failed, /asks before it is left/);
});

test('after its end an act is not told what happens in its tab', async () => {
  watch.end();
  actEffects.handleBeforeNavigate(frame());
  assert.deepEqual(await told(), {});
});
