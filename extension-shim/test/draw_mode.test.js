// The worker's side of draw mode: who is told what, and what outlives a worker.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { goldenFrames, installChrome, settled, shape } from './support/fakes.js';

const { session } = installChrome();
const { DrawMode } = await import('../draw/draw_mode.js');
const { cancelledFrames, framesOf } = await import('../draw/frames.js');
const { draw_mode } = await import('../actions/draw_mode.js');
const { DRAW_ACK_MS } = await import('../limits.js');
const { policy } = await import('../state.js');

policy.hear({ type: 'site_rules', allow: [], deny: [] });

const golden = goldenFrames('from_extension');
const TAB = { id: 7, windowId: 1, url: 'http://127.0.0.1:8000/', title: 'Home Page', active: true };
const SENDER = { tab: TAB, frameId: 0 };
const ASK = { correlation_id: 'ann_1', session: 'checkout' };
const { type: _type, tab_id: _tab, annot_session_name: _name, correlation_id: _id, ...DRAWING } = golden.annotations;

let sent;
let isConnected;
let inPage;

/** A worker that has just begun. */
function worker() {
  const made = new DrawMode();
  made.send = (text) => {
    if (isConnected) sent.push(JSON.parse(text));
    return isConnected;
  };
  return made;
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(console, 'debug', () => {});
  [sent, isConnected, inPage] = [[], true, { open: false, injected: 0, documentId: 'D1', withdrawn: [] }];
  session.data = {};
  chrome.scripting = {
    async executeScript({ target, files, args: [over] = [] }) {
      if (Array.isArray(over)) {
        if (inPage.broken) throw new Error('Frame is blocked.');
        inPage.withdrawn.push([target.tabId, over]);
        return [{}];
      }
      if (files) {
        inPage.injected += 1;
        return [{}];
      }
      if (inPage.injected === 0) return [{ result: null, documentId: inPage.documentId }];
      const was_open = inPage.open;
      inPage.open = true;
      return [{ result: { was_open, url: TAB.url, title: TAB.title }, documentId: inPage.documentId }];
    },
  };
  chrome.debugger = { attach: async () => {}, sendCommand: async () => ({}), detach: async () => {} };
});

const send = (drawMode, asks) => drawMode.handleMessage({ draw: 'send', drawing: DRAWING, asks }, SENDER);

test('a frame of the overlay\'s name in the page is not taken for the overlay', async () => {
  const open = mock.fn(() => ({}));
  let isOurs = false;
  chrome.scripting.executeScript = async ({ func, files, args }) => {
    if (files) isOurs = true;
    else if (isOurs) return [{ result: { was_open: false, url: TAB.url, title: TAB.title }, documentId: 'D1' }];
    return [{ result: func?.(...args) }];
  };
  // As names of elements do, it stands beside what the world itself has.
  Object.defineProperty(Object.prototype, 'tabwireDraw', { value: { open }, configurable: true });
  try {
    assert.equal((await worker().open(TAB, ASK)).url, TAB.url);
  } finally {
    delete Object.prototype.tabwireDraw;
  }
  assert.deepEqual([open.mock.callCount(), isOurs], [0, true]);
});

// ── Frames ──

test('a drawing is told as the golden frame has it', () => {
  const [frame] = framesOf(DRAWING, [{ ...ASK, correlation_id: golden.annotations.correlation_id }], 7);
  assert.match(frame.drawing_id, /^[0-9a-f]{32}$/);
  assert.deepEqual({ ...frame, drawing_id: golden.annotations.drawing_id }, golden.annotations);
});

test('nothing drawn is told as the golden frame has it', () => {
  const { correlation_id, page_url } = golden['annotations.cancelled'];
  const [frame] = cancelledFrames([{ correlation_id }], { page_url }, 7, 'page_closed');
  assert.deepEqual(shape(frame), shape(golden['annotations.cancelled']));
  assert.match(frame.drawing_id, /^[0-9a-f]{32}$/);
});

test('the newest wait of each session gets the drawing, under an id of its own that is the same each time', () => {
  const asks = [{ correlation_id: 'a' }, { correlation_id: 'b', session: 's' }, { correlation_id: 'c' }];
  const frames = framesOf(DRAWING, asks, 7);
  assert.deepEqual(frames.map(({ correlation_id, annot_session_name }) => [correlation_id, annot_session_name]), [['c', undefined], ['b', 's']]);
  assert.notEqual(frames[0].drawing_id, frames[1].drawing_id);
  assert.deepEqual(framesOf(DRAWING, asks, 7), frames);
});

test('what a person draws unasked names no wait', () => {
  const [frame] = framesOf(DRAWING, [], 7);
  assert.equal('correlation_id' in frame, false);
});

// ── Opening ──

test('the action opens the overlay once, and finds it open then', async () => {
  const drawn = (id) => draw_mode({ correlation_id: id }, { tab_id: 7 });
  const [first, second] = await Promise.all([drawn('ann_1'), drawn('ann_2')]);
  assert.deepEqual(first, { value: { open: true, was_open: false, url: TAB.url, title: TAB.title }, type: 'object', origin: 'http://127.0.0.1:8000' });
  assert.deepEqual([second.value.was_open, inPage.injected], [true, 1]);
});

test('what it is not given, and pages that it cannot reach, are refused', async () => {
  await assert.rejects(draw_mode({}, { tab_id: 7 }), { code: 'invalid_params' });
  const drawMode = worker();
  await assert.rejects(drawMode.open({ ...TAB, url: 'chrome://version/' }, ASK), { code: 'restricted_page' });
  chrome.scripting.executeScript = async () => { throw new Error('The extensions gallery cannot be scripted.'); };
  await assert.rejects(drawMode.open(TAB, ASK), { code: 'restricted_page', message: /gallery/ });
});

test('the popup opens it where the person is, or hears why not', async () => {
  const popup = { url: 'chrome-extension://x/popup.html' };
  assert.equal((await worker().handleMessage({ draw: 'open' }, popup)).was_open, false);
  chrome.scripting.executeScript = async () => { throw new Error('no'); };
  assert.equal((await worker().handleMessage({ draw: 'open' }, popup)).error.code, 'restricted_page');
});

test('other questions are not its own, and those of frames are not served', async () => {
  for (const ask of [undefined, null, 'x', { ask: 'state' }]) assert.equal(worker().handleMessage(ask, SENDER), undefined);
  assert.equal(worker().handleMessage({ draw: 'picture' }, { tab: TAB, frameId: 3 }), undefined);
  const answer = await worker().handleMessage({ draw: 'made up' }, SENDER);
  assert.equal(answer.error.code, 'internal');
});

// ── Delivering ──

test('a drawing counts as kept when the daemon has said so of every frame', async () => {
  const drawMode = worker();
  const answer = send(drawMode, [{ correlation_id: 'a' }, { correlation_id: 'b', session: 's' }]);
  await settled();
  assert.equal(sent.length, 2);
  let end;
  answer.then((said) => { end = said; });
  drawMode.handleAck({ type: 'annotations_ack', drawing_id: sent[0].drawing_id });
  await settled();
  assert.equal(end, undefined);
  drawMode.handleAck({ type: 'annotations_ack', drawing_id: sent[1].drawing_id });
  assert.deepEqual(await answer, { state: 'kept' });
});

test('a refusal goes to the page that has drawn', async () => {
  const drawMode = worker();
  const answer = send(drawMode, [ASK]);
  await settled();
  const error = { code: 'too_large', message: '9 MiB' };
  drawMode.handleAck({ type: 'annotations_ack', drawing_id: sent[0].drawing_id, error });
  assert.deepEqual(await answer, { state: 'refused', error });
});

test('a connection that comes back carries what was not acknowledged, and in the end the page is asked again', async () => {
  isConnected = false;
  const drawMode = worker();
  const answer = send(drawMode, [ASK]);
  await settled();
  assert.deepEqual(sent, []);
  isConnected = true;
  drawMode.handleConnected();
  drawMode.handleConnected();
  assert.deepEqual(sent.map(({ type }) => type), ['annotations', 'annotations']);
  assert.equal(sent[0].drawing_id, sent[1].drawing_id);
  mock.timers.tick(DRAW_ACK_MS);
  assert.deepEqual(await answer, { state: 'waiting' });
});

test('a drawing that is kept ends its overlay: nothing is told of its page any more', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  const answer = send(drawMode, [ASK]);
  await settled();
  drawMode.handleAck({ type: 'annotations_ack', drawing_id: sent[0].drawing_id });
  await answer;
  await drawMode.handleGone(7);
  assert.equal(sent.length, 1);
});

// ── Nothing drawn ──

test('whoever waits is told that the person cancelled, once it is acknowledged no more', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  await drawMode.handleMessage({ draw: 'cancel', asks: [ASK, { correlation_id: 'ann_2' }], page_url: TAB.url, page_title: 'x' }, SENDER);
  assert.deepEqual(sent.map(({ correlation_id, cancelled }) => [correlation_id, cancelled]), [['ann_1', 'user'], ['ann_2', 'user']]);
  drawMode.handleAck({ type: 'annotations_ack', drawing_id: sent[0].drawing_id });
  await settled();
  const next = worker();
  next.handleConnected();
  await settled();
  assert.deepEqual(sent.slice(2), [sent[1]], 'by the next worker, too');
});

test('nobody is told of what nobody waited for', async () => {
  const drawMode = worker();
  await drawMode.open(TAB);
  await drawMode.handleGone(7);
  assert.deepEqual(sent, []);
});

test('a page that goes away is told of by whichever worker lives then', async () => {
  await worker().open(TAB, ASK);
  const next = worker();
  await next.handleCommitted({ tabId: 7, frameId: 0, documentId: 'D1' });
  await next.handleCommitted({ tabId: 7, frameId: 3, documentId: 'D2' });
  assert.deepEqual(sent, [], 'the page itself, and a frame in it');
  await next.handleCommitted({ tabId: 7, frameId: 0, documentId: 'D2' });
  await next.handleGone(7);
  assert.deepEqual(sent.map(({ cancelled, correlation_id, annot_session_name }) => [cancelled, correlation_id, annot_session_name]), [['page_closed', 'ann_1', 'checkout']]);
});

test('a page that went away while no worker lived is told of by the next', async () => {
  await worker().open(TAB, ASK);
  chrome.webNavigation = { getFrame: async () => ({ documentId: 'D1' }) };
  await worker().restore();
  assert.deepEqual(sent, [], 'it is still there');
  for (const frame of [{ documentId: 'D2' }, null]) {
    await worker().open(TAB, ASK);
    chrome.webNavigation.getFrame = async () => frame;
    await worker().restore();
    assert.deepEqual(sent.splice(0).map(({ cancelled }) => cancelled), ['page_closed']);
  }
});

test('a page that goes away while its drawing is on its way takes nothing back', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  send(drawMode, [ASK]);
  await settled();
  await drawMode.handleGone(7);
  assert.deepEqual(sent.map(({ cancelled }) => cancelled), [undefined]);
});

test('what could not be stored stays owed', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  await drawMode.handleGone(7);
  drawMode.handleAck({ type: 'annotations_ack', drawing_id: sent[0].drawing_id, error: { code: 'storage_unavailable', message: '' } });
  drawMode.handleConnected();
  await settled();
  assert.equal(sent.length, 2);
});

// ── Nobody waits any more ──

const end = async (drawMode, ...correlation_ids) => {
  drawMode.handleOver({ type: 'annotations_over', correlation_ids });
  await settled();
};

test('the page that was opened for a wait hears of its end, by whichever worker lives then', async () => {
  await worker().open(TAB, ASK);
  const next = worker();
  await end(next, 'ann_9', 'ann_1');
  assert.deepEqual(inPage.withdrawn, [[7, ['ann_9', 'ann_1']]]);
  assert.deepEqual(next.waits(), []);
  await next.handleGone(7);
  assert.deepEqual(sent, [], 'and nobody hears of the page any more');
});

test('a wait of another page is no page\'s to hear of, and one that is left is told of its page', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  await drawMode.open(TAB, { correlation_id: 'ann_2' });
  await end(drawMode, 'ann_3');
  assert.deepEqual(inPage.withdrawn, []);
  await end(drawMode, 'ann_1');
  assert.deepEqual(drawMode.waits(), ['ann_2']);
  await drawMode.handleGone(7);
  assert.deepEqual(sent.map(({ correlation_id }) => correlation_id), ['ann_2']);
});

test('a wait that ends while its overlay is being opened is known to each connection, and ends it', async () => {
  const drawMode = worker();
  const opened = drawMode.open(TAB, ASK);
  assert.deepEqual(drawMode.waits(), ['ann_1']);
  await end(drawMode, 'ann_1');
  await opened;
  await settled();
  assert.deepEqual(inPage.withdrawn, [[7, ['ann_1']]]);
  assert.deepEqual(drawMode.waits(), []);
});

test('a page that could not be told is asked for again', async () => {
  mock.method(console, 'warn', () => {});
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  inPage.broken = true;
  await end(drawMode, 'ann_1');
  assert.deepEqual(drawMode.waits(), ['ann_1']);
});
