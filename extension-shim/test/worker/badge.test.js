// The icons are those that scripts/icons.mjs draws, and the badge leaves them to be seen.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { beforeEach, test } from 'node:test';
import { drawIcon, ICONS } from '../../../scripts/icons.mjs';
import { decodePng } from '../../../scripts/png.mjs';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { showAsking, showAsks, showDrawings, showOpenedTabs, showStatus, showStopped, showUnconfirmed } = await import('../../src/worker/badge.js');

const ours = (path) => new URL(`../../${path}`, import.meta.url);
let face;

beforeEach(() => {
  face = {};
  chrome.action = {
    setIcon: async ({ path }) => { face.icons = Object.values(path); },
    setBadgeText: async ({ text }) => { face.text = text; },
    setBadgeBackgroundColor: async ({ color }) => { face.color = color; },
    setBadgeTextColor: async () => {},
    setTitle: async ({ title }) => { face.title = title; },
  };
});

for (const icon of ICONS) {
  test(`${icon.name} is as it is drawn by scripts/icons.mjs`, () => {
    assert.deepEqual(decodePng(readFileSync(ours(`icons/${icon.name}`))), drawIcon(icon));
  });
}

test('the manifest names icons of all sizes that Chrome shows', () => {
  const { icons, action } = JSON.parse(readFileSync(ours('manifest.json'), 'utf8'));
  assert.deepEqual(Object.keys(icons), ['16', '32', '48', '128']);
  for (const [size, path] of [...Object.entries(icons), ...Object.entries(action.default_icon)]) {
    assert.equal(decodePng(readFileSync(ours(path))).width, Number(size), path);
  }
});

test('no badge covers the icon: each has one character, and none shows while all is well', async () => {
  const steps = [
    [() => showStatus('connected', ''), ''], [() => showAsking(2), '?'], [() => showUnconfirmed(true), '!'],
    [() => showDrawings(1), '!'], [() => showStopped(true), '■'], [() => showStopped(false), '!'],
    [() => showUnconfirmed(false), '1'], [() => showDrawings(12), '+'], [() => showStatus('disconnected', ''), '+'],
    [() => showDrawings(0), ''], [() => showAsks(2), '2'], [() => showDrawings(3), '5'], [() => showAsks(0), '3'], [() => showDrawings(0), ''],
    [() => showStatus('refused', ''), '!'], [() => showStatus('disconnected', ''), ''],
  ];
  for (const [step, text] of steps) {
    step();
    await settled();
    assert.equal(face.text, text, step);
    assert.ok([...face.text].length <= 1);
    for (const path of face.icons) assert.ok(existsSync(ours(path.slice(1))), path);
  }
});

test('no agent covers what was allowed without the person, or their stop, by asking for a drawing', async () => {
  showStatus('connected', '');
  showUnconfirmed(true);
  showDrawings(3);
  await settled();
  assert.match(face.title, /allowed without you/);
  showStopped(true);
  await settled();
  assert.match(face.title, /stopped all agents/);
  showStopped(false);
  showUnconfirmed(false);
  showDrawings(0);
});

test('before the worker has run the icon is grey', () => {
  const { action } = JSON.parse(readFileSync(ours('manifest.json'), 'utf8'));
  for (const path of Object.values(action.default_icon)) assert.match(path, /grey/);
});

test('without a daemon the icon is grey, and its title names the reason', async () => {
  showStatus('disconnected', 'nobody answers');
  await settled();
  assert.match(face.icons[0], /grey/);
  assert.match(face.title, /daemon.*\(nobody answers\)/);
  showStatus('connecting', '');
  await settled();
  assert.match(face.title, /nobody answers/, 'a try that follows a failure does not flicker');
  showUnconfirmed(false);
  showAsking(0);
  showStatus('connected', 'Tabwire 0.1.0');
  await settled();
  assert.doesNotMatch(face.icons[0], /grey/);
  assert.match(face.title, /connected \(Tabwire 0\.1\.0\)/);
});

test('a tab that an agent opened says whose it is, below anything that asks for the person, and not for longer than it is', async () => {
  const tabs = {};
  chrome.action.setBadgeText = async ({ tabId, text }) => { if (tabId) tabs[tabId] = { ...tabs[tabId], text }; };
  chrome.action.setTitle = async ({ tabId, title }) => { if (tabId) tabs[tabId] = { ...tabs[tabId], title }; };
  showStatus('connected', '');
  showOpenedTabs([{ tabId: 7, client: 'Claude Code' }]);
  await settled();
  assert.deepEqual(tabs[7], { text: '•', title: 'Tabwire: connected. Claude Code opened this tab' });
  showStopped(true);
  await settled();
  assert.equal(tabs[7].text, '■');
  showStopped(false);
  showOpenedTabs([]);
  await settled();
  assert.deepEqual(tabs[7], { text: null, title: 'Tabwire: connected' });
});
