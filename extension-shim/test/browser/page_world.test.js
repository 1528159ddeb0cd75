// Which documents are asked, and how.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome, settled } from '../support/fakes.js';
import { installDocuments } from '../support/fake_documents.js';

installChrome();
const { askDocument, askDocuments, documentsAsking, documentsOf, forgetDocuments, withInner } = await import('../../src/browser/page_world.js');
const { policy } = await import('../../src/browser/state.js');

const rules = (deny = []) => policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny });
const doc = (frameId, more = {}) => ({ frameId, parentFrameId: frameId === 0 ? -1 : 0, documentId: `D${frameId}`, world: { who: frameId }, ...more });

beforeEach(() => {
  installChrome();
  rules();
  forgetDocuments(7);
  mock.timers.reset();
});

test('the scripts are put into each document once', async () => {
  const { asked } = installDocuments([doc(0), doc(3)]);
  const { seen } = await documentsOf(7);
  assert.deepEqual((await askDocuments(7, seen, 'who')).map(({ value }) => value), [0, 3]);
  assert.equal(asked.length, 4);
  assert.equal(await askDocument(7, seen[1], 'who'), 3);
  assert.equal(asked.length, 5);
});

test('a frame of a denied site is never asked, and neither are the frames in it', async () => {
  rules(['bad.test']);
  const { asked } = installDocuments([doc(0), doc(1, { url: 'https://bad.test/' }), doc(2, { parentFrameId: 1 }), doc(3)]);
  const documents = await documentsOf(7);
  assert.deepEqual(documents.seen.map(({ frameId }) => frameId), [0, 3]);
  assert.deepEqual([...documents.denied], [0]);
  await askDocuments(7, documents.seen, 'who');
  assert.ok(!asked.flat().some((id) => id === 'D1' || id === 'D2'));
});

test('a denied page is refused', async () => {
  rules(['page.test']);
  installDocuments([doc(0)]);
  await assert.rejects(documentsOf(7), { code: 'blocked_by_policy' });
});

test('an empty frame that belongs to a denied site says nothing', async () => {
  rules(['bad.test']);
  installDocuments([doc(0), doc(1, { url: 'about:blank', origin: 'https://bad.test' }), doc(2, { url: 'about:blank' })]);
  const { seen } = await documentsOf(7);
  assert.deepEqual((await askDocuments(7, seen, 'who')).map(({ value }) => value), [0, 2]);
});

test('a frame that the browser keeps extensions out of is left out, and the others answer', async () => {
  installDocuments([doc(0), doc(1, { refuses: true }), doc(2)]);
  const { seen } = await documentsOf(7);
  assert.deepEqual((await askDocuments(7, seen, 'who')).map(({ value }) => value), [0, 2]);
});

test('a frame that hangs is waited for for a second', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  installDocuments([doc(0), doc(1, { hangs: true }), doc(2)]);
  const { seen } = await documentsOf(7);
  const answers = askDocuments(7, seen, 'who');
  for (let i = 0; i < 2; i += 1) {
    await settled();
    mock.timers.tick(1_000);
  }
  assert.deepEqual((await answers).map(({ value }) => value), [0, 2]);
});

test('a page that is another one by now has navigated', async () => {
  const { documents } = installDocuments([doc(0)]);
  const { seen } = await documentsOf(7);
  documents[0].documentId = 'other';
  await assert.rejects(askDocument(7, seen[0], 'who'), { code: 'navigation_interrupted' });
});

test('a document stands before the frames in it', () => {
  const frame = (frameId, parentFrameId) => ({ frameId, parentFrameId, documentId: '', url: '' });
  const all = [frame(0, -1), frame(1, 0), frame(2, 0), frame(3, 2), frame(4, 1)];
  assert.deepEqual(withInner(all, all[2]).map(({ frameId }) => frameId), [2, 3]);
  assert.deepEqual(withInner(all, all[0]).map(({ frameId }) => frameId), [0, 1, 2, 3, 4]);
});

test('the page of the last look is asked before it is known whether it is still there, and its answer counts only if it is, alone', async () => {
  const { asked, documents } = installDocuments([doc(0)]);
  const question = { name: 'who', argument: {} };
  assert.equal((await documentsAsking(7, question)).answer, undefined, 'nobody has looked yet');
  await askDocument(7, (await documentsOf(7)).seen[0], 'who');
  asked.length = 0;
  const lookUp = chrome.webNavigation.getAllFrames;
  chrome.webNavigation.getAllFrames = async () => { assert.equal(asked.length, 1, 'asked meanwhile'); return lookUp(); };
  assert.deepEqual((await documentsAsking(7, question)).answer, { value: 0 });
  chrome.webNavigation.getAllFrames = lookUp;
  documents.push(doc(3));
  assert.equal((await documentsAsking(7, question)).answer, undefined, 'a frame has come');
  documents.pop();
  documents[0].documentId = 'other';
  await documentsOf(7);
  documents[0].documentId = 'D0';
  const { documents: { seen }, answer } = await documentsAsking(7, question);
  assert.deepEqual([seen[0].documentId, answer], ['D0', undefined], 'another page has come');
});

test('a page is not asked early if its site was closed since, nor another one in place of the one that is meant', async () => {
  const { asked } = installDocuments([doc(0)]);
  await documentsOf(7);
  assert.equal((await documentsAsking(7, { name: 'who', argument: {}, documentId: 'D9' })).answer, undefined);
  rules(['page.test']);
  await assert.rejects(documentsAsking(7, { name: 'who', argument: {} }), { code: 'blocked_by_policy' });
  assert.deepEqual(asked, []);
  rules();
  forgetDocuments(7);
  assert.equal((await documentsAsking(7, { name: 'who', argument: {} })).answer, undefined);
});
