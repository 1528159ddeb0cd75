import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { STORE_AFTER_MS, STORED_MAX_BYTES } from '../../src/commands/limits.js';
import { Outbox } from '../../src/commands/outbox.js';
import { completeReport } from '../../src/commands/report.js';
import { installChrome, settled } from '../support/fakes.js';

let session;
let sent;
let online;
let outbox;

const report = (id, value = id, attempt = 1) =>
  completeReport({ correlation_id: id, attempt }, { value, type: 'string' });
const sentIds = () => sent.map((text) => JSON.parse(text).correlation_id);
const makeOutbox = () => new Outbox((text) => {
  if (online) sent.push(text);
  return online;
});
const waitUntilStored = async () => {
  mock.timers.tick(STORE_AFTER_MS);
  await settled();
};

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  ({ session } = installChrome());
  sent = [];
  online = true;
  outbox = makeOutbox();
});

test('sends a report at once and keeps it until it is acknowledged', async () => {
  outbox.put(report('a'));
  assert.deepEqual(sentIds(), ['a']);
  assert.equal(outbox.has('a'), true);
  outbox.drop('a', 1);
  assert.equal(outbox.has('a'), false);
});

test('replays in the order of the reports', () => {
  online = false;
  for (const id of ['a', 'b', 'c']) outbox.put(report(id));
  online = true;
  outbox.drop('b', 1);
  outbox.replay();
  assert.deepEqual(sentIds(), ['a', 'c']);
});

test('reports outlive one worker after another, in order', async () => {
  for (const id of ['b', 'd', 'c']) outbox.put(report(id));
  await waitUntilStored();
  const next = makeOutbox();
  await next.restore();
  next.put(report('a'));
  await waitUntilStored();
  const third = makeOutbox();
  await third.restore();
  sent = [];
  third.replay();
  assert.deepEqual(sentIds(), ['b', 'd', 'c', 'a']);
  assert.deepEqual(third.inFlight()[0], { correlation_id: 'b', attempt: 1, state: 'done' });
});

test('a report that cannot be sent is stored at once', async () => {
  online = false;
  outbox.put(report('a'));
  await settled();
  assert.equal(Object.keys(session.data).length, 1);
});

test('a report that is acknowledged at once never reaches the store', async () => {
  const set = mock.method(session, 'set');
  outbox.put(report('a'));
  outbox.drop('a', 1);
  await waitUntilStored();
  assert.equal(set.mock.callCount(), 0);
});

test('an acknowledged report leaves the store', async () => {
  outbox.put(report('a'));
  await waitUntilStored();
  outbox.drop('a', 1);
  await settled();
  assert.deepEqual(session.data, {});
});

test('a restored report leaves the store when it is acknowledged', async () => {
  outbox.put(report('a'));
  await waitUntilStored();
  const next = makeOutbox();
  await next.restore();
  next.drop('a', 1);
  await settled();
  assert.deepEqual(session.data, {});
});

test('a report above 1 MiB stays in memory only', async () => {
  outbox.put(report('big', 'x'.repeat(STORED_MAX_BYTES)));
  await waitUntilStored();
  assert.deepEqual(session.data, {});
  sent = [];
  outbox.replay();
  assert.deepEqual(sentIds(), ['big']);
});

test('an acknowledgement of another attempt drops nothing', () => {
  outbox.put(report('a', 'a', 2));
  outbox.drop('a', 1);
  assert.equal(outbox.has('a'), true);
});

test('a full store loses nothing that is in memory', async () => {
  mock.method(console, 'warn', () => {});
  session.broken = new Error('quota');
  outbox.put(report('a'));
  await waitUntilStored();
  sent = [];
  outbox.replay();
  assert.deepEqual(sentIds(), ['a']);
});

test('what is asked for again carries the number of the attempt asked for', () => {
  outbox.put(report('a'));
  outbox.resend('a', 2);
  const [first, again] = sent.map((text) => JSON.parse(text));
  assert.deepEqual(again, { ...first, attempt: 2 });
  outbox.drop('a', 2);
  assert.equal(outbox.has('a'), false);
});

test('other things in the store are not taken for reports', async () => {
  session.data = { takeover: { holdUntil: 1 } };
  await outbox.restore();
  assert.deepEqual(outbox.inFlight(), []);
});
