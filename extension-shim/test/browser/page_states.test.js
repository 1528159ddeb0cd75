// What agents have changed about tabs: from one emulation to another, and what puts it back.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { drop, handleDetach, handleEvent, letGo } = await import('../../src/browser/debugger.js');
const { checkedEmulation, emulationChange, EMULATION_OFF } = await import('../../src/browser/emulation.js');
const { PageStates } = await import('../../src/browser/page_states.js');
const { cdp, hold, isHeld } = await import('../../src/browser/debugger.js');
const { Policy } = await import('../../src/policy/policy.js');

const OWN = { userAgent: 'Mozilla/5.0 Chrome/148.0.0.0', metadata: { brands: ['B'] } };
let sent;
let detached;
let told;
let policy;
let states;
let refuses;
let applied;
const settings = { apply: async (all) => { applied.push(all); } };

const context = (clientId) => ({ clientId, client: clientId, begin() {} });
const methods = () => sent.map(([method]) => method).filter((method) => /^(Emulation\.(?!setFocus)|Network\.emulate)/.test(method));

beforeEach(() => {
  handleDetach({ tabId: 7 }, 'target_closed');
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  installChrome();
  [sent, detached, told, refuses, applied] = [[], [], [], null, []];
  chrome.debugger = {
    attach: async () => {},
    detach: async ({ tabId }) => { detached.push(tabId); },
    sendCommand: async (_, method, params) => {
      sent.push([method, params]);
      if (method === refuses) throw new Error('Invalid locale name');
      if (method === 'Page.getLayoutMetrics') return { cssVisualViewport: { clientWidth: 390, clientHeight: 844 } };
      return {};
    },
  };
  Object.assign(chrome.tabs, { get: async () => ({ id: 7, url: 'https://page.test/' }) });
  Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { userAgent: OWN.userAgent, userAgentData: { getHighEntropyValues: async () => OWN.metadata } } });
  policy = new Policy();
  policy.handleRules({ type: 'site_rules', allow: [], deny: [] });
  states = new PageStates(policy, settings);
  states.onChange = (list) => told.push(list);
});

test('from one emulation to another only what differs is sent, and from any to none all of it is switched off', () => {
  const all = { device: 'iphone', color_scheme: 'dark', locale: 'de-DE', timezone: 'Europe/Berlin', geolocation: '1,2', network: 'offline', cpu_slowdown: 4 };
  const on = emulationChange({}, all, OWN);
  assert.equal(on.length, EMULATION_OFF.length);
  assert.deepEqual(emulationChange(all, {}, OWN), EMULATION_OFF);
  assert.deepEqual(emulationChange(all, { ...all }, OWN), []);
  assert.deepEqual(emulationChange({ color_scheme: 'dark' }, { color_scheme: 'dark', timezone: 'Asia/Tokyo' }, OWN), [['Emulation.setTimezoneOverride', { timezoneId: 'Asia/Tokyo' }]]);
  assert.deepEqual(emulationChange({ network: 'offline' }, { network: 'full' }, OWN)[0][1].offline, false);
});

test('a language alone leaves the name of the browser as it is', () => {
  assert.deepEqual(emulationChange({}, { locale: 'de-DE' }, OWN)[0], ['Emulation.setUserAgentOverride', { userAgent: OWN.userAgent, userAgentMetadata: OWN.metadata, acceptLanguage: 'de-DE' }]);
});

test('every choice that the description of emulate names is one', () => {
  const types = readFileSync(new URL('../../types/protocol.d.ts', import.meta.url), 'utf8');
  for (const name of ['device', 'color_scheme', 'network']) {
    const [, choices] = new RegExp(`^ *${name}\\?: ((?:'\\w+'(?: \\| )?)+);`, 'm').exec(types);
    for (const choice of choices.split(' | ').map((one) => one.slice(1, -1))) assert.deepEqual(checkedEmulation({ [name]: choice }), { [name]: choice });
  }
});

for (const [name, wrong] of [
  ['viewport', '390'], ['viewport', '1x844'], ['viewport', '390x844@9'], ['viewport', 7], ['device', 'fridge'], ['touch', 'yes'], ['color_scheme', 'blue'], ['reduced_motion', 1],
  ['locale', 'not a tag'], ['locale', 7], ['timezone', 'Mars/Base'], ['timezone', ''], ['geolocation', '91,0'], ['geolocation', '1'], ['geolocation', '1,2,3'], ['network', '5g'], ['cpu_slowdown', 0.5], ['cpu_slowdown', 21],
]) {
  test(`${name} cannot be ${JSON.stringify(wrong)}`, () => {
    assert.throws(() => checkedEmulation({ [name]: wrong }), { code: 'invalid_params', message: new RegExp(`^${name} must`) });
  });
}

test('the debugger stays attached while there is an emulation, and is let go when idle after its end', async () => {
  await states.emulate(7, context('a'), { color_scheme: 'dark' });
  mock.timers.tick(3_600_000);
  assert.deepEqual(detached, []);
  assert.deepEqual(states.list(), [{ tab_id: 7, client_id: 'a' }]);
  assert.equal(isHeld(7), false, 'it is no recording');
  await states.end(7);
  assert.deepEqual(methods(), ['Emulation.setEmulatedMedia', 'Emulation.setEmulatedMedia']);
  mock.timers.tick(3_600_000);
  assert.deepEqual([detached, told], [[7], [[{ tab_id: 7, client_id: 'a' }], []]]);
});

test('a screen is emulated and put back while the page takes itself for seen: else it is not told its size', async () => {
  const between = (at) => sent.slice(0, at).filter(([method]) => method === 'Emulation.setFocusEmulationEnabled').at(-1)?.[1].enabled;
  await states.emulate(7, context('a'), { viewport: '390x844' });
  await states.end(7);
  for (const method of ['Emulation.setDeviceMetricsOverride', 'Emulation.clearDeviceMetricsOverride']) assert.equal(between(sent.findIndex(([name]) => name === method)), true, method);
  assert.equal(between(sent.length), false);
});

test('an emulation, and its end, is over once the page has been told its size', async () => {
  let clientWidth = 1_000;
  const send = chrome.debugger.sendCommand;
  chrome.debugger.sendCommand = async (target, method, params) => (method === 'Page.getLayoutMetrics' ? { cssVisualViewport: { clientWidth, clientHeight: 844 } } : send(target, method, params));
  chrome.tabs.get = async () => ({ id: 7, url: 'https://page.test/', width: 1_000, height: 844 });
  for (const [change, told] of [[() => states.emulate(7, context('a'), { viewport: '390x844' }), 390], [() => states.end(7), 1_000]]) {
    let isOver = false;
    const over = change().then(() => { isOver = true; });
    await settled();
    assert.equal(isOver, false);
    clientWidth = told;
    mock.timers.tick(20);
    await over;
  }
});

test('a recording that ends does not let the debugger go while there is an emulation', async () => {
  await hold(7);
  await states.emulate(7, context('a'), { color_scheme: 'dark' });
  letGo(7);
  mock.timers.tick(3_600_000);
  assert.deepEqual(detached, []);
});

test('an emulated network is emulated again after the source of requests was switched off', async () => {
  await states.emulate(7, context('a'), { network: 'offline' });
  sent = [];
  await cdp(7, 'Network.disable');
  await settled();
  assert.deepEqual(sent.map(([method]) => method), ['Network.disable', 'Network.enable', 'Network.emulateNetworkConditions']);
});

test('another client neither changes nor resets it', async () => {
  await states.emulate(7, context('a'), { color_scheme: 'dark' });
  assert.throws(() => states.emulationOf(7, context('b')), { code: 'tab_in_use', message: 'a has changed this tab or its site by emulate, network_rules or set_permissions' });
  await assert.rejects(states.emulate(7, context('b'), { touch: true }), { code: 'tab_in_use' });
  assert.deepEqual(states.emulationOf(7, context('a')), { color_scheme: 'dark' });
});

test('an emulation that the browser refuses leaves the former one', async () => {
  await states.emulate(7, context('a'), { color_scheme: 'dark' });
  refuses = 'Emulation.setLocaleOverride';
  await assert.rejects(states.emulate(7, context('a'), { color_scheme: 'light', locale: 'xx' }), { code: 'invalid_params', message: /Invalid locale name/ });
  assert.deepEqual(states.emulationOf(7, context('a')), { color_scheme: 'dark' });
  const media = sent.filter(([method]) => method === 'Emulation.setEmulatedMedia').map(([, { features }]) => features[0].value);
  assert.deepEqual(media, ['dark', 'light', 'dark']);
});

test('a first emulation that the browser refuses leaves none', async () => {
  refuses = 'Emulation.setLocaleOverride';
  await assert.rejects(states.emulate(7, context('a'), { locale: 'xx' }), { code: 'invalid_params' });
  assert.deepEqual(states.list(), []);
});

for (const [why, end] of [
  ['the daemon says that its client has ended', () => states.handleOver([{ tab_id: 7, client_id: 'a' }])],
  ['the person stops all agents', () => policy.setStopped(true).then(() => states.handleRules())],
  ['a rule denies its site', () => { policy.handleRules({ type: 'site_rules', allow: [], deny: ['page.test'] }); return states.handleRules(); }],
  ['a rule makes its site one that agents only read', () => { policy.handleRules({ type: 'site_rules', allow: [], deny: [], read: ['page.test'] }); return states.handleRules(); }],
  ['its tab goes to a denied site', () => { policy.handleRules({ type: 'site_rules', allow: [], deny: ['bank.test'] }); states.handleAddress(7, 'https://bank.test/'); }],
  ['its tab goes to a site on which the person wants to be asked first', () => { policy.handleRules({ type: 'site_rules', allow: [], deny: [], ask: ['bank.test'] }); states.handleAddress(7, 'https://bank.test/'); }],
  ['no daemon comes back', () => { states.handleLink(false); mock.timers.tick(30_000); }],
]) {
  test(`it is put back when ${why}`, async () => {
    await states.emulate(7, context('a'), { color_scheme: 'dark' });
    await end();
    await settled();
    assert.deepEqual([methods().length, states.list()], [2, []]);
  });
}

for (const [why, end] of [
  ['another client has ended', () => states.handleOver([{ tab_id: 7, client_id: 'b' }, { tab_id: 8, client_id: 'a' }])],
  ['its tab goes to another open site', () => states.handleAddress(7, 'https://other.test/')],
  ['the daemon comes back soon', () => { states.handleLink(false); mock.timers.tick(29_000); states.handleLink(true); mock.timers.tick(60_000); }],
]) {
  test(`it stays when ${why}`, async () => {
    await states.emulate(7, context('a'), { color_scheme: 'dark' });
    await end();
    await settled();
    assert.deepEqual([methods().length, states.list().length], [1, 1]);
  });
}

test('on a site on which the person was asked first it stays, and does not go along to another one', async () => {
  policy.handleRules({ type: 'site_rules', allow: [], deny: [], ask: ['page.test', 'bank.test'] });
  await states.emulate(7, context('a'), { color_scheme: 'dark' });
  states.handleAddress(7, 'https://page.test/next');
  await settled();
  assert.equal(states.list().length, 1);
  states.handleAddress(7, 'https://bank.test/');
  await settled();
  assert.deepEqual(states.list(), []);
});

test('where the debugger is lost or dropped, which puts all back, nothing is told as emulated any more', async () => {
  await states.emulate(7, context('a'), { color_scheme: 'dark' });
  handleDetach({ tabId: 7 }, 'target_closed');
  assert.deepEqual(states.list(), []);
  await states.emulate(7, context('a'), { color_scheme: 'dark' });
  // No command watches for dialogs here, so it is dropped.
  assert.equal(drop(7), true);
  assert.deepEqual(states.list(), []);
});

test('rules that do more than block end where the tab leaves the site of the word, or a rule forbids scripts there', async () => {
  const page = { site: 'https://page.test', frameId: 'MAIN' };
  const rule = { url: '/x', matched: 0, fits: () => true, deed: { answer: { body: '', type: 'text/css', status: 200 } } };
  const set = (rules, stated) => states.setRules(7, context('a'), rules, stated);
  await set([rule], page);
  states.handleAddress(7, 'https://page.test/other');
  await settled();
  assert.deepEqual(states.rows().map(({ rules }) => rules), [[{ url: '/x', deed: rule.deed }]]);
  states.handleAddress(7, 'https://bank.test/');
  await settled();
  assert.deepEqual(states.list(), []);
  assert.ok(sent.some(([method]) => method === 'Fetch.disable'));

  await set([{ ...rule, deed: { block: true } }], null);
  states.handleAddress(7, 'https://bank.test/');
  await settled();
  assert.equal(states.list().length, 1, 'rules that block go on');
  await set([rule], page);
  policy.handleRules({ type: 'site_rules', allow: [], deny: [], deny_actions: [{ action: 'execute_js', pattern: 'page.test' }] });
  await states.handleRules();
  await settled();
  assert.deepEqual(states.list(), []);
});

test('a rule of the page decides about no request of a page that came meanwhile', async () => {
  const rule = { url: '/x', matched: 0, fits: () => true, deed: { answer: { body: '', type: 'text/css', status: 200 } } };
  await states.setRules(7, context('a'), [rule], { site: 'https://page.test', frameId: 'MAIN' });
  let shown = 'https://bank.test/';
  chrome.webNavigation = { getFrame: async () => ({ url: shown }) };
  const request = { requestId: 'R', frameId: 'MAIN', resourceType: 'Script', request: { url: 'https://bank.test/x', method: 'GET' } };
  const decided = async () => {
    sent.length = 0;
    handleEvent({ tabId: 7 }, 'Fetch.requestPaused', request);
    await settled();
    return sent.map(([method]) => method);
  };
  assert.deepEqual(await decided(), ['Fetch.continueRequest']);
  shown = 'https://page.test/cart';
  assert.deepEqual(await decided(), ['Fetch.fulfillRequest']);
  await states.end(7);
});

const SHOP = 'https://page.test';
const SET = { site: SHOP, words: { camera: 'allow' } };

test('permissions of a site hold until they are put back, which leaves the rest of the tab as it is', async () => {
  await states.emulate(7, context('a'), { color_scheme: 'dark' });
  await states.setPermissions(7, context('a'), { camera: 'allow' }, SHOP);
  assert.deepEqual([applied.at(-1), states.permissionsOf(7, context('a')), states.rows()[0].permissions], [[SET], { camera: 'allow' }, SET]);
  await states.setPermissions(7, context('a'), {}, null);
  assert.deepEqual([applied.at(-1), states.list()], [[], [{ tab_id: 7, client_id: 'a' }]]);
});

for (const [how, end] of [
  ['its client ends', () => states.handleOver([{ tab_id: 7, client_id: 'a' }])],
  ['the tab leaves the site', () => states.handleAddress(7, 'https://other.test/')],
  ['the debugger is let go', () => handleDetach({ tabId: 7 }, 'target_closed')],
  ['the person denies the act', () => { policy.handleRules({ type: 'site_rules', allow: [], deny: [], deny_actions: [{ action: 'set_permissions', pattern: 'page.test' }] }); states.handleAddress(7, `${SHOP}/`); }],
]) {
  test(`permissions of a site are put back when ${how}`, async () => {
    await states.setPermissions(7, context('a'), { camera: 'allow' }, SHOP);
    states.handleAddress(7, `${SHOP}/other`);
    assert.deepEqual(applied.at(-1), [SET]);
    end();
    await settled();
    assert.deepEqual([applied.at(-1), states.list()], [[], []]);
  });
}

test('another client cannot set permissions of the site in its own tab, and a failure changes nothing', async () => {
  await states.setPermissions(7, context('a'), { camera: 'allow' }, SHOP);
  await assert.rejects(states.setPermissions(8, context('b'), { camera: 'deny' }, SHOP), { code: 'tab_in_use' });
  const { apply } = settings;
  settings.apply = async (all) => { applied.push(all); if (applied.length === 2) throw new Error('no'); };
  await assert.rejects(states.setPermissions(7, context('a'), { camera: 'ask' }, SHOP), /no/);
  settings.apply = apply;
  assert.deepEqual([applied.at(-1), states.permissionsOf(7, context('a'))], [[SET], { camera: 'allow' }]);
});
