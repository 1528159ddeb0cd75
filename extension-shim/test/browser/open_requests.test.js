import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { DOCUMENT_ANSWERS_KEPT, OPEN_REQUESTS_COUNTED, OPEN_REQUESTS_FLOOD, OPEN_URL_KEPT } from '../../src/browser/limits.js';
import { OpenRequests } from '../../src/browser/open_requests.js';

let now;
let sent;
let quiet;
let requests;
let isRecorded;

beforeEach(async () => {
  now = 0;
  sent = [];
  quiet = [];
  isRecorded = false;
  requests = new OpenRequests(async (tabId, method) => { sent.push(method); }, () => isRecorded, () => now);
  requests.onQuiet = (tabId) => quiet.push(tabId);
  await requests.count(7);
});

const begin = (requestId, { type = 'Fetch', url = `http://a/${requestId}`, loaderId = 'L' } = {}) =>
  requests.handleEvent(7, 'Network.requestWillBeSent', { requestId, type, loaderId, request: { url } });
const end = (requestId) => requests.handleEvent(7, 'Network.loadingFinished', { requestId });

test('a network is idle for as long as no request is under way and none has ended', () => {
  now = 600;
  assert.deepEqual(requests.now(7), { urls: [], quietMs: 600 });
  begin('1');
  begin('2');
  now = 5_000;
  end('1');
  assert.deepEqual(requests.now(7), { urls: ['http://a/2'], quietMs: 0 });
  requests.handleEvent(7, 'Network.loadingFailed', { requestId: '2' });
  assert.deepEqual(quiet, [7]);
  now = 5_200;
  assert.deepEqual(requests.now(7), { urls: [], quietMs: 200 });
});

test('the end of a request from before the count shows that the network was busy', () => {
  now = 400;
  end('unknown');
  now = 500;
  assert.equal(requests.now(7).quietMs, 100);
});

test('streams, sockets and texts in the page are no requests that end', () => {
  begin('1', { type: 'EventSource' });
  begin('2', { url: 'data:,x' });
  assert.deepEqual(requests.now(7).urls, []);
});

test('the requests of a page that was left are over', () => {
  begin('1');
  begin('2', { loaderId: 'next' });
  requests.handleEvent(7, 'Page.frameNavigated', { frame: { loaderId: 'next' } });
  assert.deepEqual(requests.now(7).urls, ['http://a/2']);
});

const flood = () => { for (let at = 0; at <= OPEN_REQUESTS_FLOOD; at += 1) end(String(at)); };

test('a page that floods the worker is not counted any more', () => {
  flood();
  assert.deepEqual(sent, ['Network.enable', 'Network.disable']);
  assert.equal(requests.now(7), null);
});

test('a flood does not switch off the source of a recording', () => {
  isRecorded = true;
  flood();
  assert.deepEqual(sent, ['Network.enable']);
  assert.equal(requests.now(7), null);
});

test('a page that ends none of its requests is not counted any more, however slowly it sends them', () => {
  for (let at = 0; at <= OPEN_REQUESTS_COUNTED + 1; at += 1) {
    now += 10_000;
    begin(String(at));
  }
  assert.deepEqual(sent, ['Network.enable', 'Network.disable']);
  assert.equal(requests.now(7), null);
});

test('of a long URL only the beginning is kept', () => {
  begin('1', { url: `http://a/${'x'.repeat(1_000_000)}` });
  assert.ok(requests.now(7).urls[0].length <= OPEN_URL_KEPT + 1);
});

test('a tab that is not counted is not idle', () => {
  requests.forget(7);
  assert.equal(requests.now(7), null);
});

const answer = (loaderId, status, { url = 'http://a/', type = 'Document' } = {}) => requests.handleEvent(7, 'Network.responseReceived', { requestId: loaderId, loaderId, type, response: { url, status } });
const show = (loaderId, parentId) => requests.handleEvent(7, 'Page.frameNavigated', { frame: { id: 'F', loaderId, url: 'http://a/', urlFragment: '#b', ...(parentId && { parentId }) } });

test('the status of a page is that of the answer which has become the page', () => {
  assert.equal(requests.awaitPage(7), true);
  answer('L1', 404);
  answer('frame', 500);
  answer('L1', 200, { type: 'Script' });
  assert.equal(requests.pageAnswer(7), null, 'it is not shown yet');
  show('frame', 'F');
  assert.equal(requests.pageAnswer(7), null, 'a frame is no page');
  show('L1');
  assert.deepEqual(requests.pageAnswer(7), { url: 'http://a/#b', status: 404 });
});

test('the status of a former page, of a file, of one kept for going back and of a tab that nobody hears is not known', () => {
  answer('L1', 200);
  show('L1');
  requests.awaitPage(7);
  assert.equal(requests.pageAnswer(7), null, 'of the former page');
  show('kept');
  assert.equal(requests.pageAnswer(7), null, 'its answer was not heard');
  answer('L2', 200, { url: 'file:///home/a' });
  show('L2');
  assert.equal(requests.pageAnswer(7), null, 'no server has answered');
  assert.equal(requests.awaitPage(8), false);
  assert.equal(requests.pageAnswer(8), null);
});

test('of the answers for frames only so many are kept', () => {
  for (let at = 0; at <= DOCUMENT_ANSWERS_KEPT; at += 1) answer(`L${at}`, 200);
  show('L0');
  assert.equal(requests.pageAnswer(7), null);
  show('L1');
  assert.equal(requests.pageAnswer(7)?.status, 200);
});
