// An act that needs an optional permission of the extension waits until the browser has given it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { ConsentNeeded, tooLateToAsk } = await import('../../src/lib/consent.js');
const { permissionName, permissionReason } = await import('../../src/lib/optional_permissions.js');
const { askForPermission, neededPermission } = await import('../../src/policy/browser_permissions.js');
const { default: manifest } = await import('../../manifest.json', { with: { type: 'json' } });

const set = { type: 'set_permissions', params: { permissions: { camera: 'allow' } } };
const given = (is) => { chrome.permissions = { contains: async ({ permissions }) => is && permissions[0] === 'contentSettings' }; };

test('only an act that sets permissions needs one, also as a step', () => {
  assert.equal(neededPermission(set), 'contentSettings');
  assert.equal(neededPermission({ type: 'batch', params: { steps: [null, { action: 'set_permissions', permissions: {} }] } }), 'contentSettings');
  for (const [type, params] of [['set_permissions', {}], ['set_permissions', { reset: true }], ['click', { permissions: {} }], ['batch', { steps: 7 }]]) assert.equal(neededPermission({ type, params }), null);
});

test('it is asked for until the browser has given it, whatever words the command has', async () => {
  given(false);
  const word = { kind: 'permission', site: 'contentSettings' };
  for (const more of [{}, { allowed: [word] }, { consents: [{ ...word, allowed: true }] }]) {
    await assert.rejects(askForPermission({ ...set, ...more }, 'https://shop.example/'), (error) => {
      assert.ok(error instanceof ConsentNeeded);
      assert.deepEqual(error.need, word);
      return true;
    });
  }
  given(true);
  await askForPermission(set, 'https://shop.example/');
});

test('nobody is asked where the act is refused anyway', async () => {
  given(false);
  for (const url of ['about:blank', 'file:///a.html', '']) await askForPermission(set, url);
});

test('in the middle of a command nobody is asked any more', () => {
  const late = tooLateToAsk(new ConsentNeeded({ kind: 'permission', site: 'contentSettings' }), { ran: true });
  assert.equal(late.code, 'permission_needed');
  assert.equal(late.more.mayHaveRun, true);
});

test('each that an act may need is optional in the manifest, and the person is told why', () => {
  assert.ok(manifest.optional_permissions.includes('contentSettings'));
  assert.ok(!manifest.permissions.includes('contentSettings'));
  assert.match(permissionName('contentSettings'), /settings of sites/);
  assert.match(permissionReason('contentSettings'), /^[A-Z][^.]+\.$/, 'one sentence');
});
