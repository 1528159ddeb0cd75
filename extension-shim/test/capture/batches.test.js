// How what was recorded goes to the daemon: in bounded batches, and never more than was promised.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { Batches } = await import('../../src/capture/batches.js');

let sent;
let connected;
let tries;
let batches;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 });
  sent = [];
  connected = true;
  tries = 0;
  batches = new Batches((text) => {
    tries += 1;
    if (connected) sent.push({ ...JSON.parse(text), bytes: new TextEncoder().encode(text).length });
    return connected;
  });
});

const entry = (text) => ({ t: 1, tab_id: 7, level: 'log', source: 'console', text, url: '' });
const add = (count, text = 'x', stream = 'logs') => { for (let at = 0; at < count; at += 1) batches.add(stream, entry(`${text}${at}`)); };
/** One flush after another: time that is skipped at once runs only the timers that were set before. */
const pass = (ms) => { for (let at = 0; at < ms; at += 100) mock.timers.tick(100); };
const texts = () => sent.flatMap(({ entries }) => entries.map(({ text }) => text));

test('entries of 200 ms go together, each stream in a frame of its own', () => {
  add(3);
  batches.add('actions', { t: 2, kind: 'click', url: '' });
  mock.timers.tick(199);
  assert.deepEqual(sent, []);
  mock.timers.tick(1);
  assert.deepEqual(sent.map(({ type, stream, entries }) => [type, stream, entries.length]), [['events', 'logs', 3], ['events', 'actions', 1]]);
  assert.deepEqual(sent[0].entries[0], entry('x0'));
});

test('nothing to send, nothing is sent', () => {
  mock.timers.tick(10_000);
  assert.deepEqual(sent, []);
});

test('a frame has 200 entries at most, and the next one is 200 ms away', () => {
  add(450);
  for (const count of [200, 200, 50]) {
    mock.timers.tick(200);
    assert.equal(sent.at(-1).entries.length, count);
  }
  assert.deepEqual(texts(), Array.from({ length: 450 }, (_, at) => `x${at}`));
});

test('a frame has 256 KiB at most, whatever its characters', () => {
  add(30, 'é'.repeat(8_000));
  while (texts().length < 30) mock.timers.tick(200);
  assert.ok(sent.length > 1);
  for (const { bytes } of sent) assert.ok(bytes <= 256 * 1024, `${bytes}`);
});

test('an entry that would never fit is dropped, and holds up no other', () => {
  add(1, 'x'.repeat(300_000));
  add(1, 'small');
  pass(400);
  assert.match(texts().join(), /1 of logs.*small0/);
});

test('while the daemon is away the newest are kept, and the log tells how many are not', () => {
  connected = false;
  add(1_500);
  mock.timers.tick(60_000);
  connected = true;
  batches.resume();
  pass(2_000);
  const notes = sent.flatMap(({ entries }) => entries).filter(({ source }) => source === 'browser');
  assert.equal(notes.length, 1);
  assert.equal(notes[0].level, 'warn');
  assert.match(notes[0].text, /500 of logs/);
  assert.equal(texts().includes('x499'), false);
  assert.ok(texts().includes('x1499'));
});

test('nothing is tried while the daemon is known to be away', () => {
  connected = false;
  for (let at = 0; at < 100; at += 1) {
    add(1);
    mock.timers.tick(200);
  }
  assert.equal(tries, 1);
});

test('what waits has a bound in bytes, too', () => {
  connected = false;
  add(200, 'x'.repeat(10_000));
  connected = true;
  batches.resume();
  pass(10_000);
  const bytes = sent.reduce((sum, frame) => sum + frame.bytes, 0);
  assert.ok(bytes < 1.1 * 1024 * 1024, `${bytes}`);
});

test('nothing is sent twice when the daemon goes and comes', () => {
  add(2);
  mock.timers.tick(200);
  connected = false;
  add(2, 'y');
  mock.timers.tick(200);
  mock.timers.tick(200);
  connected = true;
  batches.resume();
  mock.timers.tick(200);
  assert.deepEqual(texts(), ['x0', 'x1', 'y0', 'y1']);
});

test('a log that overflows for a minute has a note every two seconds, not more', () => {
  for (let at = 0; at < 300; at += 1) {
    add(500);
    mock.timers.tick(200);
  }
  const notes = texts().filter((text) => text.startsWith('Tabwire'));
  assert.ok(notes.length > 5 && notes.length <= 31, `${notes.length}`);
});
