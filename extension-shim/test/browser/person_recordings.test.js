// Recordings of what a person does: whose messages count, and every end.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installDocuments } from '../support/fake_documents.js';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { PersonRecordings } = await import('../../src/browser/person_recordings.js');
const { StepRecordings } = await import('../../src/browser/step_recordings.js');
const { policy } = await import('../../src/browser/state.js');

const SITE = 'https://page.test';
const URL = `${SITE}/a`;
const words = (names) => ({ names, isSecret: false, called: 'Save', field: 'textbox' });
const click = (...names) => ({ person_act: { kind: 'click', ...words(names.length > 0 ? names : ['text="Save"']) } });
let recordings;
let shown;
let told;
let scripts;
let isActing;
let documents;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  installChrome();
  ({ documents } = installDocuments([
    { frameId: 0, documentId: 'd1', url: URL, world: { watchPerson: null, unwatchPerson: null, find: ({ query }) => ({ total: query.text === 'Twice' ? 1 : 0 }) } },
    { frameId: 4, parentFrameId: 0, documentId: 'd2', url: `${SITE}/frame`, world: { watchPerson: null, unwatchPerson: null, find: () => ({ total: 0 }) } },
    { frameId: 5, parentFrameId: 0, documentId: 'd3', url: 'chrome-extension://other/page.html', refuses: true, world: {} },
  ]));
  scripts = [];
  Object.assign(chrome.scripting, {
    getRegisteredContentScripts: async () => scripts, registerContentScripts: async (more) => { scripts = more; }, unregisterContentScripts: async () => { scripts = []; },
  });
  Object.assign(chrome.tabs, { get: async () => ({ id: 7, url: URL }) });
  policy.setStopped(false);
  policy.setHandedOver([], [], false);
  policy.handleRules({ type: 'site_rules', allow: [], deny: [] });
  [told, isActing] = [[], false];
  recordings = new StepRecordings();
  shown = new PersonRecordings(recordings, policy, () => isActing, () => ({ url: URL }));
  shown.onChange = (rows) => told.push(rows.length);
});

const start = () => shown.start(7, { client: 'c', name: 'Bot', url: URL });
const from = (over = {}) => ({ tab: { id: 7, url: URL }, url: URL, origin: SITE, documentId: 'd1', ...over });
const ended = () => recordings.of(7)?.person.ended;
const steps = async () => {
  await settled();
  await shown.settled(7);
  return recordings.of(7).steps.slice(1);
};

test('acts of documents that were told to watch are steps, and of no others', async () => {
  assert.equal(shown.handleMessage({ agent_tab: 'input' }, from()), undefined);
  assert.deepEqual(shown.handleMessage(click(), from()), { isOver: true });
  await start();
  assert.equal(scripts.length, 1);
  assert.deepEqual(shown.handleMessage(click(), from()), { isOver: false });
  for (const other of [{ documentId: 'd3' }, { documentId: 'd9' }, { tab: { id: 8, url: URL } }]) assert.deepEqual(shown.handleMessage(click(), from(other)), { isOver: true });
  assert.deepEqual(shown.handleMessage({ person_act: { kind: 'eval' } }, from()), { isOver: true });
  assert.deepEqual(await steps(), [{ action: 'click', target: 'text="Save"' }]);
});

test('what an agent does meanwhile is none, and a name that fits in another frame is not taken', async () => {
  await start();
  isActing = true;
  assert.deepEqual(shown.handleMessage(click(), from()), { isOver: false });
  isActing = false;
  shown.handleMessage(click('text="Twice"', 'css=b'), from({ documentId: 'd2' }));
  assert.deepEqual(await steps(), [{ action: 'click', target: 'css=b' }]);
});

test('it ends after 10 minutes and with 50 steps, and its scripts with it', async () => {
  await start();
  mock.timers.tick(10 * 60_000 - 1);
  await settled();
  assert.equal(ended(), undefined);
  mock.timers.tick(1);
  await settled();
  assert.match(ended(), /10 minutes/);
  assert.deepEqual([scripts, told.at(-1)], [[], 0]);
  await start();
  for (let at = 0; at < 60; at += 1) shown.handleMessage({ person_act: { kind: 'key', key: 'Escape', ...words([]), field: 'page' } }, from());
  assert.equal((await steps()).length, 49);
  assert.match(ended(), /50 steps/);
});

test('it ends with another site, a rule, a step that the person does alone, and a new worker', async () => {
  const ends = [
    [() => shown.handleCommitted({ tabId: 7, frameId: 0, url: 'https://other.test/' }), /left https:\/\/page\.test/],
    [() => shown.handleMessage(click(), from({ tab: { id: 7, url: 'https://other.test/' } })), /left/],
    [() => { policy.handleRules({ type: 'site_rules', allow: [], deny: ['page.test'] }); shown.handleRules(); }, /agents may not use page\.test/],
    [() => { policy.setHandedOver(['page.test'], [], false); shown.handleRules(); }, /step alone/],
    [() => { policy.setHandedOver([], [7], true); shown.handleRules(); }, /step alone/],
    [() => shown.handleReplaced(7, 7), /unloaded/],
  ];
  for (const [end, why] of ends) {
    policy.setHandedOver([], [], false);
    policy.handleRules({ type: 'site_rules', allow: [], deny: [] });
    await start();
    end();
    await settled();
    assert.match(String(ended()), why);
    assert.deepEqual(shown.handleMessage(click(), from()), { isOver: true });
  }
  policy.handleRules({ type: 'site_rules', allow: [], deny: [] });
  policy.setHandedOver([], [], false);
  await start();
  const next = new PersonRecordings(recordings, policy, () => false, () => undefined);
  await next.restore();
  assert.match(ended(), /started anew/);
});

test('stop, a closed tab and the person can leave nothing of it', async () => {
  for (const end of [() => shown.discard(7), () => shown.handleRemoved(7), () => { policy.setStopped(true); shown.handleRules(); }]) {
    policy.setStopped(false);
    await start();
    await end();
    await settled();
    assert.equal(recordings.of(7), undefined);
  }
});

test('a frame whose site may not be used is not recorded, nor one that comes to be closed', async () => {
  documents[1].url = 'https://denied.test/';
  policy.handleRules({ type: 'site_rules', allow: [], deny: ['denied.test'] });
  await start();
  assert.deepEqual(shown.handleMessage(click(), from({ documentId: 'd2', url: 'https://denied.test/', origin: 'https://denied.test' })), { isOver: true });
  assert.deepEqual(shown.handleMessage(click(), from({ url: 'https://denied.test/', origin: 'https://denied.test' })), { isOver: true });
  assert.equal(ended(), undefined);
});

test('pages that the person names are opened, others have to come again, and a new tab is left out', async () => {
  await start();
  const go = (more) => shown.handleCommitted({ tabId: 7, frameId: 0, url: `${SITE}/b?q=1`, ...more });
  go({ transitionType: 'link' });
  go({ transitionType: 'typed' });
  go({ transitionType: 'reload' });
  go({ transitionType: 'link', transitionQualifiers: ['forward_back'] });
  isActing = true;
  go({ transitionType: 'typed' });
  shown.handleOpened(7);
  assert.deepEqual((await steps()).map(({ action }) => action), ['wait_for', 'navigate', 'refresh', 'navigate', 'wait_for']);
  assert.match(recordings.of(7).left_out[0], /new tab/);
});
