// Acts by their events: a drag that is cancelled, and clicks in a tab that a person sees behind other windows.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { installChrome } from '../support/fakes.js';
import { installDocuments } from '../support/fake_documents.js';

installChrome();
const { handleEvent } = await import('../../src/browser/debugger.js');
const { dragBetween } = await import('../../src/input/drag.js');
const { clickQuietly } = await import('../../src/input/quiet_click.js');

const DOCUMENT = { frameId: 0, parentFrameId: -1, documentId: 'D', url: 'https://page.test/' };
const target = (label, more = {}) => ({ tabId: 7, page: DOCUMENT, document: DOCUMENT, id: 1, ref: 'b1', label, tag: 'button', point: { x: 10, y: 10 }, inner: { x: 10, y: 10 }, box: [0, 0, 20, 20], ...more });
const PLAIN = { button: 'left', count: 1, modifiers: 0, holdMs: 0 };
let asked;
let sent;
let input;

beforeEach(() => {
  installChrome();
  chrome.debugger = { sendCommand: async (_, method) => { sent.push(method.replace(/^\w+\./, '')); } };
  const world = { hasDragStarted: false, twoFrames: undefined, clickByScript: true };
  ({ asked } = installDocuments([{ frameId: 0, documentId: 'D', world }]));
  sent = [];
  const abort = new AbortController();
  input = {
    tabId: 7, signal: abort.signal, abort, raises: false,
    reach: async (place) => target(place.name), at: async (point) => target('at', { point }), approach: async (found) => found,
    ready: async () => abort.signal.throwIfAborted(), wouldRaise: async () => input.raises, focus: async () => true, byScript: (act) => act(),
    send: async (...events) => {
      abort.signal.throwIfAborted();
      sent.push(...events.map(({ type, method, button }) => `${type ?? method} ${button ?? ''}`.trim()));
      if (sent.length > input.abortAfter) abort.abort(new Error('cancelled'));
    },
    letGo: async (...events) => { sent.push(...events.map(({ type, method, button }) => `${type ?? method} ${button ?? ''}`.trim())); },
  };
});

test('a drag presses, moves in steps, and lets go', async () => {
  const { hasData } = await dragBetween(input, { name: 'card' }, { name: 'goal' }, 3);
  assert.equal(hasData, false);
  assert.equal(sent.filter((word) => word === 'mouseMoved left').length, 8, 'two to begin, three on the way, three around the end');
  assert.deepEqual(sent.filter((word) => /mousePressed|mouseReleased left|intercept/i.test(word)), ['Input.setInterceptDrags', 'mousePressed left', 'mouseReleased left', 'setInterceptDrags']);
});

test('a drag that is cancelled on its way lets the button go at once, and moves no further', async () => {
  input.abortAfter = 8;
  await assert.rejects(dragBetween(input, { name: 'card' }, { name: 'goal' }, 200), /cancelled/);
  const released = sent.indexOf('mouseReleased left');
  assert.ok(released > 0);
  assert.equal(sent.slice(released).includes('mouseMoved left'), false);
  assert.ok(sent.filter((word) => word === 'mouseMoved left').length < 20);
});

test('a drag that is cancelled before it begins presses nothing, and nobody listens for it any more', async () => {
  input.approach = async (found) => { input.abort.abort(new Error('cancelled')); return found; };
  await assert.rejects(dragBetween(input, { name: 'card' }, { name: 'goal' }, 3), /cancelled/);
  assert.equal(sent.some((word) => word.startsWith('mouse')), false);
  handleEvent({ tabId: 7 }, 'Input.dragIntercepted', { get data() { return assert.fail('somebody listens'); } });
});

test('what would raise a window is refused before anything is sent', async () => {
  input.raises = true;
  await assert.rejects(dragBetween(input, { name: 'card' }, { name: 'goal' }, 3), { code: 'unsupported', message: /window to the front/ });
  assert.deepEqual(sent, []);
  await assert.rejects(clickQuietly(input, target('b'), { ...PLAIN, holdMs: 5 }), { code: 'unsupported' });
});

test('there a key clicks what keys click, the focus enters fields, and everything else is told as scripted', async () => {
  for (const [about, manner, told] of [
    [{ tag: 'button' }, PLAIN, 'keys'], [{ tag: 'a' }, PLAIN, 'keys'], [{ tag: 'input', type: 'checkbox' }, PLAIN, 'keys'], [{ tag: 'input', type: 'text' }, PLAIN, 'focus'],
    [{ tag: 'div' }, PLAIN, 'scripted'], [{ tag: 'button' }, { ...PLAIN, count: 2 }, 'scripted'], [{ tag: 'a' }, { ...PLAIN, modifiers: 2 }, 'scripted'], [{ tag: 'button' }, { ...PLAIN, button: 'right' }, 'scripted'],
  ]) {
    sent.length = 0;
    assert.deepEqual(await clickQuietly(input, target('x', about), manner), { input: told }, JSON.stringify(about));
    assert.equal(sent.some((word) => word.startsWith('key')), told === 'keys');
    assert.equal(sent.some((word) => word.startsWith('mouse')), false);
  }
  input.focus = async () => false;
  assert.deepEqual(await clickQuietly(input, target('x', { tag: 'a' }), PLAIN), { input: 'scripted' }, 'a link without an address takes no focus');
  assert.ok(asked.some(([name]) => name === 'clickByScript'));
});
