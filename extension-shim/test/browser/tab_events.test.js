import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TabEvents, WaitBell } from '../../src/browser/tab_events.js';

test('a wake-up that comes before the wait counts for it', async () => {
  const bell = new WaitBell();
  bell.wake();
  await bell.next(60_000);
  const next = bell.next(60_000);
  bell.wake();
  await next;
});

test('a wait ends with its time', async () => {
  await new WaitBell().next(1);
});

test('those who listen to a tab hear of it and of events without a tab, until they end', () => {
  const events = new TabEvents();
  let heard = 0;
  const end = events.listen(7, () => { heard += 1; });
  events.handle(7);
  events.handle(8);
  events.handle();
  assert.equal(heard, 2);
  end();
  events.handle(7);
  assert.equal(heard, 2);
});
