// The worker's side of draw mode: who is told what, and what outlives a worker.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { goldenFrames, installChrome, settled, shape } from '../support/fakes.js';

const { session } = installChrome();
const { DrawMode } = await import('../../src/draw/draw_mode.js');
const { cancelledFrames, framesOf } = await import('../../src/draw/frames.js');
const { draw_mode } = await import('../../src/actions/draw_mode.js');
const { DRAW_ACK_MS } = await import('../../src/draw/limits.js');
const { policy } = await import('../../src/browser/state.js');

policy.handleRules({ type: 'site_rules', allow: [], deny: [] });

const golden = goldenFrames('from_extension');
const TAB = { id: 7, windowId: 1, url: 'http://127.0.0.1:8000/', title: 'Home Page', active: true };
const ASK = { correlation_id: 'ann_1', session: 'checkout' };
const { type: _type, tab_id: _tab, annot_session_name: _name, correlation_id: _id, ...DRAWING } = golden.annotations;

const PAGE = `chrome-extension://ours/src/draw/page/draw.html?tab=${TAB.id}`;
const DRAW_TAB = 20;
/** The page of the drawing, as the browser names it. */
const SENDER = { tab: { id: DRAW_TAB, url: PAGE }, frameId: 0 };
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAYAAAD0In+KAAAAC0lEQVR4nGNgQAYAAA4AAamRc7EAAAAASUVORK5CYII=';

let sent;
let isConnected;
/** What the browser has open. */
let browser;

/** A worker that has just begun. */
function worker() {
  const made = new DrawMode();
  made.send = (text) => {
    if (isConnected) sent.push(JSON.parse(text));
    return isConnected;
  };
  browser.worker = made;
  return made;
}

/** The page of the drawing loads, if the worker lets it. */
async function load() {
  const answer = await browser.worker.handleMessage({ draw: 'load' }, SENDER);
  browser.hears = answer.error === undefined;
  return answer;
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(console, 'debug', () => {});
  [sent, isConnected] = [[], true];
  browser = { documentId: 'D1', open: new Map([[TAB.id, TAB]]), created: [], told: [], reloaded: [], hears: false };
  session.data = {};
  session.broken = null;
  chrome.webNavigation = { getFrame: async () => browser.documentId && ({ documentId: browser.documentId, url: TAB.url }) };
  Object.assign(chrome.tabs, {
    query: async () => [...browser.open.values()],
    async get(id) {
      if (!browser.open.has(id)) throw new Error(`No tab with id: ${id}.`);
      return browser.open.get(id);
    },
    async create(tab) {
      browser.created.push(tab);
      browser.open.set(DRAW_TAB, { id: DRAW_TAB, windowId: 1, url: tab.url, active: tab.active });
      load();
      return { id: DRAW_TAB };
    },
    update: mock.fn(async (id) => browser.open.get(id)),
    async remove(id) {
      browser.open.delete(id);
      browser.hears = false;
      // The browser tells of it in its own time.
      Promise.resolve().then(() => browser.worker.handleGone(id));
    },
    async sendMessage(id, notice) {
      if (id !== DRAW_TAB || !browser.hears) throw new Error('Could not establish connection. Receiving end does not exist.');
      browser.told.push(notice);
      return true;
    },
    async reload(id) {
      browser.reloaded.push(id);
      browser.hears = true;
    },
  });
  const answers = {
    'Page.captureScreenshot': { data: PICTURE },
    'Page.getLayoutMetrics': { cssVisualViewport: { pageX: 0, pageY: 0, clientWidth: 1, clientHeight: 1 }, visualViewport: { clientWidth: 2 } },
    'Page.getFrameTree': { frameTree: { frame: { id: 'F', url: TAB.url } } },
  };
  chrome.debugger = { attach: async () => {}, sendCommand: async (_, method) => answers[method] ?? {}, detach: async () => {} };
});

const send = (drawMode, asks) => drawMode.handleMessage({ draw: 'send', drawing: DRAWING, asks }, SENDER);
/** What the page has drawn, as it keeps it. */
const draw = () => { session.data[`draw:work:${TAB.id}`] = { marks: [{}], is_begun: true }; };

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

test('the action opens a tab beside the page once, with the picture to draw on, and finds it open then', async () => {
  worker();
  const { drawMode } = await import('../../src/draw/index.js');
  browser.worker = drawMode;
  const drawn = (id) => draw_mode({ correlation_id: id }, { tab_id: 7 });
  const [first, second] = await Promise.all([drawn('ann_1'), drawn('ann_2')]);
  assert.deepEqual(first, { value: { open: true, was_open: false, url: TAB.url, title: TAB.title }, type: 'object', origin: 'http://127.0.0.1:8000' });
  assert.equal(second.value.was_open, true);
  assert.deepEqual(browser.created.map(({ url, active, openerTabId }) => [url, active, openerTabId]), [[PAGE, true, 7]]);
  assert.deepEqual(browser.told, [{ drawing: 'asked', ask: { correlation_id: 'ann_2', styles: false, client: '' } }]);
  assert.deepEqual(session.data['draw:picture:7'], { picture: `data:image/png;base64,${PICTURE}`, width: 1, height: 1 });
  await drawMode.handleMessage({ draw: 'close' }, SENDER);
  assert.deepEqual([...browser.open.keys()], [7]);
  assert.deepEqual(Object.keys(session.data).filter((key) => /picture|work/.test(key)), [], 'nothing of it stays');
});

test('a page that nobody looks at is drawn on in a tab behind', async () => {
  await worker().open({ ...TAB, active: false }, ASK);
  assert.equal(browser.created[0].active, false);
});

test('a window that takes no tab has one of its own beside it', async () => {
  const { create } = chrome.tabs;
  chrome.tabs.create = async () => { throw new Error('Tabs can only be created and moved to windows of type normal.'); };
  chrome.windows.create = async ({ url, focused }) => ({ tabs: [await create({ url, active: focused })] });
  assert.equal((await worker().open(TAB, ASK)).was_open, false);
});

test('what it is not given, and pages that it cannot reach, are refused', async () => {
  await assert.rejects(draw_mode({}, { tab_id: 7 }), { code: 'invalid_params' });
  const drawMode = worker();
  await assert.rejects(drawMode.open({ ...TAB, url: 'chrome://version/' }, ASK), { code: 'restricted_page' });
  chrome.tabs.create = async () => { throw new Error('no'); };
  chrome.windows.create = async () => { throw new Error('The browser is shutting down.'); };
  await assert.rejects(drawMode.open(TAB, ASK), { code: 'internal', message: /shutting down.*try again/ });
  assert.deepEqual(drawMode.waits(), []);
});

test('a picture that another page may be in is not drawn on', async () => {
  const { sendCommand } = chrome.debugger;
  chrome.debugger.sendCommand = async (target, method) => {
    if (method === 'Page.captureScreenshot') browser.documentId = 'D2';
    return sendCommand(target, method);
  };
  await assert.rejects(worker().open(TAB, ASK), { code: 'navigation_interrupted' });
  assert.deepEqual(browser.created, []);
});

test('a picture that there is no room for says what to do', async () => {
  session.broken = new Error('Session storage quota bytes exceeded.');
  await assert.rejects(worker().open(TAB, ASK), { message: /send or cancel another drawing first/ });
});

test('the popup opens it where the person is, or hears why not', async () => {
  const popup = { url: 'chrome-extension://x/popup.html' };
  assert.equal((await worker().handleMessage({ draw: 'open' }, popup)).was_open, false);
  browser.open.set(TAB.id, { ...TAB, url: 'chrome://version/' });
  assert.equal((await worker().handleMessage({ draw: 'open' }, popup)).error.code, 'restricted_page');
});

test('the page of the drawing hears who waits, and no other tab has a part in it', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  assert.deepEqual(await load(), { asks: [ASK], over: [], is_persons: false, page_url: TAB.url, page_title: TAB.title });
  // A copy of the tab, a page of ours in another one, and the popup.
  browser.open.set(21, { id: 21, url: PAGE });
  for (const tab of [{ id: 21, url: PAGE }, TAB, undefined]) {
    for (const ask of [{ draw: 'load' }, { draw: 'send', drawing: DRAWING, asks: [ASK] }, { draw: 'cancel' }, { draw: 'close' }]) {
      assert.equal((await drawMode.handleMessage(ask, { tab })).error.code, 'internal', `${ask.draw} from tab ${tab?.id}`);
    }
  }
  assert.deepEqual([sent, drawMode.waits()], [[], ['ann_1']]);
});

test('other questions are not its own', async () => {
  for (const ask of [undefined, null, 'x', { ask: 'state' }]) assert.equal(worker().handleMessage(ask, SENDER), undefined);
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  assert.equal((await drawMode.handleMessage({ draw: 'made up' }, SENDER)).error.code, 'internal');
});

test('a window that the page opens over the drawing goes behind it, and one that the person opens from the page does not', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  chrome.windows.update = async () => {};
  const shown = () => chrome.tabs.update.mock.calls.filter(({ arguments: [id, { active }] }) => id === DRAW_TAB && active).length;
  for (const [drawn, seen, times] of [[2, 1, 1], [2, 3, 1]]) {
    browser.open.set(DRAW_TAB, { ...browser.open.get(DRAW_TAB), lastAccessed: drawn });
    browser.open.set(TAB.id, { ...TAB, lastAccessed: seen });
    await drawMode.handleOpened(TAB.id);
    assert.equal(shown(), times);
  }
  await drawMode.handleOpened(99);
});

test('the words of an agent come as one line in the order in which they are written, and not without end', async () => {
  const drawMode = worker();
  const asked = [];
  const { drawMode: ours } = await import('../../src/draw/index.js');
  const { open } = ours;
  ours.open = async (tab, ask) => { asked.push(ask); return { was_open: false, url: TAB.url, title: '' }; };
  try {
    const hostile = `Tabwire\u202e: the person\n\n<b>has stopped</b>\u0007\u2066 all${'!'.repeat(1_000)}`;
    await draw_mode({ correlation_id: 'ann_1', prompt: hostile }, { tab_id: 7, client: `Tabwire\u200f\n${'x'.repeat(99)}` });
  } finally {
    ours.open = open;
  }
  const [{ client, prompt }] = asked;
  assert.match(prompt, /^Tabwire : the person <b>has stopped<\/b> all!+…$/);
  assert.ok(prompt.length <= 401 && client.length <= 65, `${prompt.length} ${client.length}`);
  assert.match(client, /^Tabwire x+…$/);
  await assert.rejects(draw_mode({ correlation_id: 'ann_1', prompt: 5 }, { tab_id: 7 }), { code: 'invalid_params' });
  assert.deepEqual(drawMode.requests, []);
});

// ── Requests that are not in front ──

test('a request in a tab that is not in front is told, with the agent and its words, until the person is there', async () => {
  browser.open.set(TAB.id, { ...TAB, active: false });
  browser.open.set(9, { id: 9, windowId: 1, url: 'http://127.0.0.1:8000/else', title: 'Else', active: true });
  chrome.tabs.query = async ({ active } = {}) => [...browser.open.values()].filter((tab) => !active || tab.active);
  chrome.windows.update = mock.fn(async () => {});
  const drawMode = worker();
  const counts = [];
  drawMode.onRequests = (requests) => counts.push(requests.length);
  await drawMode.open(browser.open.get(TAB.id), { ...ASK, client: 'Claude Code 2.1', prompt: 'Circle the button' });
  await settled();
  const told = { tab_id: TAB.id, page_title: 'Home Page', asks: [{ client: 'Claude Code 2.1', prompt: 'Circle the button' }] };
  assert.deepEqual(drawMode.requests, [told]);
  await drawMode.show(TAB.id);
  assert.deepEqual(chrome.tabs.update.mock.calls.at(-1).arguments, [DRAW_TAB, { active: true }]);
  browser.open.set(DRAW_TAB, { ...browser.open.get(DRAW_TAB), active: true });
  browser.open.get(9).active = false;
  drawMode.handleFront();
  await settled();
  assert.deepEqual([drawMode.requests, counts.at(-1)], [[], 0]);
  browser.open.get(DRAW_TAB).active = false;
  browser.open.get(9).active = true;
  await worker().restore();
  await settled();
  assert.deepEqual(browser.worker.requests, [told], 'a new worker knows it');
  await browser.worker.handleMessage({ draw: 'close' }, SENDER);
  await settled();
  assert.deepEqual(browser.worker.requests, []);
  await assert.rejects(browser.worker.show(TAB.id), /any more/);
});

test('a request in a window behind another one is told, and a drawing that nobody asked for is not', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  browser.open.get(DRAW_TAB).windowId = 2;
  chrome.tabs.query = async ({ windowId } = {}) => [...browser.open.values()].filter((tab) => windowId === undefined || tab.windowId === windowId);
  drawMode.handleFront();
  await settled();
  assert.equal(drawMode.requests.length, 1);
  await drawMode.handleMessage({ draw: 'close' }, SENDER);
  browser.open.set(TAB.id, { ...TAB, active: false });
  await drawMode.open(browser.open.get(TAB.id));
  await settled();
  assert.deepEqual(drawMode.requests, []);
  await drawMode.handleMessage({ draw: 'close' }, SENDER);
});

// ── Elements ──

test('the elements are those of the page in the picture, or none', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  const found = { elements: { 1: 'e1' }, element_details: { e1: {} } };
  const { sendCommand } = chrome.debugger;
  chrome.debugger.sendCommand = async (target, method) => (method === 'Runtime.evaluate'
    ? { result: { value: JSON.stringify(found) } } : sendCommand(target, method));
  const ask = () => drawMode.handleMessage({ draw: 'elements', marks: [], styles: false }, SENDER);
  assert.deepEqual(await ask(), found);
  browser.documentId = 'D2';
  assert.deepEqual(await ask(), { elements: {}, near: {}, element_details: {} });
  browser.documentId = 'D1';
  chrome.debugger.sendCommand = async () => { throw new Error('Detached.'); };
  assert.deepEqual(await ask(), { elements: {}, near: {}, element_details: {} }, 'a page that does not answer holds up no words');
});

// ── Delivering ──

test('a drawing counts as kept when the daemon has said so of every frame', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
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
  await drawMode.open(TAB, ASK);
  const answer = send(drawMode, [ASK]);
  await settled();
  const error = { code: 'too_large', message: '9 MiB' };
  drawMode.handleAck({ type: 'annotations_ack', drawing_id: sent[0].drawing_id, error });
  assert.deepEqual(await answer, { state: 'refused', error });
});

test('a connection that comes back carries what was not acknowledged, and in the end the page is asked again', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  isConnected = false;
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

test('of a drawing that is kept nobody is told that nothing will come', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  const answer = send(drawMode, [ASK]);
  await settled();
  drawMode.handleAck({ type: 'annotations_ack', drawing_id: sent[0].drawing_id });
  await answer;
  await drawMode.handleGone(DRAW_TAB);
  assert.equal(sent.length, 1);
});

// ── Nothing drawn ──

test('whoever waits is told that the person cancelled, once it is acknowledged no more', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  await drawMode.open(TAB, { correlation_id: 'ann_2' });
  await drawMode.handleMessage({ draw: 'cancel' }, SENDER);
  assert.deepEqual(sent.map(({ correlation_id, cancelled }) => [correlation_id, cancelled]), [['ann_1', 'user'], ['ann_2', 'user']]);
  assert.deepEqual([...browser.open.keys()], [7]);
  drawMode.handleAck({ type: 'annotations_ack', drawing_id: sent[0].drawing_id });
  await settled();
  const next = worker();
  next.handleConnected();
  await settled();
  assert.deepEqual(sent.slice(2), [sent[1]], 'by the next worker, too');
});

for (const [what, so, cancelled] of [['closes the tab', {}, 'user'], ['closes the window', { isWindowClosing: true }, 'page_closed']]) {
  test(`a person who ${what} that they draw in has cancelled`, async () => {
    const drawMode = worker();
    await drawMode.open(TAB, ASK);
    draw();
    await drawMode.handleGone(DRAW_TAB, so);
    assert.deepEqual(sent.map((frame) => frame.cancelled), [cancelled]);
    assert.deepEqual(drawMode.waits(), []);
  });
}

test('a person who goes elsewhere in the tab that they draw in has cancelled, and one who reloads it has not', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  await drawMode.handleCommitted({ tabId: DRAW_TAB, frameId: 0, documentId: 'X', url: PAGE });
  assert.deepEqual(sent, []);
  await drawMode.handleCommitted({ tabId: DRAW_TAB, frameId: 0, documentId: 'Y', url: 'https://example.com/' });
  assert.deepEqual(sent.map(({ cancelled }) => cancelled), ['user']);
});

test('nobody is told of what nobody waited for', async () => {
  const drawMode = worker();
  await drawMode.open(TAB);
  await drawMode.handleGone(7);
  assert.deepEqual(sent, []);
  assert.equal(browser.open.has(DRAW_TAB), false);
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
  assert.equal(browser.open.has(DRAW_TAB), false, 'and the picture goes, too');
});

test('a drawing that is begun stays when its page goes away, and can be sent', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  draw();
  await drawMode.handleGone(7);
  assert.deepEqual([sent, browser.open.has(DRAW_TAB)], [[], true]);
  const elements = await drawMode.handleMessage({ draw: 'elements', marks: [], styles: false }, SENDER);
  assert.deepEqual(elements.elements, {});
  send(drawMode, [ASK]);
  await settled();
  assert.deepEqual(sent.map(({ correlation_id, cancelled }) => [correlation_id, cancelled]), [['ann_1', undefined]]);
});

test('what went away while no worker lived is told of by the next', async () => {
  await worker().open(TAB, ASK);
  await worker().restore();
  assert.deepEqual(sent, [], 'it is still there');
  for (const documentId of ['D2', null]) {
    await worker().open(TAB, ASK);
    browser.documentId = documentId;
    await worker().restore();
    assert.deepEqual(sent.splice(0).map(({ cancelled }) => cancelled), ['page_closed']);
    browser.documentId = 'D1';
  }
  await worker().open(TAB, ASK);
  browser.open.delete(DRAW_TAB);
  await worker().restore();
  assert.deepEqual(sent.map(({ cancelled }) => cancelled), ['user'], 'the tab that is drawn in');
});

test('a drawing that went with the extension\'s process is shown again, and one that hears is left alone', async () => {
  await worker().open(TAB, ASK);
  await worker().restore();
  await settled();
  assert.deepEqual(browser.reloaded, []);
  browser.hears = false;
  await worker().restore();
  await settled();
  assert.deepEqual(browser.reloaded, [DRAW_TAB]);
  browser.hears = false;
  assert.equal((await browser.worker.open(TAB, { correlation_id: 'ann_2' })).was_open, true);
  assert.deepEqual(browser.reloaded, [DRAW_TAB, DRAW_TAB]);
  assert.deepEqual((await load()).asks.map(({ correlation_id }) => correlation_id), ['ann_1', 'ann_2']);
});

test('a tab that is closed while its drawing is on its way takes nothing back', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  send(drawMode, [ASK]);
  await settled();
  await drawMode.handleGone(DRAW_TAB);
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
  assert.deepEqual(browser.told, [{ drawing: 'over', correlation_ids: ['ann_9', 'ann_1'] }]);
  assert.deepEqual(next.waits(), []);
  await next.handleGone(7);
  assert.deepEqual(sent, [], 'and nobody hears of the page any more');
});

test('a wait of another page is no page\'s to hear of, and one that is left is told of its page', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  await drawMode.open(TAB, { correlation_id: 'ann_2' });
  browser.told = [];
  await end(drawMode, 'ann_3');
  assert.deepEqual(browser.told, []);
  await end(drawMode, 'ann_1');
  assert.deepEqual(drawMode.waits(), ['ann_2']);
  await drawMode.handleGone(7);
  assert.deepEqual(sent.map(({ correlation_id }) => correlation_id), ['ann_2']);
});

test('a wait that ends while its drawing is being opened is known to each connection, and ends it', async () => {
  const drawMode = worker();
  const opened = drawMode.open(TAB, ASK);
  assert.deepEqual(drawMode.waits(), ['ann_1']);
  await end(drawMode, 'ann_1');
  await opened;
  await settled();
  assert.deepEqual(browser.told, [{ drawing: 'over', correlation_ids: ['ann_1'] }]);
  assert.deepEqual(drawMode.waits(), []);
});

test('a page that could not be told hears of it when it loads, and each connection until then', async () => {
  const drawMode = worker();
  await drawMode.open(TAB, ASK);
  await settled();
  browser.hears = false;
  await end(drawMode, 'ann_1');
  assert.deepEqual(drawMode.waits(), ['ann_1']);
  const { asks, over } = await load();
  assert.deepEqual([asks, over, drawMode.waits()], [[ASK], ['ann_1'], []]);
});
