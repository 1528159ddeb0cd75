// The history in the worker: asked for while somebody looks, and forgotten with the daemon.
import assert from 'node:assert/strict';
import { test } from 'node:test';

const { PastActs } = await import('../../src/worker/past_acts.js');
const ACT = { at: '2026-11-21T22:09:45.000Z', owner: 'default', client: 'x', action: 'click', ended: 'complete', took_ms: 1 };
const UNKNOWN = { history_on: null, past_acts: [], history_problem: '' };

test('a look asks the daemon, and not again before the answer is old', () => {
  const sent = [];
  const acts = new PastActs();
  acts.send = (text) => sent.push(JSON.parse(text)) > 0;
  assert.deepEqual(acts.view(), UNKNOWN);
  acts.handleFrame({ type: 'history', on: true, acts: [ACT] });
  assert.deepEqual(acts.view(), { history_on: true, past_acts: [ACT], history_problem: '' });
  assert.deepEqual(sent, [{ type: 'history', wish: 'look' }]);
  assert.ok(acts.wish('off'));
  assert.deepEqual(sent.at(-1), { type: 'history', wish: 'off' });
});

test('without a daemon nothing is known, and the next look asks again', () => {
  const acts = new PastActs();
  acts.handleFrame({ type: 'history', on: false, acts: [ACT] });
  acts.forget();
  assert.deepEqual(acts.view(), UNKNOWN);
  assert.equal(acts.wish('clear'), false);
  let asked = 0;
  acts.send = () => (asked += 1) > 0;
  acts.view();
  assert.equal(asked, 1);
});

test('a history that cannot be read is neither on nor off', () => {
  const acts = new PastActs();
  acts.handleFrame({ type: 'history', on: false, acts: [], problem: 'disk full' });
  assert.deepEqual(acts.view(), { history_on: null, past_acts: [], history_problem: 'disk full' });
});
