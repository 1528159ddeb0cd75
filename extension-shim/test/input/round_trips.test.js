// How often an act asks the browser. Each question that waits for the one before it makes every act slower.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome } from '../support/fakes.js';
import { installDocuments } from '../support/fake_documents.js';

installChrome();
const { actions } = await import('../../src/actions/index.js');
const { handleDetach } = await import('../../src/browser/debugger.js');
const { actEffects } = await import('../../src/input/act_effects.js');
const { policy, tabs } = await import('../../src/browser/state.js');

const URL = 'https://page.test/';
const MATCH = { id: 1, role: 'button', name: 'Save', more: '', isVisible: true, isExact: true };
const ABOUT = { count: 1, place: -1 };
const READY = { verdict: 'ready', id: 1, role: 'button', name: 'Save', tag: 'input', box: [0, 0, 20, 20], point: { x: 10, y: 10 }, field: { kind: 'text', type: 'text' }, ...ABOUT };
const LANDED = { events: { click: { isOwn: true, isTrusted: true, on: null } }, focus: null, hasMovedFocus: false, hasNewStates: false, isDownload: false, isThere: true, checked: 'true', states: [], url: URL, ...ABOUT };
/** The calls to the browser, in their order. */
let calls;
let world;
let isFocused;

beforeEach(async () => {
  installChrome();
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  calls = [];
  isFocused = true;
  world = {
    find: ({ ready }) => ({ total: 1, matches: [MATCH], ...(ready && { checked: { ...READY, checked: 'false', ...(ready.enter && { entry: world.enter }) } }), ...ABOUT }), check: READY, checkAfterMove: READY, twoFrames: undefined,
    focused: { hit: { id: 1, role: 'textbox', name: 'Name' }, ...ABOUT }, enter: { found: { kind: 'text', id: 1, role: 'textbox', name: 'Name' }, ...ABOUT },
    landedAfter: { ...LANDED, entered: [{}] }, landed: LANDED, choose: { found: { chosen: ['Green'] }, ...ABOUT },
  };
  installDocuments([{ frameId: 0, documentId: 'D', url: URL, world }]);
  const note = (object, name, words) => {
    const original = object[name];
    object[name] = (...args) => {
      calls.push(words(...args));
      return original(...args);
    };
  };
  note(chrome.scripting, 'executeScript', ({ files, args }) => (files ? 'scripts' : args[0]));
  note(chrome.webNavigation, 'getFrame', () => 'getFrame');
  note(chrome.webNavigation, 'getAllFrames', () => 'getAllFrames');
  Object.assign(chrome.tabs, { query: async () => [{ id: 7, windowId: 1, url: URL, active: true }], get: async () => { calls.push('tabs.get'); return { id: 7, windowId: 1, active: true }; } });
  chrome.windows.get = async () => { calls.push('windows.get'); return { focused: isFocused }; };
  chrome.debugger = {
    attach: async () => {}, detach: async () => {},
    sendCommand: async (_, method, { type, enabled } = {}) => {
      calls.push(`${method.replace(/^\w+\./, '')}${type ? ` ${type}` : ''}${enabled === false ? ' off' : ''}`);
      return method === 'Page.getFrameTree' ? { frameTree: { frame: { id: 'F', url: URL } } } : {};
    },
  };
  policy.handleRules({ type: 'site_rules', allow: [], deny: [] });
  await tabs.load();
  handleDetach({ tabId: 7 }, 'target_closed');
  await act('press_key', { key: 'a' });
});

async function act(name, params) {
  calls.length = 0;
  const outcome = await actions[name](params, { tab_id: 7, timeout_ms: 10_000, client: 'test', signal: new AbortController().signal, begin() {}, admitAct() {}, onStop() {} });
  // The next one does not follow at once.
  mock.timers.tick(1_000);
  return { outcome, asked: [...calls] };
}

const MOVE = ['dispatchMouseEvent mouseMoved', 'dispatchMouseEvent mouseReleased'];
const PRESS = ['dispatchMouseEvent mousePressed', 'dispatchMouseEvent mouseReleased'];
const CHOOSER = ['setInterceptFileChooserDialog', 'setInterceptFileChooserDialog off'];
const KEY = ['dispatchKeyEvent keyDown', 'dispatchKeyEvent keyUp'];
const sorted = (/** @type {string[]} */ all) => [...all].sort();

test('on a page that was looked at before, acts ask no more than they need', async () => {
  for (const [name, params, needed] of [
    ['press_key', { key: 'a' }, ['getAllFrames', 'focused', ...KEY, 'landedAfter']],
    ['hover', { target: '#a' }, ['getAllFrames', 'find', ...MOVE, 'landedAfter']],
    ['click', { target: '#a' }, ['getAllFrames', 'find', 'windows.get', ...MOVE, 'checkAfterMove', ...PRESS, 'landed']],
    ['check', { target: '#a' }, ['getAllFrames', 'find', 'windows.get', ...MOVE, 'checkAfterMove', ...PRESS, 'landed']],
    ['type', { target: '#a', text: 'Ann' }, ['getAllFrames', 'find', 'insertText', ...KEY, 'landedAfter']],
    ['select_option', { target: '#a', values: ['Green'] }, ['getAllFrames', 'find', 'choose', 'landed']],
    ['fill_form', { fields: [{ target: '#a', value: 'Ann' }] }, ['getAllFrames', 'find', 'insertText', ...KEY, 'landed']],
  ]) {
    const { asked } = await act(name, params);
    assert.deepEqual(sorted(asked), sorted([...CHOOSER, ...needed]), name);
  }
  const { asked } = await act('find', { text: 'Save' });
  assert.deepEqual(asked, ['find', 'getAllFrames', 'getFrame']);
});

test('of a page that keeps the pointer\'s moves to itself the place is looked at once more, after the move', async () => {
  world.landedAfter = null;
  assert.ok((await act('hover', { target: '#a' })).asked.includes('landed'));
  for (const kept of [null, new Promise(() => {})]) {
    world.checkAfterMove = () => kept;
    const clicked = act('click', { target: '#a' });
    for (let at = 0; at < 300; at += 1) await Promise.resolve();
    mock.timers.tick(5);
    const { asked } = await clicked;
    assert.ok(asked.indexOf('check') > asked.indexOf(MOVE[1]) && asked.indexOf('check') < asked.indexOf(PRESS[0]), `${asked}`);
  }
  let moves = 0;
  world.checkAfterMove = () => (++moves === 1 ? { ...READY, verdict: 'covered', point: undefined } : READY);
  const { asked } = await act('click', { target: '#a' });
  assert.ok(asked.lastIndexOf('find') > asked.indexOf(MOVE[1]) && !asked.includes('check'), `it is found anew: ${asked}`);
});

test('the options of a list in a form are chosen as it is found, once no chooser of files can open', async () => {
  const fieldOf = (/** @type {any} */ ready, /** @type {string} */ kind) => ({ ...READY, field: { kind, type: '' }, ...(kind === 'text' && { entry: world.enter }), ...(kind === 'list' && ready.choose && { choice: world.choose }) });
  world.find = ({ query, ready }) => ({ total: 1, matches: [MATCH], checked: fieldOf(ready, query.css === '#list' ? 'list' : 'text'), ...ABOUT });
  const { asked } = await act('fill_form', { fields: [{ target: '#a', value: 'Ann' }, { target: '#list', value: 'Green' }] });
  assert.deepEqual(sorted(asked), sorted([...CHOOSER, 'getAllFrames', 'find', 'insertText', ...KEY, 'getAllFrames', 'find', 'landed']));
  const { asked: alone } = await act('fill_form', { fields: [{ target: '#list', value: 'Green' }] });
  assert.deepEqual(sorted(alone), sorted([...CHOOSER, 'getAllFrames', 'find', 'choose', 'landed']));
});

test('in a tab behind another one no window is looked at', async () => {
  tabs.handleActivated({ tabId: 8, windowId: 1 });
  const { asked } = await act('click', { target: '#a' });
  assert.ok(!asked.includes('windows.get') && asked.includes(PRESS[0]), `${asked}`);
});

test('the window of a tab that has just been moved is asked for', async () => {
  const seen = [];
  chrome.tabs.get = async () => ({ id: 7, windowId: 2, active: true });
  chrome.windows.get = async (id) => {
    seen.push(id);
    if (id === 1) throw new Error('No window with id: 1.');
    return { focused: false };
  };
  world.clickByScript = true;
  assert.equal((await act('click', { target: '#a' })).outcome.value.input, 'scripted');
  tabs.handleAttached(7, 2);
  await act('click', { target: '#a' });
  assert.deepEqual([seen[0], seen.slice(1).every((id) => id === 2)], [1, true], `${seen}`);
});

test('with rules for sites the page is looked at before the first event and after the last one', async () => {
  policy.handleRules({ type: 'site_rules', allow: [], deny: ['other.test'] });
  for (const [name, params] of [['click', { target: '#a' }], ['press_key', { key: 'a' }], ['type', { target: '#a', text: 'Ann' }]]) {
    const { asked } = await act(name, params);
    const events = [...asked.keys()].filter((at) => /^(dispatch|insertText|enter)/.test(asked[at]));
    const looks = [...asked.keys()].filter((at) => asked[at] === 'getFrameTree');
    assert.ok(looks[0] < events[0] && looks.at(-1) > events.at(-1), `${name}: ${asked}`);
  }
  policy.handleRules({ type: 'site_rules', allow: [], deny: ['page.test'] });
  await assert.rejects(act('press_key', { key: 'a' }), { code: 'blocked_by_policy' });
  assert.ok(!calls.some((call) => /^(dispatch|focused)/.test(call)), `${calls}`);
});

test('no chooser of files can open before an event, and no press comes before the window was looked at', async () => {
  const { asked } = await act('click', { target: '#a' });
  assert.ok(asked.indexOf('setInterceptFileChooserDialog') < asked.indexOf(MOVE[0]), `${asked}`);
  assert.ok(asked.indexOf('windows.get') < asked.indexOf(MOVE[0]), `${asked}`);
  isFocused = false;
  world.clickByScript = true;
  const { asked: quiet, outcome } = await act('click', { target: '#a' });
  assert.equal(outcome.value.input, 'scripted');
  assert.ok(!quiet.some((call) => call.startsWith('dispatch')), `${quiet}`);
});

test('what a page has begun meanwhile is waited for, also where its own document says that nothing has changed', async () => {
  world.landed = () => {
    actEffects.handleDebuggerEvent({ tabId: 7 }, 'Page.frameRequestedNavigation', { disposition: 'currentTab', reason: 'anchorClick', url: `${URL}next` });
    return LANDED;
  };
  const clicked = act('click', { target: '#a' });
  for (let at = 0; at < 200; at += 1) await Promise.resolve();
  assert.ok(!calls.includes('getFrame'), 'it waits');
  actEffects.handleBeforeNavigate({ tabId: 7, frameId: 0, url: `${URL}next` });
  chrome.webNavigation.getFrame = async () => ({ documentId: 'E', url: `${URL}next` });
  actEffects.handleDomReady({ tabId: 7, frameId: 0, url: `${URL}next` });
  assert.equal((await clicked).outcome.value.navigated, `${URL}next`);
});
