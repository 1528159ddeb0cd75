// Scripts in tabs whose debugger bar the person has closed.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import vm from 'node:vm';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { actions } = await import('../../src/actions/index.js');
const { handleDetach } = await import('../../src/browser/debugger.js');
const { PAGE_PROBE_MS } = await import('../../src/browser/limits.js');
const { RESULT_MAX_BYTES } = await import('../../src/commands/limits.js');
const { policy, tabs } = await import('../../src/browser/state.js');

policy.handleRules({ type: 'site_rules', allow: [], deny: [] });

/** An event of the browser, whose listeners the test can count and call. */
function fakeEvent() {
  const listeners = new Set();
  return {
    listeners,
    addListener: (listener) => listeners.add(listener),
    removeListener: (listener) => listeners.delete(listener),
    hear: (...answer) => { for (const listener of [...listeners]) listener(...answer); },
  };
}

/** The page's own world. */
let page;

/** As Chromium does: each entry by itself, failures silently, the value of the last one as JSON. */
async function execute({ js, world, target }) {
  assert.equal(world, 'MAIN');
  assert.deepEqual(target, { tabId: 7, documentIds: ['D'] }, 'where the browser was asked about');
  let value;
  for (const { code } of js) {
    value = null;
    try {
      value = vm.runInContext(code, page);
    } catch { /* It tells nothing. */ }
  }
  const result = await value;
  return [{ frameId: 0, result: JSON.parse(JSON.stringify(result ?? null)) }];
}

beforeEach(async () => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(console, 'debug', () => {});
  installChrome();
  page = vm.createContext({ location: { origin: 'http://forged' }, later: Promise.resolve('later') });
  chrome.userScripts = { execute };
  chrome.webNavigation = { onCommitted: fakeEvent(), getFrame: async () => ({ url: 'http://a/b', documentId: 'D' }) };
  chrome.tabs.onRemoved = fakeEvent();
  await tabs.load();
  handleDetach({ tabId: 7 }, 'canceled_by_user');
});

let stop;
const begin = () => {};
const onStop = (cleanUp) => { stop = cleanUp; };
const run = (script) => actions.execute_js({ script }, { tab_id: 7, timeout_ms: 1_000, begin, onStop, admitAct() {} });

test('values arrive as they do through the debugger', async () => {
  for (const [script, type, value] of [
    ['1 + 1;', 'number', 2], ['return 7', 'number', 7], ['const a = 2; return a * 3 // six', 'number', 6],
    ['await later', 'string', 'later'], ['undefined', 'undefined', null], ['10n', 'bigint', '10'], ['0/0', 'nan', 'NaN'],
    ['const o = {}; o.o = o; return o', 'object', { o: { $type: 'cycle', value: '$' } }],
  ]) {
    const { origin, ...outcome } = await run(script);
    assert.deepEqual(outcome, { type, value }, script);
    assert.equal(origin, 'http://a');
  }
  assert.deepEqual(Object.keys(page).sort(), ['later', 'location'], 'nothing of ours is left in the page');
});

test('what a script throws is told with its own lines', async () => {
  await assert.rejects(run('\nnull.x'), (error) => error.code === 'script_threw' && !/runInPage/.test(error.pageStack));
  await assert.rejects(run(`'x'.repeat(${RESULT_MAX_BYTES + 1})`), { code: 'result_too_large' });
});

test('what does not compile, and statements without a value, have not run', async () => {
  await assert.rejects(run('this is no script'), { code: 'syntax_error' });
  page.ran = 0;
  await assert.rejects(run('ran += 1; ran'), { code: 'debugger_unavailable', message: /statements have no value/, more: { mayHaveRun: false, hint: 'Nothing of the script has run: add a return to it and call again.' } });
  assert.equal(page.ran, 0);
});

test('no activation is given here, and a script that wants one has not run', async () => {
  page.ran = 0;
  const wanting = actions.execute_js({ script: 'ran += 1', user_gesture: true }, { tab_id: 7, timeout_ms: 1_000, begin, onStop, admitAct() {} });
  await assert.rejects(wanting, ({ code, more }) => code === 'debugger_unavailable' && more.mayHaveRun === false);
  assert.equal(page.ran, 0);
});

test('a page that answers in the place of a script has it run once, and does not say where it was', async () => {
  const forge = "r({ __proto__: null, origin: 'http://bank', type: 'string', value: 'forged' })";
  vm.runInContext(`var ran = 0; Promise.prototype.then = function (r) { ${forge}; r(1); throw 5 };
    Object.defineProperty(Promise.prototype, 'constructor', { get() { return class {} } });
    for (const k of ['ran', 'answer', 'expression', 'body']) Object.defineProperty(Object.prototype, k, { get() { return () => ({}) }, set() { throw 1 } });`, page);
  for (const [n, script] of ['(globalThis.runs ??= []).push(1), 1', '(globalThis.runs ??= []).push(1); return 1'].entries()) {
    const { origin } = await run(script).catch(() => ({ origin: 'http://a' }));
    assert.equal(origin, 'http://a');
    assert.equal(page.runs.length, n + 1, script);
  }
});

test('a page that is left, and a tab that is closed, end the script', async () => {
  const { onCommitted } = chrome.webNavigation;
  const { onRemoved } = chrome.tabs;
  for (const [code, happens, isNot] of [
    ['navigation_interrupted', () => onCommitted.hear({ tabId: 7, frameId: 0 }), () => onCommitted.hear({ tabId: 7, frameId: 3 })],
    ['tab_closed', () => onRemoved.hear(7), () => onRemoved.hear(8)],
  ]) {
    let ended = false;
    const running = run('new Promise(() => {})').finally(() => { ended = true; });
    await settled();
    isNot();
    await settled();
    assert.ok(!ended, code);
    happens();
    await assert.rejects(running, { code });
  }
  assert.equal(chrome.tabs.onRemoved.listeners.size + chrome.webNavigation.onCommitted.listeners.size, 0);
});

test('a page that does not react any more is told of when the time is up', async () => {
  run('new Promise(() => {})');
  await settled();
  assert.equal(await stop(), '');
  chrome.userScripts.execute = () => new Promise(() => {});
  const note = stop();
  mock.timers.tick(PAGE_PROBE_MS);
  assert.match(await note, /nothing can end what it does: close the tab with tab_close/);
});

test('without the permission both ways out are named', async () => {
  delete chrome.userScripts;
  await assert.rejects(run('1'), ({ code, more }) =>
    code === 'debugger_unavailable' && /click "Give control back" in the Tabwire popup, or.* "Allow User Scripts"/.test(more.hint));
});

test('a tab whose bar was not closed is left to the debugger', async () => {
  handleDetach({ tabId: 8 }, 'target_closed');
  chrome.debugger = { attach: async () => { throw new Error('busy'); } };
  chrome.userScripts.execute = () => assert.fail('not asked for');
  const other = actions.execute_js({ script: '1' }, { tab_id: 8, timeout_ms: 1_000, begin, onStop, admitAct() {} });
  await assert.rejects(other, { code: 'debugger_unavailable', message: /busy/ });
});
