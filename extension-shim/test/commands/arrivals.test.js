import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { Arrivals } from '../../src/commands/arrivals.js';
import { ARRIVALS_MAX, FORGET_AFTER_MS } from '../../src/commands/limits.js';
import { installChrome, settled } from '../support/fakes.js';

const none = new Set();
const named = (arrivals, known = none) => arrivals.inFlight(known).map(({ correlation_id }) => correlation_id);

async function next() {
  const arrivals = new Arrivals();
  await arrivals.restore();
  return arrivals;
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(console, 'warn', () => {});
  installChrome();
});

test('the next worker names what came to the one before as running, and what it knows itself not twice', async () => {
  const first = await next();
  first.note('x', 2);
  first.note('y', 1);
  const second = await next();
  assert.deepEqual(second.inFlight(none), [
    { correlation_id: 'x', attempt: 2, state: 'running' }, { correlation_id: 'y', attempt: 1, state: 'running' },
  ]);
  assert.deepEqual(named(second, new Set(['x'])), ['y']);
});

test('a note that is over is removed a moment later, many in one call, and stays if the command comes again', async () => {
  const arrivals = await next();
  for (const id of ['a', 'b', 'c']) arrivals.note(id, 1);
  const remove = mock.method(chrome.storage.session, 'remove');
  arrivals.forget('a');
  arrivals.forget('b');
  arrivals.forget('b');
  arrivals.note('b', 2);
  mock.timers.tick(FORGET_AFTER_MS);
  await settled();
  assert.deepEqual(remove.mock.calls.map(({ arguments: [keys] }) => keys), [['arrived:a']]);
  assert.deepEqual(named(await next()).sort(), ['b', 'c']);
});

test('no more notes are kept than can be of use', async () => {
  const arrivals = await next();
  for (let n = 0; n <= ARRIVALS_MAX; n += 1) arrivals.note(`x${n}`, 1);
  const kept = named(arrivals);
  assert.equal(kept.length, ARRIVALS_MAX);
  assert.equal(kept[0], 'x1');
});

test('a note that the browser does not keep ends the trust in notes, also in those of the next worker', async () => {
  const arrivals = await next();
  assert.ok(arrivals.areKept);
  mock.method(chrome.storage.session, 'set', async () => { throw new Error('quota exceeded'); });
  arrivals.note('x', 1);
  await settled();
  assert.ok(!arrivals.areKept);
  assert.ok(!(await next()).areKept);
  assert.ok((await next()).areKept);
});
