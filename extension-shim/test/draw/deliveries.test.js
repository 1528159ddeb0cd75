// Frames of drawings on their way to the daemon.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { Deliveries } = await import('../../src/draw/deliveries.js');

const frame = (drawing_id) => ({ type: 'annotations', drawing_id });

test('a connection that comes while a frame is being stored sends it once, and the next one again', async () => {
  const sent = [];
  const deliveries = new Deliveries((text) => sent.push(JSON.parse(text).drawing_id) > 0);
  const owed = deliveries.owe([frame('d1'), frame('d2')]);
  await Promise.resolve();
  await Promise.all([deliveries.handleConnected(), owed]);
  assert.deepEqual(sent, ['d1', 'd2']);
  await deliveries.handleAck({ drawing_id: 'd1' });
  await deliveries.handleConnected();
  assert.deepEqual(sent, ['d1', 'd2', 'd2']);
});
