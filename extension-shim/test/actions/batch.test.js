import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { batch } = await import('../../src/actions/batch.js');
const { tabs } = await import('../../src/browser/state.js');
const { ActionError } = await import('../../src/lib/errors.js');

let performed;
let answers;
let abort;

const context = () => ({
  tab_id: 7, timeout_ms: 10_000, client: '', signal: abort.signal, begin() {}, admitAct() {}, onStop() {},
  perform: async (step) => {
    performed.push(step);
    const answer = answers.shift() ?? { value: null, type: 'null' };
    if (answer instanceof Error) throw answer;
    return answer;
  },
});
const run = (...steps) => batch({ steps }, context());

beforeEach(() => {
  performed = [];
  answers = [];
  abort = new AbortController();
  tabs.target = async () => ({ id: 7 });
});

test('steps run one after the other, and the answer has the result of each', async () => {
  answers = [{ value: 'a', type: 'string', origin: 'http://a' }, { value: 2, type: 'number', origin: 'http://a', dialogs: [{ type: 'alert', message: 'hi' }] }];
  const outcome = await run({ action: 'get_text', target: 'b1' }, { action: 'click', target: 'b2', timeout_ms: 300 });
  assert.deepEqual(outcome, { value: { results: ['a', 2] }, type: 'object', origin: 'http://a', dialogs: [{ type: 'alert', message: 'hi' }] });
  assert.deepEqual(performed.map(({ type, params, tab_id }) => [type, params, tab_id]), [['get_text', { target: 'b1' }, 7], ['click', { target: 'b2' }, 7]]);
  assert.equal(performed[1].timeout_ms, 300);
  assert.ok(performed[0].timeout_ms > 9_000 && performed[0].timeout_ms <= 9_500, 'time is left to report');
});

test('the first failure ends it: the answer names it whole, and the steps that have not run', async () => {
  answers = [{ value: 'a', type: 'string' }, new ActionError('covered', 'it is covered', undefined, { hint: 'Close it.', mayHaveRun: false })];
  const { value } = await run({ action: 'get_text' }, { action: 'click' }, { action: 'type' }, { action: 'press_key' });
  assert.deepEqual(value, {
    failed: { step: 1, action: 'click', error: 'it is covered', reason: 'covered', stack: undefined, hint: 'Close it.', may_have_run: false },
    not_run: ['type', 'press_key'], results: ['a'],
  });
  assert.equal(performed.length, 2);
});

test('after a cancel no further step runs, and no answer is made', async () => {
  answers = [{ value: 1, type: 'number' }];
  const done = batch({ steps: [{ action: 'one' }, { action: 'two' }] }, { ...context(), perform: async (step) => {
    performed.push(step);
    abort.abort(new Error('cancelled'));
    return { value: 1, type: 'number' };
  } });
  await assert.rejects(done, /cancelled/);
  assert.equal(performed.length, 1);
});

test('results are named and used; a page\'s words are no templates', async () => {
  answers = [{ value: { text: '{{two}}' }, type: 'object' }, { value: 'second', type: 'string' }];
  await run({ action: 'a', as: 'one' }, { action: 'b', text: '{{one.text}}', as: 'two' }, { action: 'c', text: '{{two}} {{one.text}}' });
  assert.deepEqual(performed.map(({ params }) => params), [{}, { text: '{{two}}' }, { text: 'second {{two}}' }]);
});

test('a step uses the tab of the batch, or one that a step has opened', async () => {
  answers = [{ value: { tab_id: 9 }, type: 'object' }];
  const { value } = await run({ action: 'tab_open', url: 'http://a/', as: 'opened' }, { action: 'get_text', tab_id: '{{opened.tab_id}}' }, { action: 'get_text', tab_id: 7 }, { action: 'get_text', tab_id: 8 });
  assert.deepEqual(performed.map(({ tab_id }) => tab_id), [7, 9, 7]);
  assert.match(value.failed.error, /a step of a batch in tab 7 cannot use tab 8/);
});

test('a page cannot name a tab of its choice as opened', async () => {
  answers = [{ value: { tab_id: 9 }, type: 'object' }];
  const { value } = await run({ action: 'execute_js', script: '({tab_id: 9})', as: 'said' }, { action: 'get_text', tab_id: '{{said.tab_id}}' });
  assert.equal(value.failed.reason, 'invalid_params');
});

test('answers of several sites name the site of each', async () => {
  answers = [{ value: 1, type: 'number', origin: 'http://a' }, { value: 2, type: 'number' }, { value: 3, type: 'number', origin: 'http://b' }];
  const { value, origin } = await run({ action: 'a' }, { action: 'b' }, { action: 'c' });
  assert.deepEqual([value.origins, origin], [['http://a', null, 'http://b'], 'http://b']);
});

test('results that are too large together are left out, and those that fit stay', async () => {
  const large = '語'.repeat(1_300_000);
  answers = [{ value: large, type: 'string' }, { value: large, type: 'string' }, { value: 'small', type: 'string' }];
  const { value } = await run({ action: 'a' }, { action: 'b' }, { action: 'c' });
  assert.deepEqual([value.results[0].length, value.results[1].left_out, value.results[2]], [1_300_000, '3900002 bytes: run this action alone', 'small']);
});

test('what is no list of actions is refused before anything runs', async () => {
  for (const steps of [undefined, [], [{}], [{ action: 'batch', steps: [] }], [{ action: 'pdf' }], [{ action: 'a', as: '{{x}}' }], Array(51).fill({ action: 'a' })]) {
    await assert.rejects(batch({ steps }, context()), { code: 'invalid_params' });
  }
  assert.deepEqual(performed, []);
});
