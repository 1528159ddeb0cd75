// What the watch inside a page tells of, and what it must never tell.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { readWatch, STOP_WATCH, watchSource } = await import('../../src/capture/page_watch.js');
const watch = await import('../../src/injected/watch_actions.js');
const { SECRET_TABLE, Secrets } = await import('../../src/injected/secrets.js');
const secrets = new Secrets(SECRET_TABLE);
const { makeInputs, makeShifts } = await import('../../src/injected/watch_vitals.js');

/** An element with no page around it. */
function field(fields = {}, attributes = {}) {
  return { localName: 'input', type: 'text', value: '', ...fields, getAttribute: (name) => attributes[name] ?? null };
}

beforeEach(() => { delete globalThis.tabwireSecrets; });

for (const [what, element] of Object.entries({
  'a password field': field({ type: 'password', value: 'hunter2' }),
  'a new password': field({ autocomplete: 'new-password', value: 'hunter2' }),
  'a one-time code': field({ autocomplete: 'one-time-code', value: '123456' }),
  'a card number': field({ autocomplete: 'section-a cc-number', value: '4111' }),
  'a field named like a password': field({ value: 'hunter2' }, { name: 'user_passwd' }),
  'a field named cvv': field({ value: '123' }, { id: 'cvv' }),
  'an API key': field({ value: 'x' }, { placeholder: 'Your API key' }),
  'a card number in any field': field({ value: '4111 1111 1111 1111' }, { name: 'note' }),
})) {
  test(`${what} is masked`, () => assert.deepEqual(watch.valueOf(element), { masked: true }));
}

test('a password that is shown for a moment stays masked', () => {
  const element = field({ type: 'password' });
  secrets.remember(element);
  Object.assign(element, { type: 'text', value: 'hunter2' });
  assert.deepEqual(watch.valueOf(element), { masked: true });
});

test('ordinary values are told, long ones cut, files and what has no value not', () => {
  assert.deepEqual(watch.valueOf(field({ value: 'Ann' }, { name: 'user' })), { value: 'Ann' });
  assert.deepEqual(watch.valueOf(field({ value: '4111 1111 1111 1112' })), { value: '4111 1111 1111 1112' });
  assert.deepEqual(watch.valueOf(field({ type: 'checkbox', checked: true, value: 'on' })), { value: 'true' });
  assert.deepEqual(watch.valueOf(field({ type: 'file', value: 'C:\\fakepath\\x' })), {});
  assert.deepEqual(watch.valueOf(field({ value: undefined })), {});
  assert.equal(watch.valueOf(field({ value: 'x'.repeat(1_000) })).value.length, 201);
});

const key = (key, held = {}) => watch.keyOf({ key, getModifierState: (name) => held[name] === true, ...held });

test('keys that move and shortcuts are told, what is typed is not', () => {
  for (const [name, held, said] of [
    ['Enter', {}, 'Enter'], ['Escape', {}, 'Escape'], ['ArrowUp', {}, 'ArrowUp'], ['Tab', { shiftKey: true }, 'Shift+Tab'],
    ['s', { ctrlKey: true }, 'Control+S'], ['k', { metaKey: true, shiftKey: true }, 'Meta+Shift+K'], ['F4', { altKey: true }, 'Alt+F4'],
    ['a', {}, null], ['A', { shiftKey: true }, null], ['ł', { altKey: true }, null], ['@', { ctrlKey: true, altKey: true, AltGraph: true }, null],
    ['Control', { ctrlKey: true }, null], ['Backspace', {}, null], ['Enter', { isComposing: true }, null],
  ]) assert.equal(key(name, held), said, `${name} ${JSON.stringify(held)}`);
});

test('what is called something is told by that, never by what was typed', () => {
  assert.equal(watch.textIn(field({ value: 'secret', labels: [{ innerText: ' Your\n name ' }] })), 'Your name');
  assert.equal(watch.textIn(field({ value: 'secret' }, { placeholder: 'Name' })), 'Name');
  assert.equal(watch.textIn(field({ value: 'secret' })), '');
  assert.equal(watch.textIn(field({ localName: 'div', innerText: 'secret', isContentEditable: true })), '');
  assert.equal(watch.textIn(field({ type: 'submit', value: 'Send' })), 'Send');
  assert.equal(watch.textIn(field({ localName: 'button', innerText: 'x'.repeat(200) })).length, 80);
});

// ── The watch as a whole, with a page of its own ─────────────────────────────────────

/** Runs the script as a page would; what it says, and how to make things happen. */
function inPage(streams, binding = 'say', named = {}) {
  const said = [];
  const fields = [];
  const listeners = new Map();
  const page = {
    location: { href: 'http://a/' },
    document: { documentElement: field({ localName: 'html' }), readyState: 'complete', querySelectorAll: () => fields },
    PerformanceObserver: class { static supportedEntryTypes = []; },
    CSS: { escape: (text) => text },
    Element: Object,
    setTimeout, clearTimeout, AbortController, Date, JSON, WeakSet,
    addEventListener: (name, handle, { signal }) => {
      listeners.set(name, handle);
      signal.addEventListener('abort', () => { if (listeners.get(name) === handle) listeners.delete(name); });
    },
    [binding]: (text) => said.push(JSON.parse(text)),
  };
  page.self = page.top = page.globalThis = page;
  // As elements do that the page gives a name.
  Object.setPrototypeOf(page, named);
  const run = (source) => new Function(...Object.keys(page), `return ${source}`)(...Object.values(page));
  run(watchSource(new Set(streams), binding));
  const fire = (name, element, more) => listeners.get(name)?.({ isTrusted: true, timeStamp: 1_000, composedPath: () => [element], ...more });
  return { said, fire, run, page, listeners, fields };
}

/** One that is found by its id. */
function element(id, fields, attributes) {
  const made = { ...field(fields, attributes), id, closest: () => null, getRootNode: () => ({ querySelectorAll: () => [made] }) };
  return made;
}

test('what is typed is told once, when it rests, and a change ends it', () => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 5_000 });
  const { said, fire } = inPage(['actions']);
  const name = element('name', { value: 'Ann' });
  for (let at = 0; at < 5; at += 1) fire('input', name);
  mock.timers.tick(499);
  assert.deepEqual(said, []);
  mock.timers.tick(1);
  fire('input', name);
  fire('change', name);
  mock.timers.tick(1_000);
  assert.deepEqual(said.map(({ entry: { kind, value } }) => [kind, value]), [['input', 'Ann'], ['change', 'Ann']]);
  assert.deepEqual(said[0], { stream: 'actions', entry: { t: 5_500, url: 'http://a/', kind: 'input', target: { selector: '#name', tag: 'input' }, value: 'Ann' } });
});

test('what script makes up is not told', () => {
  const { said, fire } = inPage(['actions']);
  fire('click', element('go'), { isTrusted: false });
  assert.deepEqual(said, []);
  fire('click', element('go'));
  assert.equal(said.length, 1);
});

test('a password is never in what is said', () => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const { said, fire } = inPage(['actions']);
  const password = element('login', { type: 'password', value: 'hunter2' });
  fire('focusin', password);
  fire('click', password);
  fire('input', password);
  fire('keydown', password, { key: 'x', getModifierState: () => false });
  password.type = 'text';
  fire('change', password);
  mock.timers.tick(1_000);
  assert.deepEqual(said.map(({ entry: { kind, masked } }) => [kind, masked]), [['click', undefined], ['change', true]]);
  assert.equal(JSON.stringify(said).includes('hunter'), false);
});

test('a password field that was there before anybody watched is remembered, though it shows its text by now', () => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const { said, fire, fields, listeners } = inPage(['actions']);
  const password = element('login', { type: 'password', value: 'hunter2' });
  fields.push(password);
  listeners.get('DOMContentLoaded')();
  password.type = 'text';
  fire('change', password);
  assert.equal(said[0].entry.masked, true);
});

test('scrolling is told twice a second at most', () => {
  const { said, fire } = inPage(['actions']);
  for (let timeStamp = 1_000; timeStamp < 3_000; timeStamp += 50) fire('scroll', element('list'), { timeStamp });
  assert.equal(said.length, 4);
});

test('a watch that is stopped is gone, and one that is there is not doubled', () => {
  const { run, page, listeners } = inPage(['actions', 'performance']);
  assert.equal(typeof page.tabwireStop, 'function');
  const before = listeners.get('click');
  run(watchSource(new Set(['actions']), 'say'));
  assert.equal(listeners.get('click'), before);
  run(STOP_WATCH);
  assert.deepEqual([listeners.size, page.tabwireStop], [0, undefined]);
});

test('an element of the watch\'s name keeps no watch from beginning, and harms none that ends', () => {
  const { run, page, listeners } = inPage(['actions'], 'say', { tabwireStop: {} });
  assert.equal(listeners.has('click'), true);
  run(STOP_WATCH);
  assert.equal(listeners.size, 0);
  run(STOP_WATCH);
  assert.deepEqual(page.tabwireStop, {});
});

test('only what is asked for is watched, and heard', () => {
  assert.equal(inPage(['actions']).listeners.has('visibilitychange'), false);
  assert.equal(inPage(['performance']).listeners.has('click'), false);
  const payload = JSON.stringify({ stream: 'actions', entry: { t: 1, url: 'http://a/', kind: 'click' } });
  assert.equal(readWatch(payload, new Set(['performance'])), null);
  assert.equal(readWatch(payload, new Set(['actions'])).entry.kind, 'click');
});

test('the worst burst of shifts counts, and the slowest interaction', () => {
  const shift = makeShifts();
  const at = (startTime, value) => shift({ startTime, value });
  assert.deepEqual([at(0, 0.1), at(500, 0.1), at(2_000, 0.05), at(9_000, 0.15)], [0.1, 0.2, 0.2, 0.2]);
  const input = makeInputs();
  assert.deepEqual([input({ interactionId: 1, duration: 40 }), input({ interactionId: 2, duration: 24 })], [40, 40]);
  for (let interactionId = 3; interactionId <= 50; interactionId += 1) input({ interactionId, duration: 8 });
  assert.equal(input({ interactionId: 51, duration: 8 }), 24);
});
