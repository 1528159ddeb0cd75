// What an act switches on in a tab, and off again.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { installActs } from '../support/fake_acts.js';

const { handleDetach } = await import('../../src/browser/debugger.js');
const { CHOOSER_LINGER_MS } = await import('../../src/browser/limits.js');
const { ActionError } = await import('../../src/lib/errors.js');
const { withInput } = await import('../../src/input/session.js');

const choosers = ({ sent }) => sent.filter(([method]) => method === 'Page.setInterceptFileChooserDialog').map(([, { enabled }]) => enabled);

test('an act that finds its tab between two pages lets the person have file choosers again', async () => {
  const acts = await installActs();
  chrome.webNavigation = { getFrame: async () => null, getAllFrames: async () => null };
  await assert.rejects(withInput(acts.context, {}, async (input) => { await input.ready(); return assert.fail('acted'); }), { code: 'navigation_interrupted' });
  mock.timers.tick(CHOOSER_LINGER_MS);
  assert.deepEqual(choosers(acts), [true, false]);
});

const looks = (acts) => withInput(acts.context, {}, async (input) => { await input.ready(); return { value: {} }; });

test('acts that follow each other switch file choosers off once, and the person has them again a moment after the last', async () => {
  const acts = await installActs();
  await looks(acts);
  mock.timers.tick(CHOOSER_LINGER_MS - 1);
  await looks(acts);
  mock.timers.tick(CHOOSER_LINGER_MS - 1);
  assert.deepEqual(choosers(acts), [true]);
  mock.timers.tick(1);
  assert.deepEqual(choosers(acts), [true, false]);
  await looks(acts);
  assert.deepEqual(choosers(acts), [true, false, true]);
});

test('no chooser can open in an act after one at which the browser refused that, or after the debugger was lost', async () => {
  const acts = await installActs();
  const { sendCommand } = chrome.debugger;
  chrome.debugger.sendCommand = async (source, method, params) => {
    await sendCommand(source, method, params);
    if (method === 'Page.setInterceptFileChooserDialog') throw new Error('refused');
  };
  await assert.rejects(looks(acts), /refused/);
  chrome.debugger.sendCommand = sendCommand;
  await looks(acts);
  assert.deepEqual(choosers(acts), [true, true]);
  handleDetach({ tabId: 7 }, 'target_closed');
  await looks(acts);
  assert.deepEqual(choosers(acts), [true, true, true]);
  mock.timers.tick(CHOOSER_LINGER_MS);
  assert.deepEqual(choosers(acts), [true, true, true, false]);
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

test('what an act waits for late in its time is waited for no longer than leaves the time to say why', async () => {
  const acts = await installActs();
  let now = 1_000;
  const { mock: clock } = mock.method(performance, 'now', () => now);
  await withInput(acts.context, {}, async (input) => {
    const told = [0, 3_000, 9_000].map((passed) => {
      now = 1_000 + passed;
      return input.patienceMs;
    });
    assert.deepEqual(told, [4_500, 1_500, 0]);
    return { value: {} };
  });
  clock.restore();
});
