// Older extensions that ask to be let in: told on the icon until the person has looked, once each.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { goldenFrames, installChrome, settled } from '../support/fakes.js';

installChrome();
const { OlderExtensions } = await import('../../src/policy/older_extensions.js');
const { showAsking, showStatus } = await import('../../src/worker/badge.js');

const to = goldenFrames('to_extension');

let older;
let changes;

beforeEach(async () => {
  await chrome.storage.local.remove('older_extensions_seen');
  changes = 0;
  older = new OlderExtensions();
  older.onChange = () => { changes += 1; };
  await older.restore();
});

test('those that ask are unseen until the person looks, and stay seen in the next worker', async () => {
  older.handleFrame(to.older_extensions);
  assert.deepEqual([older.unseen, older.letIn.length, changes], [2, 1, 1]);
  older.look();
  assert.deepEqual([older.unseen, changes], [0, 2]);
  await settled();
  const next = new OlderExtensions();
  await next.restore();
  next.handleFrame(to.older_extensions);
  assert.equal(next.unseen, 0);
  next.handleFrame({ ...to.older_extensions, asking: [{ extension_id: 'd'.repeat(32), extension_version: 'unknown' }] });
  assert.equal(next.unseen, 1, 'another one is news');
});

test('why a decision does not count is told, and nothing is known without the daemon', () => {
  older.handleFrame(to['older_extensions.problem']);
  assert.equal(older.problem, to['older_extensions.problem'].problem);
  older.handleFrame(to.older_extensions);
  older.forget();
  assert.deepEqual([older.asking, older.letIn, older.unseen], [[], [], 0]);
});

test('the icon says that one asks while the daemon is connected, and no longer once it was seen', () => {
  const said = [];
  chrome.action.setTitle = async ({ title }) => { said.push(title); };
  showStatus('connected', 'Tabwire 0.1.0');
  showAsking(1);
  assert.match(said.at(-1), /1 older extension asks/);
  showAsking(2);
  assert.match(said.at(-1), /2 older extensions ask/);
  showAsking(0);
  assert.match(said.at(-1), /connected/);
  showStatus('disconnected', 'why');
  showAsking(1);
  assert.match(said.at(-1), /not running/, 'why it is not connected comes first');
});
