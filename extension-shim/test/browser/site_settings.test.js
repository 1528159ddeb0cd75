// What sites may use, as agents have it set: over the person's own settings, which hold again afterwards.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { checkedPermissions, SiteSettings } = await import('../../src/browser/site_settings.js');

const SHOP = 'https://shop.example';
let calls;
let rules;
let refuses;

beforeEach(() => {
  [calls, rules, refuses] = [[], {}, null];
  const setting = (type) => ({
    clear: async () => { calls.push(`clear ${type}`); rules[type] = {}; },
    set: async ({ primaryPattern, setting: word }) => {
      if (primaryPattern === refuses) throw new Error('Invalid pattern');
      rules[type] = { ...rules[type], [primaryPattern]: word };
    },
  });
  chrome.contentSettings = Object.fromEntries(['location', 'notifications', 'camera', 'microphone', 'clipboard', 'automaticDownloads'].map((type) => [type, setting(type)]));
});

test('what is set is there, and what is no more set is taken away without the settings of other sites', async () => {
  const settings = new SiteSettings();
  const here = { site: SHOP, words: { geolocation: 'allow', camera: 'deny' } };
  const there = { site: 'http://127.0.0.1:80', words: { geolocation: 'ask' } };
  await settings.apply([here, there]);
  assert.deepEqual(rules, { location: { [`${SHOP}/*`]: 'allow', 'http://127.0.0.1:80/*': 'ask' }, camera: { [`${SHOP}/*`]: 'block' } });
  await settings.apply([there]);
  assert.deepEqual(rules, { location: { 'http://127.0.0.1:80/*': 'ask' }, camera: {} });
  calls = [];
  await settings.apply([there]);
  assert.deepEqual(calls, [], 'nothing differs');
});

test('a new worker takes away all that an earlier one has left', async () => {
  await new SiteSettings().restore();
  assert.equal(calls.length, 6);
  delete chrome.contentSettings;
  await new SiteSettings().restore();
  await new SiteSettings().apply([]);
});

test('after a failure the next change sets all anew', async () => {
  const settings = new SiteSettings();
  refuses = `${SHOP}/*`;
  await assert.rejects(settings.apply([{ site: SHOP, words: { camera: 'allow' } }]), /Invalid pattern/);
  await settings.apply([{ site: 'https://a.example', words: { camera: 'allow' } }]);
  assert.deepEqual(rules.camera, { 'https://a.example/*': 'allow' });
});

for (const wrong of [null, [], 'all', { midi: 'allow' }, { camera: 'yes' }, { camera: true }, { constructor: 'allow' }]) {
  test(`permissions cannot be ${JSON.stringify(wrong)}`, () => {
    assert.throws(() => checkedPermissions(wrong), { code: 'invalid_params', message: /^permissions/ });
  });
}

test('permissions are given by name', () => {
  assert.deepEqual(checkedPermissions({ camera: 'ask', automatic_downloads: 'allow' }), { camera: 'ask', automatic_downloads: 'allow' });
});
