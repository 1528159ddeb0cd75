// The parts of actions that need no page: forms of scripts, URLs, navigations, tabs, picture headers.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { beforeEach, mock, test } from 'node:test';
import vm from 'node:vm';
import { downloadOf } from '../../src/browser/downloads.js';
import { imageSize } from '../../src/lib/image_size.js';
import { DOWNLOAD_MS, SCREENSHOT_MAX_SIDE, TABS_DEBOUNCE_MS } from '../../src/browser/limits.js';
import { Navigations, navigationFields } from '../../src/browser/navigations.js';
import { assertReachable, originOf } from '../../src/policy/pages.js';
import * as forms from '../../src/scripts/script_forms.js';
import { installChrome, openPolicy, settled } from '../support/fakes.js';

installChrome();
const { Tabs } = await import('../../src/browser/tabs.js');

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
  test(`${url} is out of reach, and the message says of what kind it is`, () => {
    assert.throws(() => assertReachable({ url }), { code: 'restricted_page', message: /keeps extensions out of .*(pages|stores)/ });
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
    (arrival) => Object.assign(outcome, { state: 'done', arrival }),
    (error) => Object.assign(outcome, { state: error.code, message: error.message }),
  );
  const details = (url, over) => ({ tabId: 7, frameId: 0, url, ...over });
  const report = async (event, url, over) => {
    navigations[`handle${event}`](details(url, over));
    await settled();
    return outcome.state;
  };
  return { navigations, abort, outcome, report };
}

test('a navigation is over when its page has loaded', async () => {
  const { report } = follow();
  assert.equal(await report('BeforeNavigate', 'http://a/'), 'waiting');
  assert.equal(await report('Committed', 'http://a/'), 'waiting');
  assert.equal(await report('Completed', 'http://a/'), 'done');
});

test('the end of an earlier load, another tab or a frame is not ours', async () => {
  const { report } = follow();
  assert.equal(await report('Completed', 'http://a/'), 'waiting');
  await report('BeforeNavigate', 'http://a/');
  assert.equal(await report('ErrorOccurred', 'http://old/', { error: 'net::ERR_ABORTED' }), 'waiting');
  assert.equal(await report('Completed', 'http://old/'), 'waiting');
  assert.equal(await report('Completed', 'http://a/', { tabId: 8 }), 'waiting');
  assert.equal(await report('Completed', 'http://a/', { frameId: 3 }), 'waiting');
});

test('a redirect, by the server or by the page, is followed to its end', async () => {
  const { report } = follow();
  await report('BeforeNavigate', 'http://a/');
  await report('Committed', 'http://b/');
  await report('BeforeNavigate', 'http://c/');
  assert.equal(await report('ErrorOccurred', 'http://b/', { error: 'net::ERR_ABORTED' }), 'waiting');
  await report('Committed', 'http://c/');
  assert.equal(await report('Completed', 'http://c/'), 'done');
});

test('a fragment of the same document needs no load', async () => {
  const { report } = follow();
  assert.equal(await report('SameDocument', 'http://a/#other'), 'waiting');
  assert.equal(await report('SameDocument', 'http://a/'), 'done');
});

const FORWARD_BACK = { transitionQualifiers: ['forward_back'] };

test('a step in the history to a page that is loaded anew ends with its load', async () => {
  const { report, navigations } = follow('history');
  await report('BeforeNavigate', 'http://old/');
  assert.equal(await report('Committed', 'http://old/', FORWARD_BACK), 'waiting');
  assert.equal(await report('Completed', 'http://old/'), 'done');
  assert.doesNotThrow(() => navigations.handleTabComplete(7));
});

test('a step in the history to a page that the browser kept whole loads nothing', async () => {
  const { report, navigations, outcome } = follow('history');
  navigations.handleTabComplete(7);
  assert.equal(await report('Committed', 'http://old/', FORWARD_BACK), 'waiting');
  navigations.handleTabComplete(7);
  await settled();
  assert.equal(outcome.state, 'done');
});

test('a step in the history within a document is told from what the page does itself', async () => {
  const { report } = follow('history');
  assert.equal(await report('SameDocument', 'http://a/#1', { transitionQualifiers: ['client_redirect'] }), 'waiting');
  assert.equal(await report('SameDocument', 'http://a/#1'), 'waiting');
  assert.equal(await report('SameDocument', 'http://a/#1', FORWARD_BACK), 'done');
});

test('a reload ends with the load, and with no entry of the history before it', async () => {
  const { report, navigations, outcome } = follow('reload');
  assert.equal(await report('SameDocument', 'http://a/#1', FORWARD_BACK), 'waiting');
  navigations.handleTabComplete(7);
  await settled();
  assert.equal(outcome.state, 'waiting');
  await report('BeforeNavigate', 'http://a/');
  assert.equal(await report('Completed', 'http://a/'), 'done');
});

test('a page that cannot be reached fails with the browser\'s reason', async () => {
  const { report, outcome } = follow();
  await report('BeforeNavigate', 'http://a/');
  assert.equal(await report('ErrorOccurred', 'http://a/', { error: 'net::ERR_CONNECTION_REFUSED' }), 'navigation_failed');
  assert.match(outcome.message, /ERR_CONNECTION_REFUSED/);
});

test('a navigation that was led elsewhere tells where it began', async () => {
  const { report, outcome } = follow();
  await report('BeforeNavigate', 'http://a/');
  await report('Committed', 'http://b/');
  assert.equal(await report('Completed', 'http://b/'), 'done');
  const fields = (answered, url) => navigationFields(outcome.arrival, answered, url);
  assert.deepEqual(fields({ url: 'http://b/', status: 404 }, 'http://b/'), { http_status: 404, redirected_from: 'http://a/' });
  assert.deepEqual(fields({ url: 'http://a/', status: 200 }, 'http://a/'), { http_status: 200 });
  assert.deepEqual(fields({ url: 'http://b/', status: 200 }, 'http://a/'), {}, 'the status of another page');
  assert.deepEqual(fields(null, 'http://a/'), {});
});

test('a page that sends on while it loads counts as redirected', async () => {
  const { report, outcome } = follow();
  await report('BeforeNavigate', 'http://a/');
  await report('Committed', 'http://a/');
  await report('BeforeNavigate', 'about:blank');
  await report('Committed', 'about:blank');
  assert.equal(await report('Completed', 'about:blank'), 'done');
  assert.deepEqual(navigationFields(outcome.arrival, undefined, 'about:blank'), { redirected_from: 'http://a/' });
});

/** The browser takes what came of a navigation as a download, and tells so a little after the end of the load. */
const item = (url, finalUrl, over) => ({ id: 3, url, finalUrl, filename: '', mime: 'text/csv', totalBytes: 12, ...over });

test('a download ends its navigation once it has a name, without the folder, also behind a redirect', async () => {
  const { report, navigations, outcome } = follow();
  await report('BeforeNavigate', 'http://a/');
  await report('ErrorOccurred', 'http://b/files/r.csv', { error: 'net::ERR_ABORTED' });
  navigations.handleDownload(item('http://elsewhere/', 'http://elsewhere/', { id: 2 }));
  navigations.handleDownload(item('http://a/', 'http://b/files/r.csv'));
  navigations.handleDownloadChanged({ id: 2, filename: { current: '/home/person/other.csv' } });
  navigations.handleDownloadChanged({ id: 3 });
  await settled();
  assert.equal(outcome.state, 'waiting');
  navigations.handleDownloadChanged({ id: 3, filename: { current: '/home/person/Downloads/r (1).csv' } });
  await settled();
  assert.equal(outcome.state, 'done');
  assert.deepEqual(navigationFields(outcome.arrival, undefined, 'http://where/it/was'), {
    redirected_from: 'http://a/',
    download: { file_name: 'r (1).csv', url: 'http://b/files/r.csv', mime_type: 'text/csv', bytes: 12 },
  });
});

test('a download that the person is asked a name for is told of all the same, by the name in its URL', async () => {
  const { report, navigations, outcome } = follow();
  await report('BeforeNavigate', 'http://a/');
  await report('ErrorOccurred', 'http://a/', { error: 'net::ERR_ABORTED' });
  navigations.handleDownload(item('http://a/', 'http://a/dir/from%20url.bin?x=1', { totalBytes: -1, mime: '' }));
  mock.timers.tick(DOWNLOAD_MS);
  await settled();
  assert.deepEqual(outcome.arrival.download, { file_name: 'from url.bin', url: 'http://a/dir/from%20url.bin?x=1' });
});

test('a load that ends without page and download has failed, unless the tab goes on loading', async () => {
  const { report, outcome } = follow();
  await report('BeforeNavigate', 'http://a/');
  chrome.tabs.get = async () => ({ id: 7, pendingUrl: 'http://a/' });
  await report('ErrorOccurred', 'http://old/', { error: 'net::ERR_ABORTED' });
  mock.timers.tick(DOWNLOAD_MS);
  await settled();
  assert.equal(outcome.state, 'waiting', 'it was the load that ours has pushed aside');
  chrome.tabs.get = async () => ({ id: 7 });
  await report('ErrorOccurred', 'http://b/', { error: 'net::ERR_ABORTED' });
  assert.equal(outcome.state, 'waiting');
  mock.timers.tick(DOWNLOAD_MS);
  await settled();
  assert.equal(outcome.state, 'navigation_failed');
  assert.match(outcome.message, /without a page \(as with HTTP status 204\)/);
});

test('a page that is stopped while it loads has failed at once, and an error page says what kind it is', async () => {
  const half = follow();
  await half.report('BeforeNavigate', 'http://a/');
  await half.report('Committed', 'http://a/');
  assert.equal(await half.report('ErrorOccurred', 'http://a/', { error: 'net::ERR_ABORTED' }), 'navigation_failed');
  assert.match(half.outcome.message, /stopped while it loaded/);
  const empty = follow();
  await empty.report('BeforeNavigate', 'http://a/');
  await empty.report('ErrorOccurred', 'http://a/', { error: 'net::ERR_HTTP_RESPONSE_CODE_FAILURE' });
  assert.match(empty.outcome.message, /HTTP error status and no page/);
});

test('the name of a download has no folder, is of bounded length, and is there', () => {
  const name = (filename, finalUrl = 'http://a/') => downloadOf(item('http://a/', finalUrl, { filename })).file_name;
  assert.equal(name('C:\\Users\\person\\y.exe'), 'y.exe');
  assert.equal(name(''), 'download');
  assert.equal(name('', 'http://a/%zz'), '%zz');
  assert.ok(name('x'.repeat(10_000)).length <= 256);
});

test('a page that crashes while it loads ends its navigation, the one before it does not', async () => {
  const { report, navigations, outcome } = follow('reload');
  navigations.handleCrashed(7);
  assert.equal(await report('BeforeNavigate', 'http://a/'), 'waiting');
  navigations.handleCrashed(7);
  assert.equal(await report('Committed', 'http://a/'), 'waiting');
  navigations.handleCrashed(7);
  await settled();
  assert.equal(outcome.state, 'tab_crashed');
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

test('a tab has the letters of its refs once it has any', async () => {
  const prefixes = new Map();
  const tabs = new Tabs(openPolicy, (tabId) => prefixes.get(tabId));
  await tabs.load();
  assert.ok(tabs.list().every((tab) => !('ref_prefix' in tab)));
  prefixes.set(7, 'b');
  assert.equal(tabs.list().find(({ tab_id }) => tab_id === 7).ref_prefix, 'b');
});

test('without tab_id a command goes to the active tab of the last focused window', async () => {
  const tabs = new Tabs(openPolicy);
  chrome.tabs.query = async () => [
    { id: 1, windowId: 10, active: true }, { id: 2, windowId: 20, active: false }, { id: 3, windowId: 20, active: true },
  ];
  chrome.windows.getLastFocused = async () => ({ id: 20 });
  assert.equal((await tabs.target(undefined)).id, 3);
  await assert.rejects(tabs.target(99), { code: 'no_such_tab', message: /tab 99/ });
  await assert.rejects(tabs.target(-1), { code: 'no_such_tab', message: /started anew/ });
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
  const webp = (kind, at, bytes) => {
    const head = Buffer.alloc(30);
    head.write('RIFF');
    head.write(`WEBP${kind}`, 8);
    Buffer.from(bytes).copy(head, at);
    return imageSize(head.toString('base64'));
  };
  assert.deepEqual(webp('VP8 ', 26, [0x20, 0x43, 0x10, 0x00]), { width: 800, height: 16 });
  assert.deepEqual(webp('VP8L', 21, [0x1f, 0xc3, 0x03, 0x00]), { width: 800, height: 16 });
  assert.deepEqual(webp('VP8X', 24, [0x1f, 0x03, 0, 0x0f, 0, 0]), { width: 800, height: 16 });
});

const sources = (folder, end) => readdirSync(new URL(folder, import.meta.url)).filter((file) => file.endsWith(end))
  .map((file) => [file.slice(0, -end.length), readFileSync(new URL(folder + file, import.meta.url), 'utf8')]);

test('a number that the daemon lets through is one that the extension takes, and no other', async () => {
  const limits = { ...await import('../../src/actions/limits.js'), ...await import('../../src/browser/limits.js') };
  const checks = sources('../../src/actions/', '.js').flatMap(([action, text]) =>
    Array.from(text.matchAll(/checkedInteger\('(\w+)', \w+, (\w+)\)/g), ([, parameter, limit]) => [`${action} ${parameter}`, limits[limit]]));
  const ranges = sources('../../../src/protocol/actions/', '.rs').flatMap(([action, text]) =>
    Array.from(text.matchAll(/range\(min = ([\d_]+), max = ([\d_]+)\)\)\]\s+(?:#.*\s+)*pub (\w+)/g), ([, least, most, parameter]) =>
      [`${action} ${parameter}`, { least: Number(least.replaceAll('_', '')), most: Number(most.replaceAll('_', '')) }]));
  assert.ok(ranges.length >= 9);
  assert.deepEqual(Object.fromEntries(checks.filter(([name]) => name !== 'batch timeout_ms').sort()), Object.fromEntries(ranges.sort()));
});

test('limits that the daemon has, too, are the same there', async () => {
  const [{ UPLOAD_FILES_MAX }, { STEPS_MAX }, { SNAPSHOT_BYTES_USUAL }, { EXECUTE_USUAL_MS }] = await Promise.all(
    ['policy', 'commands', 'browser', 'input'].map((folder) => import(`../../src/${folder}/limits.js`)));
  const inDaemon = (file, line) => Number(line.exec(readFileSync(new URL(`../../../src/${file}.rs`, import.meta.url), 'utf8'))[1].replaceAll('_', ''));
  assert.deepEqual([UPLOAD_FILES_MAX, STEPS_MAX, SNAPSHOT_BYTES_USUAL, EXECUTE_USUAL_MS], [
    inDaemon('protocol/uploads', /UPLOAD_FILES_MAX: usize = ([\d_]+);/), inDaemon('tools/batch', /MOST_STEPS: usize = ([\d_]+);/),
    inDaemon('tools/parts', /USUAL_PART: usize = ([\d_]+);/), inDaemon('lifecycle/limits', /EXECUTE: Duration = Duration::from_secs\(([\d_]+)\);/) * 1_000,
  ]);
});
