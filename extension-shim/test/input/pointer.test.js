// Places, modifiers, and the element that got a click.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { checkedPlace } = await import('../../src/input/place.js');
const { landedOn, modifierBits } = await import('../../src/input/pointer.js');
const { flush, moved, pressed } = await import('../../src/input/mouse_events.js');
const { pause } = await import('../../src/lib/pause.js');

test('a place is an element or a point, and nothing between', () => {
  assert.deepEqual(checkedPlace({ target: 'b12' }), { wanted: { ref: 'b12' } });
  assert.deepEqual(checkedPlace({ x: 0, y: 3.5 }), { point: { x: 0, y: 3.5 } });
  for (const wrong of [{}, { x: 1 }, { y: 1 }, { target: 'b1', x: 1 }, { x: '1', y: 2 }, { x: -1, y: 2 }, { x: NaN, y: 2 }, { x: 1e9, y: 2 }]) {
    assert.throws(() => checkedPlace(wrong), { code: 'invalid_params' }, JSON.stringify(wrong));
  }
});

test('modifiers have the numbers of the protocol, and the chord key is the one of the system', async () => {
  assert.equal(await modifierBits(undefined), 0);
  assert.equal(await modifierBits(['Alt', 'Shift', 'Shift']), 9);
  for (const [os, bits] of [['mac', 4], ['linux', 2]]) {
    chrome.runtime.getPlatformInfo = async () => ({ os });
    assert.equal(await modifierBits(['ControlOrMeta']), bits);
  }
  for (const wrong of ['Shift', ['Super'], ['constructor'], [1]]) await assert.rejects(modifierBits(wrong), { code: 'invalid_params' });
});

test('an act says which other element got it, and when the page lets nobody see that', () => {
  const after = (events) => ({ isGone: false, events, states: [] });
  const own = { isOwn: true, isTrusted: true };
  const other = { isOwn: false, isTrusted: true, on: 'dialog "Cookies" b3' };
  assert.deepEqual(landedOn(after({ click: own, mouseup: other }), 'click'), {});
  assert.deepEqual(landedOn(after({ mousedown: own, mouseup: other }), 'click'), { landed_on: 'dialog "Cookies" b3' });
  assert.match(landedOn(after({}), 'click').landed_on, /not seen/);
  assert.deepEqual(landedOn({ ...after({}), isGone: true }, 'click'), {});
});

test('a move with a held button says so, and the event behind it is one that no listener gets', () => {
  assert.deepEqual(moved({ x: 1, y: 2 }), { method: 'Input.dispatchMouseEvent', type: 'mouseMoved', x: 1, y: 2, button: 'none', buttons: 0, modifiers: 0 });
  assert.deepEqual([moved({ x: 1, y: 2 }, { held: 'left' }).buttons, flush({ x: 1, y: 2 }, { held: 'left' }).button, pressed({ x: 1, y: 2 }, 'right').buttons], [1, 'none', 2]);
});

test('a pause ends when nobody waits any more', async () => {
  const abort = new AbortController();
  const waiting = pause(60_000, abort.signal);
  abort.abort(new Error('over'));
  await assert.rejects(waiting, /over/);
  await assert.rejects(pause(0, abort.signal), /over/);
  await pause(0);
});
