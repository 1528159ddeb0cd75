// What an act switches on in a tab, and off again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installActs } from '../support/fake_acts.js';

const { ActionError } = await import('../../src/lib/errors.js');
const { withInput } = await import('../../src/input/session.js');

const choosers = ({ sent }) => sent.filter(([method]) => method === 'Page.setInterceptFileChooserDialog').map(([, { enabled }]) => enabled);

test('an act that finds its tab between two pages lets the person have file choosers again', async () => {
  const acts = await installActs();
  chrome.webNavigation = { getFrame: async () => null, getAllFrames: async () => null };
  await assert.rejects(withInput(acts.context, {}, async (input) => { await input.ready(); return assert.fail('acted'); }), { code: 'navigation_interrupted' });
  assert.deepEqual(choosers(acts), [true, false]);
});

test('a failure says that nothing has run until something was done to the page', async () => {
  const acts = await installActs();
  const missing = () => { throw new ActionError('target_not_found', 'nothing fits'); };
  const failure = (act) => withInput(acts.context, {}, act).then(assert.fail, ({ code, more: { mayHaveRun } }) => [code, mayHaveRun]);
  assert.deepEqual(await failure(missing), ['target_not_found', false]);
  for (const act of [
    (input) => input.send({ method: 'Input.insertText', text: 'a' }),
    (input) => input.byScript(async () => {}),
    async (input) => input.ask(await input.find('text=Here', { kind: 'choose' }), 'landed'),
  ]) assert.deepEqual(await failure(async (input) => { await act(input); missing(); }), ['target_not_found', undefined]);
  const refused = () => { throw new ActionError('blocked_by_policy', 'no', undefined, { mayHaveRun: true }); };
  assert.deepEqual(await failure(refused), ['blocked_by_policy', true]);
});
