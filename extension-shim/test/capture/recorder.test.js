// Which tabs are recorded when: settings, tabs that come and go, a worker that ends, a bar that is closed.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, openPolicy, settled } from '../support/fakes.js';

installChrome();
const { Recorder } = await import('../../src/capture/recorder.js');
const bar = await import('../../src/browser/debugger.js');

let storage;
let open;
/** What was sent to each tab, as "7 Runtime.enable". */
let sent;
let events;
let recorder;
/** What fails: by method. */
let broken;

function install() {
  open = new Map([[7, { id: 7, url: 'http://a/' }], [8, { id: 8, url: 'http://b/' }], [9, { id: 9, url: 'chrome://version/' }]]);
  Object.assign(chrome.tabs, { query: async () => [...open.values()], get: async (id) => open.get(id) });
  chrome.debugger = {
    attach: async ({ tabId }) => { sent.push(`${tabId} attach`); if (broken.attach) throw new Error(broken.attach); },
    detach: async ({ tabId }) => { sent.push(`${tabId} detach`); },
    sendCommand: async ({ tabId }, method, params) => {
      sent.push(`${tabId} ${method}`);
      if (broken[method]) return broken[method]();
      if (method === 'Page.getFrameTree') return { frameTree: { frame: { id: `main ${tabId}`, url: open.get(tabId)?.url } } };
      if (method === 'Page.addScriptToEvaluateOnNewDocument') return { identifier: '1' };
      if (method === 'Network.getResponseBody') return { body: '{}', base64Encoded: false };
      if (method === 'Runtime.addBinding') binding = params.name;
      return {};
    },
  };
}
let binding;

/** A worker that has just been started. */
async function start() {
  recorder = new Recorder(openPolicy);
  recorder.onEvents = (text) => {
    const { stream, entries } = JSON.parse(text);
    for (const entry of entries) events.push([stream, entry]);
    return true;
  };
  await recorder.restore();
  await settled();
}

beforeEach(async () => {
  // Before the time begins anew: a timer of another time is not to be cleared in this one.
  for (const tabId of [7, 8, 9, 10]) bar.handleDetach({ tabId }, 'target_closed');
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 5_000 });
  mock.method(console, 'debug', () => {});
  storage = installChrome().session;
  [sent, events, broken] = [[], [], {}];
  install();
  bar.giveBack();
  await start();
});

const configure = async (capture) => { recorder.configure(capture); await settled(); };
const say = (tabId, method, params) => recorder.handleEvent({ tabId }, method, params);
const log = (tabId, text, timestamp = 6_000) => say(tabId, 'Runtime.consoleAPICalled', { type: 'log', args: [{ type: 'string', value: text }], timestamp });
const of = (tabId) => sent.filter((one) => one.startsWith(`${tabId} `)).map((one) => one.slice(String(tabId).length + 1));
const told = () => { mock.timers.tick(200); return events.map(([, { text }]) => text); };

test('nothing is touched until the daemon says so, nor when it says nothing', async () => {
  await configure({});
  recorder.handleTab(open.get(7));
  await recorder.ready(7);
  log(7, 'x');
  assert.deepEqual([sent, told(), recorder.recording()], [[], [], []]);
});

test('a tab is recorded as it is wanted, others and the browser\'s own pages are left alone', async () => {
  await configure({ tabs: [{ tab_id: 7, streams: ['logs'] }, { tab_id: 9, streams: ['logs'] }] });
  assert.deepEqual(of(7), ['attach', 'Inspector.enable', 'Page.enable', 'Network.enable', 'Page.getFrameTree', 'Runtime.enable', 'Log.enable']);
  assert.deepEqual([of(8), of(9)], [[], []]);
  log(7, 'mine');
  log(8, 'another\'s');
  assert.deepEqual(told(), ['mine']);
  assert.deepEqual(events[0], ['logs', { t: 6_000, tab_id: 7, level: 'log', source: 'console', text: 'mine', url: 'http://a/' }]);
  assert.deepEqual(recorder.recording(), [{ tab_id: 7, streams: ['logs'] }]);
});

test('what was said before anybody listened is not told', async () => {
  await configure({ all: ['logs'] });
  log(7, 'before', 4_999);
  log(7, 'after', 5_001);
  assert.deepEqual(told(), ['after']);
});

test('a command that comes after new settings waits until the browser has heard of them, but not for long', async () => {
  const answers = [];
  broken['Runtime.enable'] = () => new Promise((resolve) => { answers.push(resolve); });
  const waits = async () => {
    let isOver = false;
    recorder.applied().then(() => { isOver = true; });
    await settled();
    return !isOver;
  };
  assert.deepEqual([recorder.isChanging, await waits()], [false, false]);
  await configure({ all: ['logs'] });
  assert.deepEqual([recorder.isChanging, await waits()], [true, true]);
  for (const answer of answers) answer({});
  await settled();
  assert.deepEqual([recorder.isChanging, await waits()], [false, false], 'the browser has heard');
  await configure({});
  await configure({ all: ['logs'] });
  assert.ok(await waits());
  mock.timers.tick(500);
  await settled();
  assert.deepEqual([recorder.isChanging, await waits()], [false, false], 'it took too long');
});

test('what was said while only the rest was recorded is not told either', async () => {
  await configure({ all: ['network'] });
  mock.timers.tick(10_000);
  await configure({ all: ['network', 'logs'] });
  log(7, 'between', 14_000);
  log(7, 'after', 16_000);
  assert.deepEqual(told(), ['after']);
});

test('a tab that is not loaded is not woken', async () => {
  open.get(7).discarded = true;
  await configure({ all: ['logs'] });
  assert.deepEqual(of(7), []);
});

test('with all tabs wanted, one that opens is recorded, one that leaves for a restricted page is not', async () => {
  await configure({ all: ['logs'] });
  open.set(10, { id: 10, url: '', pendingUrl: 'http://c/' });
  recorder.handleTab(open.get(10));
  await settled();
  assert.ok(of(10).includes('Runtime.enable'));
  recorder.handleTab({ id: 7, url: 'chrome://settings/' });
  await settled();
  assert.deepEqual(recorder.recording().map(({ tab_id }) => tab_id), [8, 10]);
  recorder.handleTab(open.get(7));
  await settled();
  assert.deepEqual(recorder.recording().map(({ tab_id }) => tab_id), [8, 10, 7]);
});

test('only what changed is switched', async () => {
  await configure({ all: ['logs', 'network'] });
  sent.length = 0;
  await configure({ all: ['logs', 'network'] });
  assert.deepEqual(sent, []);
  await configure({ all: ['network'] });
  assert.deepEqual(of(7).filter((method) => !method.startsWith('Page.')), ['Runtime.disable', 'Log.disable']);
  log(7, 'late');
  assert.deepEqual(told(), []);
});

test('while it is recorded a tab stays attached, and after that it is let go as after a command', async () => {
  await configure({ all: ['logs'] });
  mock.timers.tick(60 * 60_000);
  assert.equal(of(7).includes('detach'), false);
  await configure({});
  assert.deepEqual(recorder.recording(), []);
  mock.timers.tick(5 * 60_000);
  assert.equal(of(7).at(-1), 'detach');
});

test('what the person stops is not recorded, in new tabs and by new workers neither, until they let it go on', async () => {
  await configure({ all: ['logs'] });
  await recorder.setEnded(true);
  await settled();
  assert.deepEqual([recorder.recording(), recorder.isEnded], [[], true]);
  recorder.handleTab({ id: 9, url: 'http://new/' });
  await configure({ all: ['logs', 'network'] });
  assert.deepEqual(recorder.recording(), []);
  await start();
  assert.deepEqual([recorder.recording(), recorder.isEnded], [[], true]);
  await recorder.setEnded(false);
  await settled();
  assert.ok(recorder.recording().length > 0);
});

test('after the person closed the bar nothing is attached until they give control back', async () => {
  await configure({ all: ['logs'] });
  for (const tabId of [7, 8]) {
    bar.handleDetach({ tabId }, 'canceled_by_user');
    recorder.handleGone(tabId);
  }
  sent.length = 0;
  open.set(10, { id: 10, url: 'http://c/' });
  for (const tab of open.values()) recorder.handleTab(tab);
  await configure({ all: ['logs', 'network'] });
  assert.deepEqual([sent, recorder.recording()], [[], []]);
  // Nor by the next worker.
  await start();
  assert.deepEqual([sent, recorder.recording()], [[], []]);

  bar.giveBack();
  await recorder.apply();
  await settled();
  assert.deepEqual(recorder.recording().map(({ tab_id }) => tab_id), [7, 8, 10]);
});

test('what the person said outlives the worker that heard it', async () => {
  bar.handleDetach({ tabId: 7 }, 'canceled_by_user');
  await settled();
  const next = await import('../../src/browser/debugger.js?next');
  assert.equal(next.isAnyDismissed(), false);
  await next.restoreDismissed();
  assert.deepEqual([next.isAnyDismissed(), next.isDismissed(7), next.isDismissed(8)], [true, true, false]);
  bar.giveBack();
  await settled();
  const last = await import('../../src/browser/debugger.js?last');
  await last.restoreDismissed();
  assert.equal(last.isAnyDismissed(), false);
});

test('a worker that starts goes on where the last one ended, with what woke it', async () => {
  await configure({ all: ['logs', 'actions'] });
  sent.length = 0;
  mock.timers.tick(10_000);
  recorder = new Recorder(openPolicy);
  recorder.onEvents = (text) => { events.push(...JSON.parse(text).entries.map((entry) => ['', entry])); return true; };
  log(7, 'woke it', 14_000);
  await recorder.restore();
  await settled();
  assert.equal(of(7).some((method) => /enable|addBinding|addScript/.test(method) && !/^(Page|Inspector)\.enable$/.test(method)), false, 'all of it is still on');
  assert.deepEqual(told(), ['woke it']);
});

test('a tab that went while no worker was there is begun anew', async () => {
  await configure({ all: ['logs'] });
  sent.length = 0;
  recorder = new Recorder(openPolicy);
  recorder.handleGone(7);
  await recorder.restore();
  await settled();
  assert.ok(of(7).includes('Runtime.enable'));
  assert.equal(of(8).includes('Runtime.enable'), false);
});

test('what an earlier worker left is ended if it is wanted no more', async () => {
  await configure({ all: ['logs'] });
  await settled();
  storage.data.capture = {};
  sent.length = 0;
  await start();
  assert.deepEqual(of(7), ['Runtime.disable', 'Log.disable']);
  assert.equal(Object.keys(storage.data).some((key) => key.startsWith('recorded:')), false);
});

test('a tab that the debugger cannot be attached to is no reason to stop with the others, and it is tried again', async () => {
  broken.attach = 'Not now';
  await configure({ all: ['logs'] });
  assert.deepEqual(recorder.recording(), []);
  broken = {};
  recorder.handleTab(open.get(7));
  await settled();
  assert.deepEqual(recorder.recording().map(({ tab_id }) => tab_id), [7]);
});

test('without a daemon nobody could switch it off: after five minutes it ends', async () => {
  await configure({ all: ['logs'] });
  recorder.handleLink(false);
  mock.timers.tick(4 * 60_000);
  recorder.handleLink(true);
  mock.timers.tick(2 * 60_000);
  await settled();
  assert.equal(recorder.recording().length, 2);
  recorder.handleLink(false);
  mock.timers.tick(5 * 60_000);
  await settled();
  assert.deepEqual(recorder.recording(), []);
});

test('the person\'s actions come by the watch of this session alone', async () => {
  await configure({ tabs: [{ tab_id: 7, streams: ['actions'] }] });
  const payload = (over) => JSON.stringify({ stream: 'actions', entry: { t: 6_000, url: 'http://a/', kind: 'click', ...over } });
  say(7, 'Runtime.bindingCalled', { name: 'another', payload: payload() });
  say(7, 'Runtime.bindingCalled', { name: binding, payload: JSON.stringify({ stream: 'logs', entry: { t: 1, url: '' } }) });
  say(7, 'Runtime.bindingCalled', { name: binding, payload: payload() });
  say(7, 'Page.frameNavigated', { frame: { id: 'inner', parentId: 'main 7', url: 'http://inner/' } });
  say(7, 'Page.frameNavigated', { frame: { id: 'main 7', url: 'http://a/next' } });
  say(7, 'Page.navigatedWithinDocument', { frameId: 'main 7', url: 'http://a/next#there' });
  told();
  assert.deepEqual(events.map(([stream, { kind, url }]) => [stream, kind, url]),
    [['actions', 'click', 'http://a/'], ['actions', 'navigate', 'http://a/next'], ['actions', 'navigate', 'http://a/next#there']]);
});

test('a request that failed is in one stream, or in the log if the network is not recorded', async () => {
  const failed = { entry: { source: 'network', level: 'error', text: 'Failed to load', timestamp: 6_000 } };
  await configure({ all: ['logs', 'network'] });
  say(7, 'Log.entryAdded', failed);
  await configure({ all: ['logs'] });
  say(8, 'Log.entryAdded', failed);
  told();
  assert.deepEqual(events.map(([, { tab_id }]) => tab_id), [8]);
});

test('bodies are asked for only when they are wanted', async () => {
  const request = { method: 'GET', url: 'http://a/x', headers: {} };
  const load = async () => {
    say(7, 'Network.requestWillBeSent', { requestId: '1', timestamp: 1, wallTime: 6, type: 'Fetch', documentURL: 'http://a/', request });
    say(7, 'Network.responseReceived', { requestId: '1', timestamp: 2, response: { status: 200, mimeType: 'application/json', headers: {} } });
    say(7, 'Network.loadingFinished', { requestId: '1', timestamp: 2, encodedDataLength: 2 });
    await settled();
    told();
  };
  await configure({ all: ['network'] });
  await load();
  assert.equal(of(7).includes('Network.getResponseBody'), false);
  await configure({ all: ['bodies'] });
  await load();
  assert.deepEqual(events.map(([stream, { response_body }]) => [stream, response_body]), [['network', undefined], ['bodies', '{}']]);
});

/** Time passes, and what waits for it goes on. */
const pass = async (ms) => {
  for (let at = 0; at < ms; at += 100) {
    mock.timers.tick(100);
    await settled();
  }
};
const flood = (count, t) => { for (let at = 0; at < count; at += 1) log(7, `${t + at}`, t + at); };
const switches = () => of(7).filter((method) => /^(Runtime|Log)\.(?!release)/.test(method));

test('a burst of lines is not listened to for half a second, and told in full afterwards', async () => {
  await configure({ all: ['logs', 'actions'] });
  sent.length = 0;
  // The browser tells again what it has kept.
  broken['Runtime.enable'] = async () => { flood(230, 6_000); return {}; };
  flood(150, 6_000);
  await settled();
  assert.deepEqual(switches(), ['Runtime.disable', 'Runtime.addBinding'], 'actions go on');
  await pass(2_000);
  assert.deepEqual(switches(), ['Runtime.disable', 'Runtime.addBinding', 'Runtime.enable']);
  assert.deepEqual(events.map(([, { text }]) => text), Array.from({ length: 230 }, (_, at) => String(6_000 + at)));
});

test('lines that were kept from before do not count', async () => {
  broken['Runtime.enable'] = async () => { flood(1_000, 1_000); return {}; };
  await configure({ tabs: [{ tab_id: 7, streams: ['logs'] }] });
  await pass(1_000);
  assert.deepEqual([switches(), told()], [['Runtime.enable', 'Log.enable'], []]);
});

test('a page that goes on is not listened to for longer each time, and the log says so', async () => {
  await configure({ all: ['logs'] });
  flood(150, 6_000);
  await pass(600);
  flood(150, 7_000);
  await settled();
  sent.length = 0;
  await pass(900);
  assert.deepEqual(switches(), []);
  await pass(200);
  assert.deepEqual(switches(), ['Runtime.discardConsoleEntries', 'Runtime.enable']);
  const notes = events.map(([, { text }]) => text).filter((text) => /more than can be recorded/.test(text));
  assert.equal(notes.length, 1);
  assert.match(notes[0], /about 1 s of Runtime/);
});

test('a page in a loop, which takes no word, is let go of and tried again', async () => {
  await configure({ all: ['logs'] });
  broken['Runtime.disable'] = () => new Promise(() => {});
  sent.length = 0;
  flood(1_000, 6_000);
  await pass(300);
  assert.equal(of(7).at(-1), 'detach');
  assert.deepEqual(recorder.recording().map(({ tab_id }) => tab_id), [8]);
  // Not sooner, whatever its tab does.
  sent.length = 0;
  recorder.handleTab(open.get(7));
  await settled();
  assert.deepEqual(of(7), []);
  await pass(30_000);
  assert.ok(of(7).includes('Runtime.enable'));
  assert.deepEqual(recorder.recording().map(({ tab_id }) => tab_id), [7, 8]);
});

test('a page that is only busy is waited for', async () => {
  await configure({ all: ['logs'] });
  broken['Runtime.disable'] = () => new Promise(() => {});
  flood(150, 6_000);
  await pass(2_000);
  assert.equal(of(7).includes('detach'), false);
});

/** Lines that a page makes twenty to the millisecond, and that reach the worker one a millisecond. */
const pileUp = async (count, from) => {
  for (let at = 0; at < count; at += 1) {
    mock.timers.tick(1);
    log(7, `${from + at}`, from + at / 20);
  }
  await settled();
};

test('a page whose lines come more slowly than it makes them is let go of at once, and a short burst told in full afterwards', async () => {
  await configure({ all: ['logs'] });
  sent.length = 0;
  broken['Runtime.disable'] = () => new Promise(() => {});
  broken['Runtime.enable'] = async () => { for (let at = 0; at < 900; at += 1) log(7, `${5_001 + at}`, 5_001 + at / 20); return {}; };
  await pileUp(300, 5_001);
  assert.deepEqual(of(7).filter((method) => !/release/.test(method)), ['Runtime.disable', 'detach'], 'not after a wait for the page');
  await pass(200);
  assert.equal(of(7).includes('attach'), false);
  await pass(400);
  assert.equal(of(7).filter((method) => method === 'Runtime.enable').length, 1);
  await pass(1_000);
  assert.deepEqual(told(), Array.from({ length: 900 }, (_, at) => String(5_001 + at)), 'each line once');
  assert.equal(of(7).filter((method) => method === 'detach').length, 1, 'lines that the browser had kept are no flood');
});

test('a page that goes on after it was let go of is left alone for long, and its stored lines are not read', async () => {
  await configure({ all: ['logs'] });
  broken['Runtime.disable'] = () => new Promise(() => {});
  await pileUp(300, 5_000);
  await pass(800);
  sent.length = 0;
  await pileUp(300, Date.now());
  assert.ok(of(7).includes('detach'));
  await pass(29_000);
  assert.equal(of(7).includes('attach'), false);
  await pass(1_500);
  assert.deepEqual(switches().slice(-3).sort(), ['Log.enable', 'Runtime.discardConsoleEntries', 'Runtime.enable']);
  assert.match(told().at(-1), /about 30 s of Runtime/);
});

test('a worker that gets few turns sees a flood all the same', async () => {
  await configure({ all: ['logs'] });
  sent.length = 0;
  // Two lines in each of its hundred milliseconds; the page made all of them in ten.
  for (let at = 0; at < 110; at += 1) {
    mock.timers.tick(50);
    log(7, 'x', 5_001 + at / 11);
  }
  await settled();
  assert.ok(of(7).includes('detach'));
});

test('a source that was muted when its tab was let go of is heard again, and guarded', async () => {
  await configure({ all: ['logs'] });
  broken['Runtime.disable'] = () => new Promise(() => {});
  broken['Log.disable'] = () => new Promise(() => {});
  const browserLines = (count, t) => {
    for (let at = 0; at < count; at += 1) say(7, 'Log.entryAdded', { entry: { source: 'other', level: 'error', text: 'x', timestamp: t + at / 20 } });
  };
  browserLines(110, Date.now() + 1);
  assert.ok(of(7).includes('Log.disable'));
  await pileUp(300, Date.now());
  assert.ok(of(7).includes('detach'));
  await pass(800);
  sent.length = 0;
  browserLines(150, Date.now() + 1);
  await settled();
  assert.ok(of(7).includes('Log.disable'));
});

test('a queue that a running command waits behind is not dropped: the command would end', async () => {
  await configure({ all: ['logs'] });
  broken['Runtime.disable'] = () => new Promise(() => {});
  const command = { dialogs: [] };
  await bar.withDialogs(7, command, () => pileUp(300, 5_000));
  assert.equal(of(7).includes('detach'), false);
  log(7, 'after the command', 5_100);
  assert.ok(of(7).includes('detach'));
});
