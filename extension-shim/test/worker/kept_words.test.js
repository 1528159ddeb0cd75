// The person's kept words in the worker: asked for while somebody looks, and forgotten with the daemon.
import assert from 'node:assert/strict';
import { test } from 'node:test';

const { KeptWords } = await import('../../src/worker/kept_words.js');
const WORD = { owner: 'user', client_id: 'c1', client: 'Claude Code', kind: 'act', site: 'https://shop.example', word: 'always', at: '2026-11-21T22:09:45.123Z' };
const NONE = { kept_words: [], more_words: 0 };

test('a look asks the daemon, and not again before the answer is old', () => {
  const sent = [];
  const words = new KeptWords();
  words.send = (text) => sent.push(JSON.parse(text)) > 0;
  assert.deepEqual(words.view(), NONE);
  words.handleFrame({ type: 'kept_words', words: [WORD], more: 3 });
  assert.deepEqual(words.view(), { kept_words: [WORD], more_words: 3 });
  assert.deepEqual(sent, [{ type: 'kept_words' }]);
});

test('a word is taken back by what it is about and when it was given, and by nothing else', () => {
  const sent = [];
  const words = new KeptWords();
  words.send = (text) => sent.push(JSON.parse(text)) > 0;
  assert.ok(words.takeBack({ ...WORD, type: 'ask_answer', take_back: null }));
  const { owner, client_id, kind, site, at } = WORD;
  assert.deepEqual(sent, [{ type: 'kept_words', take_back: { owner, client_id, kind, site, at } }]);
});

test('without a daemon no word is known or taken back, and the next look asks again', () => {
  const words = new KeptWords();
  words.handleFrame({ type: 'kept_words', words: [WORD], more: 0 });
  words.forget();
  assert.deepEqual(words.view(), NONE);
  assert.equal(words.takeBack(WORD), false);
  let asked = 0;
  words.send = () => (asked += 1) > 0;
  words.view();
  assert.equal(asked, 1);
});
