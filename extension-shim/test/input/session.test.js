// What an act switches on in a tab, and off again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installActs } from '../support/fake_acts.js';

const { withInput } = await import('../../src/input/session.js');

const choosers = ({ sent }) => sent.filter(([method]) => method === 'Page.setInterceptFileChooserDialog').map(([, { enabled }]) => enabled);

test('an act that finds its tab between two pages lets the person have file choosers again', async () => {
  const acts = await installActs();
  chrome.webNavigation = { getFrame: async () => null, getAllFrames: async () => null };
  await assert.rejects(withInput(acts.context, {}, async (input) => { await input.ready(); return assert.fail('acted'); }), { code: 'navigation_interrupted' });
  assert.deepEqual(choosers(acts), [true, false]);
});
