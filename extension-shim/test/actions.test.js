// The parts of actions that need no page: forms of scripts, URLs, navigations, tabs, picture headers.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import vm from 'node:vm';
import { imageSize } from '../image_size.js';
import { SCREENSHOT_MAX_SIDE, TABS_DEBOUNCE_MS } from '../limits.js';
import { Navigations } from '../navigations.js';
import { assertReachable, originOf } from '../pages.js';
import * as forms from '../script_forms.js';
import { installChrome, openPolicy, settled } from './support/fakes.js';

installChrome();
const { Tabs } = await import('../tabs.js');

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  installChrome();
});

const compiles = ({ expression }) => {
  try {
    new vm.Script(expression);
    return true;
  } catch {
    return false;
  }
};

for (const script of ['document.title', 'document.title;', '{a: 1}', 'await f()', 'a // why', 'a, b', '() => 1', 'function f() {}']) {
  test(`${script} is an expression`, () => assert.ok(compiles(forms.asExpression(script))));
}

for (const script of ['return 1', 'const a = 1; a', 'if (a) b', 'throw 1', '', '// only a comment', 'a; b']) {
  test(`"${script}" is no expression`, () => assert.ok(!compiles(forms.asExpression(script))));
}

test('what begins as a statement is never an expression, and expressions are not taken for one', () => {
  for (const script of ['return 1', ' const a = 1; a', 'if(a) b', 'throw 1', 'while (true) {}', 'try { a } catch {}']) {
    assert.ok(forms.beginsAsStatement(script), script);
    assert.ok(!compiles(forms.asExpression(script)), script);
  }
  for (const script of ['document.title', 'iffy', 'returned + 1', 'constant', '({ if: 1 })', 'await f()', '']) {
    assert.ok(!forms.beginsAsStatement(script), script);
  }
});

for (const script of ['return 1', 'const a = await f(); return a // done', 'if (a) return b; else return c']) {
  test(`${script} is the body of a function`, () => assert.ok(compiles(forms.asFunctionBody(script))));
}

test('only a script that names its signal is handed one', () => {
  assert.equal(forms.hookFor('document.title + tabwireSignals'), null);
  assert.equal(forms.abortWord(null, 'cancelled'), '1');
  assert.match(forms.hookFor('await fetch("/", { signal: tabwireSignal })'), /^tabwire_[0-9a-f]{32}$/);
});

test('a signal is aborted with the reason, whatever the form, and is then forgotten', async () => {
  for (const [form, script] of [['asExpression', 'keep(tabwireSignal)'], ['asStatements', 'keep(tabwireSignal); 1'],
    ['asFunctionBody', 'return keep(tabwireSignal)']]) {
    const kept = [];
    const page = vm.createContext({ AbortController, DOMException, location: {}, keep: (signal) => kept.push(signal) });
    const hook = forms.hookFor(script);
    await vm.runInContext(forms[form](script, hook).expression, page);
    assert.equal(kept[0].aborted, false);
    vm.runInContext(forms.abortWord(hook, 'cancelled'), page);
    assert.equal(String(kept[0].reason), 'AbortError: the command was cancelled');
    assert.ok(!Object.keys(page).includes(hook), 'a page that lists what there is does not meet it');
    vm.runInContext(forms.forgetHook(hook), page);
    assert.equal(vm.runInContext(`typeof ${hook}`, page), 'undefined');
    vm.runInContext(forms.abortWord(hook, 'timeout'), page);
  }
});

test('a stack is told in the script\'s own lines, without our frames', () => {
  const form = forms.asExpression('f()\n+ nope');
  const stack = [
    'ReferenceError: nope',
    '    at https://a/app.js:90:1',
    `    at f (<anonymous>:1:${form.prefix.length + 3})`,
    '    at <anonymous>:2:3',
    '    at runInPage (<anonymous>:218:19)',
    '    at <anonymous>:1:9',
  ].join('\n');
  assert.equal(forms.scriptStack(stack, 'f()\n+ nope', form),
    'ReferenceError: nope\n    at https://a/app.js:90:1\n    at f (<anonymous>:1:3)\n    at <anonymous>:2:3');
});

for (const url of ['chrome://settings/', 'chrome-extension://abc/x.html', 'devtools://devtools/', 'view-source:http://a/',
  'edge://about/', 'https://chromewebstore.google.com/detail/x', 'https://chrome.google.com/webstore/x',
  'https://microsoftedge.microsoft.com/addons/detail/x']) {
  test(`${url} is out of reach, and the message says where to go`, () => {
    assert.throws(() => assertReachable({ url }), { code: 'restricted_page', message: /navigate to a web page/ });
  });
}

for (const url of ['http://a/', 'https://chromewebstore.google.com.evil.example/', 'about:blank', 'file:///x', '']) {
  test(`${url || 'a page without URL'} is within reach`, () => assert.doesNotThrow(() => assertReachable({ url })));
}

test('the origin is that of the URL; opaque ones are "null"', () => {
  assert.deepEqual(['http://a:1/b', 'about:blank', '', undefined].map(originOf), ['http://a:1', 'null', undefined, undefined]);
});

/** Follows a navigation of tab 7, to http://a/ unless told otherwise, and tells how it went. */
function follow(aim = { url: 'http://a/' }) {
  const navigations = new Navigations(openPolicy);
  const abort = new AbortController();
  const outcome = { state: 'waiting' };
  navigations.follow(7, aim, abort.signal).then(
    () => { outcome.state = 'done'; },
    (error) => Object.assign(outcome, { state: error.code, message: error.message }),
  );
  const details = (url, over) => ({ tabId: 7, frameId: 0, url, ...over });
  const hear = async (event, url, over) => {
    navigations[`handle${event}`](details(url, over));
    await settled();
    return outcome.state;
  };
  return { navigations, abort, outcome, hear };
}

test('a navigation is over when its page has loaded', async () => {
  const { hear } = follow();
  assert.equal(await hear('BeforeNavigate', 'http://a/'), 'waiting');
  assert.equal(await hear('Committed', 'http://a/'), 'waiting');
  assert.equal(await hear('Completed', 'http://a/'), 'done');
});

test('the end of an earlier load, another tab or a frame is not ours', async () => {
  const { hear } = follow();
  assert.equal(await hear('Completed', 'http://a/'), 'waiting');
  await hear('BeforeNavigate', 'http://a/');
  assert.equal(await hear('ErrorOccurred', 'http://old/', { error: 'net::ERR_ABORTED' }), 'waiting');
  assert.equal(await hear('Completed', 'http://old/'), 'waiting');
  assert.equal(await hear('Completed', 'http://a/', { tabId: 8 }), 'waiting');
  assert.equal(await hear('Completed', 'http://a/', { frameId: 3 }), 'waiting');
});

test('a redirect, by the server or by the page, is followed to its end', async () => {
  const { hear } = follow();
  await hear('BeforeNavigate', 'http://a/');
  await hear('Committed', 'http://b/');
  await hear('BeforeNavigate', 'http://c/');
  assert.equal(await hear('ErrorOccurred', 'http://b/', { error: 'net::ERR_ABORTED' }), 'waiting');
  await hear('Committed', 'http://c/');
  assert.equal(await hear('Completed', 'http://c/'), 'done');
});

test('a fragment of the same document needs no load', async () => {
  const { hear } = follow();
  assert.equal(await hear('SameDocument', 'http://a/#other'), 'waiting');
  assert.equal(await hear('SameDocument', 'http://a/'), 'done');
});

const FORWARD_BACK = { transitionQualifiers: ['forward_back'] };

test('a step in the history to a page that is loaded anew ends with its load', async () => {
  const { hear, navigations } = follow('history');
  await hear('BeforeNavigate', 'http://old/');
  assert.equal(await hear('Committed', 'http://old/', FORWARD_BACK), 'waiting');
  assert.equal(await hear('Completed', 'http://old/'), 'done');
  assert.doesNotThrow(() => navigations.handleTabComplete(7));
});

test('a step in the history to a page that the browser kept whole loads nothing', async () => {
  const { hear, navigations, outcome } = follow('history');
  navigations.handleTabComplete(7);
  assert.equal(await hear('Committed', 'http://old/', FORWARD_BACK), 'waiting');
  navigations.handleTabComplete(7);
  await settled();
  assert.equal(outcome.state, 'done');
});

test('a step in the history within a document is told from what the page does itself', async () => {
  const { hear } = follow('history');
  assert.equal(await hear('SameDocument', 'http://a/#1', { transitionQualifiers: ['client_redirect'] }), 'waiting');
  assert.equal(await hear('SameDocument', 'http://a/#1'), 'waiting');
  assert.equal(await hear('SameDocument', 'http://a/#1', FORWARD_BACK), 'done');
});

test('a reload ends with the load, and with no entry of the history before it', async () => {
  const { hear, navigations, outcome } = follow('reload');
  assert.equal(await hear('SameDocument', 'http://a/#1', FORWARD_BACK), 'waiting');
  navigations.handleTabComplete(7);
  await settled();
  assert.equal(outcome.state, 'waiting');
  await hear('BeforeNavigate', 'http://a/');
  assert.equal(await hear('Completed', 'http://a/'), 'done');
});

test('a page that cannot be reached fails with the browser\'s reason', async () => {
  const { hear, outcome } = follow();
  await hear('BeforeNavigate', 'http://a/');
  assert.equal(await hear('ErrorOccurred', 'http://a/', { error: 'net::ERR_CONNECTION_REFUSED' }), 'navigation_failed');
  assert.match(outcome.message, /ERR_CONNECTION_REFUSED/);
});

test('a closed tab ends its navigation', async () => {
  const { navigations, outcome } = follow();
  navigations.handleRemoved(8);
  navigations.handleRemoved(7);
  await settled();
  assert.equal(outcome.state, 'tab_closed');
});

test('nothing follows from a navigation whose command is over', async () => {
  const { abort, outcome, navigations } = follow();
  abort.abort();
  await settled();
  assert.equal(outcome.state, abort.signal.reason.code);
  assert.doesNotThrow(() => navigations.handleRemoved(7));
});

test('many tab events make one frame, and no change makes none', async () => {
  const tabs = new Tabs(openPolicy);
  const told = [];
  tabs.onChange = (list) => told.push(list);
  const query = mock.method(chrome.tabs, 'query');
  const pass = async () => {
    mock.timers.tick(TABS_DEBOUNCE_MS);
    await settled();
  };
  for (let i = 0; i < 5; i += 1) tabs.handleChange();
  await pass();
  assert.equal(query.mock.callCount(), 1);
  tabs.handleChange();
  await pass();
  assert.equal(told.length, 1);
});

test('without tab_id a command goes to the active tab of the last focused window', async () => {
  const tabs = new Tabs(openPolicy);
  chrome.tabs.query = async () => [
    { id: 1, windowId: 10, active: true }, { id: 2, windowId: 20, active: false }, { id: 3, windowId: 20, active: true },
  ];
  chrome.windows.getLastFocused = async () => ({ id: 20 });
  assert.equal((await tabs.target(undefined)).id, 3);
  await assert.rejects(tabs.target(99), { code: 'no_such_tab', message: /tab 99/ });
  await assert.rejects(tabs.target(-1), { code: 'no_such_tab', message: /started anew .* tab_list/ });
});

test('a known tab costs no question to the browser', async () => {
  const tabs = new Tabs(openPolicy);
  await tabs.load();
  chrome.tabs.query = async () => assert.fail('asked');
  assert.equal((await tabs.target(7)).id, 7);
});

test('a picture tells its size', () => {
  const png = Buffer.alloc(33);
  png.set([0x89, 0x50, 0x4e, 0x47]);
  png.writeUInt32BE(800, 16);
  png.writeUInt32BE(SCREENSHOT_MAX_SIDE, 20);
  assert.deepEqual(imageSize(png.toString('base64')), { width: 800, height: 1568 });
  const jpeg = Buffer.from('ffd8ffe000040000ffc0001108' + '0010' + '0020' + '03000000000000', 'hex');
  assert.deepEqual(imageSize(jpeg.toString('base64')), { width: 32, height: 16 });
});
