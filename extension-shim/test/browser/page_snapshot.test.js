// Snapshots of several documents, their size, and their difference.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { installChrome } from '../support/fakes.js';
import { installDocuments } from '../support/fake_documents.js';

installChrome();
const { snapshotOf } = await import('../../src/browser/page_snapshot.js');
const { elementRefs, policy, snapshots } = await import('../../src/browser/state.js');

const OPTIONS = { interactiveOnly: false, boxes: false, urls: false };
const shown = (text, more = {}) => ({ snapshot: { found: { text, isCut: false }, count: 9, place: -1, ...more } });
let tab = 100;
const take = (wish = {}) => snapshotOf(tab, { options: OPTIONS, maxBytes: 10_000, isDiff: false, client: 'c', ...wish });

beforeEach(() => {
  installChrome();
  policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny: [] });
  tab += 1;
});

test('the lines of frames stand below their frames, and each element has its ref', async () => {
  installDocuments([
    { frameId: 0, documentId: `P${tab}`, world: shown('button "A" \x011\niframe "F" \x012\x020\n  iframe \x013\x02-1\nlink \x014') },
    { frameId: 5, parentFrameId: 0, documentId: `F${tab}`, world: shown('- in frame\nbutton "B" \x011 disabled', { place: 0 }) },
  ]);
  const text = await take();
  const prefix = elementRefs.prefixOf(tab);
  assert.equal(text.replaceAll(prefix, 'r'), ['button "A" r1', 'iframe "F" r2', '  - in frame', '  button "B" r10 disabled', '  iframe r3', 'link r4'].join('\n').replaceAll(prefix, 'r'));
});

test('a frame that is not read is told as such', async () => {
  policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny: ['bad.test'] });
  installDocuments([
    { frameId: 0, documentId: `P${tab}`, world: shown('iframe \x011\x020') },
    { frameId: 5, parentFrameId: 0, documentId: 'F', url: 'https://bad.test/', world: {} },
  ]);
  assert.match(await take(), /^iframe \w+ \(not read: a site rule closes it/);
});

test('a snapshot that is too long ends at a line, and says how to go on', async () => {
  installDocuments([{ frameId: 0, documentId: `P${tab}`, world: shown(Array.from({ length: 100 }, (_, i) => `link "ä ${i}" \x01${(i % 9) + 1}`).join('\n')) }]);
  const lines = (await take({ maxBytes: 300 })).split('\n');
  const told = lines.slice(0, -1);
  assert.ok(told.length > 0 && new TextEncoder().encode(lines.join('\n')).length <= 300);
  assert.match(lines.at(-1), new RegExp(`^… ${100 - told.length} more lines: .*max_bytes up to \\d+$`));
});

test('as many bytes as a cut snapshot asks for are enough for all of it', async () => {
  installDocuments([{ frameId: 0, documentId: `P${tab}`, world: shown(Array.from({ length: 100 }, (_, i) => `- 語語語語語語 "${i}"`).join('\n')) }]);
  const [, bytes] = /max_bytes up to (\d+)$/.exec(await take({ maxBytes: 500 }));
  assert.doesNotMatch(await take({ maxBytes: Number(bytes) }), /more lines/);
});

test('the difference is from the last snapshot that this client was given of this document', async () => {
  const { documents } = installDocuments([{ frameId: 0, documentId: `P${tab}`, world: shown('button "A" \x011') }]);
  assert.match(await take({ isDiff: true }), /^No earlier snapshot .*\nbutton "A" \w+$/s);
  assert.equal(await take({ isDiff: true }), 'Nothing has changed.');
  documents[0].world = shown('button "A" \x011 disabled\n- new');
  assert.match(await take({ isDiff: true, client: 'other' }), /^No earlier snapshot/);
  assert.match(await take({ isDiff: true }), /^~ button "A" \w+ disabled\n\+ - new$/);
  documents[0].documentId = `Q${tab}`;
  assert.match(await take({ isDiff: true }), /^No earlier snapshot/);
});

test('what was behind a ref is known after its page has gone', async () => {
  installDocuments([{ frameId: 0, documentId: `P${tab}`, world: shown('heading 2 "Say \\"x\\"" \x011\n  button \x012 focused') }]);
  await take();
  const prefix = elementRefs.prefixOf(tab);
  assert.deepEqual(snapshots.called(tab, `${prefix}1`), { role: 'heading', name: 'Say "x"' });
  assert.deepEqual(snapshots.called(tab, `${prefix}2`), { role: 'button', name: '' });
  assert.equal(snapshots.called(tab, `${prefix}3`), null);
  snapshots.handleRemoved(tab);
  assert.equal(snapshots.called(tab, `${prefix}1`), null);
});

test('a text that looks like a line of an element says nothing of any element', async () => {
  const { documents } = installDocuments([{ frameId: 0, documentId: `P${tab}`, world: shown('link "A" \x011') }]);
  await take();
  const prefix = elementRefs.prefixOf(tab);
  documents[0].world = shown(`- "\\q" ${prefix}1\nlink "A" \x011`);
  await take();
  assert.deepEqual(snapshots.called(tab, `${prefix}1`), { role: 'link', name: 'A' });
});

test('a root that is gone is no snapshot', async () => {
  installDocuments([{ frameId: 0, documentId: `P${tab}`, world: { snapshot: { isGone: true, count: 0, place: -1 } } }]);
  assert.equal(await take(), 'Nothing is shown.', 'a document without any element');
  assert.equal(await take({ root: { document: { frameId: 0, parentFrameId: -1, documentId: `P${tab}`, url: '' }, id: 1 } }), null);
});
