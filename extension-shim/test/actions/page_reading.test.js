import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { TEXT_MAX } from '../../src/actions/limits.js';
import { installChrome } from '../support/fakes.js';
import { installDocuments } from '../support/fake_documents.js';

installChrome();
const { actions } = await import('../../src/actions/index.js');
const { policy, tabs } = await import('../../src/browser/state.js');

const context = { tab_id: 7, timeout_ms: 5_000, client: '', signal: new AbortController().signal, begin() {}, admitAct() {}, onStop() {} };
const frame = (frameId, parentFrameId, world, more = {}) => ({ frameId, parentFrameId, documentId: `D${frameId}`, world, ...more });

beforeEach(async () => {
  installChrome();
  policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny: ['bad.test'] });
  chrome.tabs.query = async () => [{ id: 7, windowId: 1, url: 'https://page.test/', title: '', active: true, status: 'complete', discarded: false }];
  await tabs.load();
});

test('no more of a text than an answer has comes from the page, and the answer says that there is more', async () => {
  installDocuments([frame(0, -1, { text: ({ most }) => ({ found: 'x'.repeat(Math.min(most, 50_000_000)), place: -1 }) })]);
  const { value } = await actions.get_text({}, context);
  assert.equal(value.replace(/^x+/, ''), '\n… there is more: give a part of the page as target');
  assert.equal(value.indexOf('\n'), TEXT_MAX);
});

test('the text of a frame stands in its place, and that of a denied one is left out', async () => {
  installDocuments([
    frame(0, -1, { text: { found: 'before\n\x020\nbetween\n\x021\nafter', place: -1 } }),
    frame(3, 0, { text: { found: 'in the frame', place: 0 } }),
    frame(4, 0, { text: { found: 'of the bank', place: 1 } }, { url: 'https://bad.test/' }),
  ]);
  assert.equal((await actions.get_text({}, context)).value, 'before\nin the frame\nbetween\n\nafter');
});

test('an answer of reading says where a frame of another extension leaves a tab to scripts, and nothing elsewhere', async () => {
  const { asideFrames } = await import('../../src/browser/frames_aside.js');
  const foreign = frame(4, 0, {}, { url: 'chrome-extension://nngceckbapebfimnlniiiahkandclblb/menu.html', refuses: true });
  const page = frame(0, -1, { text: { found: 'words', place: -1 } });
  installDocuments([page, foreign]);
  assert.deepEqual((await actions.get_text({}, context)).notes, undefined, 'it would be set aside');
  await asideFrames.setOn(false);
  const { value, notes } = await actions.get_text({}, context);
  assert.deepEqual([value, notes.input], ['words', 'scripted']);
  assert.match(notes.input_why, /frame of Bitwarden .*switched off/);
  installDocuments([page]);
  assert.deepEqual((await actions.get_text({}, context)).notes, undefined);
  await asideFrames.setOn(true);
});
