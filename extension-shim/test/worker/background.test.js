// The wiring: what wakes a worker, and that all of it is listened to from the first moment.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const listened = [];
const area = (name) => new Proxy({}, {
  get: (_, event) => ({
    addListener(listener) {
      listened.push(`${name}.${String(event)}`);
      if (event === 'onMessage') onMessage = listener;
    },
  }),
});
let onMessage;
globalThis.location = { origin: 'chrome-extension://ours' };
const alarms = mock.fn();
Object.assign(chrome.runtime, { onStartup: area('runtime').onStartup, onInstalled: area('runtime').onInstalled,
  onMessage: area('runtime').onMessage, getURL: (path) => path });
Object.assign(chrome, { webNavigation: area('webNavigation'), downloads: area('downloads'), permissions: area('permissions') });
chrome.alarms = { onAlarm: area('alarms').onAlarm, create: alarms };
chrome.debugger = { onEvent: area('debugger').onEvent, onDetach: area('debugger').onDetach, getTargets: async () => [] };
for (const name of ['tabs', 'windows']) {
  chrome[name] = new Proxy(chrome[name], { get: (real, key) => (String(key).startsWith('on') ? area(name)[key] : real[key]) });
}
globalThis.fetch = async () => { throw new Error('no config'); };
mock.timers.enable({ apis: ['setTimeout'] });
mock.method(console, 'warn', () => {});
await import('../../src/worker/background.js');

test('a killed worker is woken by a tab that loads, by a click, by the browser\'s start, and every second', () => {
  for (const event of ['tabs.onUpdated', 'webNavigation.onCommitted', 'runtime.onStartup', 'runtime.onMessage', 'alarms.onAlarm']) {
    assert.ok(listened.includes(event), event);
  }
  const [, { periodInMinutes }] = alarms.mock.calls[0].arguments;
  assert.equal(Math.round(periodInMinutes * 60), 1);
});

test('what is kept, the key among it, is not for what runs in pages', () => {
  const [level] = chrome.storage.local.setAccessLevel.mock.calls[0].arguments;
  assert.deepEqual(level, { accessLevel: 'TRUSTED_CONTEXTS' });
});

test('the popup is answered, and what runs in other pages is not, nor anything done for it', () => {
  const answer = mock.fn();
  for (const ask of [{ ask: 'state' }, { ask: 'pair', line: '' }, { ask: 'forget' }, { draw: 'send', drawing: {}, asks: [] }, { draw: 'cancel' }]) {
    assert.equal(onMessage(ask, { origin: 'https://page.example' }, answer), false);
    assert.equal(onMessage(ask, {}, answer), false);
    assert.equal(onMessage(ask, { origin: location.origin }, answer), true);
  }
  assert.equal(onMessage({ ask: 'unknown' }, { origin: location.origin }, answer), false);
});
