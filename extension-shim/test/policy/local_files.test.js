// Local files: the daemon is asked about each, and without its answer they are closed.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { goldenFrames, installChrome, settled } from '../support/fakes.js';

installChrome();
const { LocalFiles } = await import('../../src/policy/local_files.js');
const { Policy } = await import('../../src/policy/policy.js');

const from = goldenFrames('from_extension');
const to = goldenFrames('to_extension');
const IN = 'file:///home/me/site/index.html';
const OUT = 'file:///etc/passwd';
const rules = (folders, enabled = true) => ({ type: 'local_files', enabled, folders });

let files;
let asked;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(console, 'debug', () => {});
  installChrome();
  asked = [];
  files = new LocalFiles();
  files.send = (text) => asked.push(JSON.parse(text)) > 0;
});

/** The daemon answers the last question as it does for the folder /home/me/site. */
async function answer({ check, urls } = asked.at(-1)) {
  files.handleVerdict({ type: 'file_verdict', check, admitted: urls.map((url) => url.startsWith('file:///home/me/site/')) });
  await settled();
}

async function learned(...urls) {
  const learning = files.learn(urls);
  await answer();
  await learning;
}

test('nothing is open, and nobody is asked, before the daemon names an open folder', async () => {
  await files.learn([IN]);
  files.handleRules(rules([]));
  await files.learn([IN]);
  files.handleRules(rules(['/home/me/site'], false));
  await files.learn([IN]);
  assert.deepEqual([files.admits(IN), asked], [false, []]);
});

test('asks in the golden frame, and believes its answer for each file', async () => {
  files.handleRules(to.local_files);
  for (let n = 1; n < from.file_check.check; n += 1) await learned(IN);
  const learning = files.learn([IN, OUT, 'https://example.com/']);
  assert.deepEqual(asked.at(-1), from.file_check);
  files.handleVerdict(to.file_verdict);
  await learning;
  assert.deepEqual([files.admits(IN), files.admits(OUT)], [true, false]);
});

test('each question is asked anew: what was open may be a link by now', async () => {
  files.handleRules(to.local_files);
  await learned(IN);
  const learning = files.learn([IN]);
  files.handleVerdict({ check: asked.at(-1).check, admitted: [false] });
  await learning;
  assert.equal(files.admits(IN), false);
});

test('without a daemon, without an answer in time and with an answer that is short a file is closed', async () => {
  files.handleRules(to.local_files);
  const waiting = files.learn([IN]);
  mock.timers.tick(5_000);
  await waiting;
  assert.equal(files.admits(IN), false);
  const short = files.learn([IN]);
  files.handleVerdict({ check: asked.at(-1).check, admitted: [] });
  await short;
  assert.equal(files.admits(IN), false);
  files.send = () => false;
  await files.learn([IN]);
  assert.equal(files.admits(IN), false);
});

test('when the link is lost what was open is closed, and who waits for an answer is told no', async () => {
  files.handleRules(to.local_files);
  await learned(IN);
  const waiting = files.learn([IN]);
  files.handleLost();
  await waiting;
  assert.equal(files.admits(IN), false);
});

test('an answer by rules that are gone does not count', async () => {
  files.handleRules(to.local_files);
  const learning = files.learn([IN]);
  const [old] = asked;
  files.handleRules(rules(['/other']));
  await answer(old);
  files.handleVerdict({ check: asked.at(-1).check, admitted: [false] });
  await learning;
  assert.equal(files.admits(IN), false);
  assert.equal(asked.length, 2);
});

test('a page of too many files is closed', async () => {
  files.handleRules(to.local_files);
  const many = Array.from({ length: 1_001 }, (_, n) => `${IN}${n}`);
  await files.learn(many);
  assert.deepEqual(asked, []);
  assert.equal(files.admits(many[0]), false);
});

test('who cannot wait is told no, and is told when that has changed', async () => {
  files.handleRules(to.local_files);
  files.onChange = mock.fn();
  assert.deepEqual([files.admits(IN), files.admits(IN)], [false, false]);
  assert.equal(asked.length, 1, 'asked once for both');
  await answer();
  assert.equal(files.onChange.mock.callCount(), 1);
  assert.equal(files.admits(IN), true);
});

test('what a frame of a page has shown counts until another page comes', async () => {
  files.handleRules(to.local_files);
  files.handleCommitted({ tabId: 7, frameId: 0, url: IN });
  files.handleCommitted({ tabId: 7, frameId: 3, url: OUT });
  files.handleCommitted({ tabId: 7, frameId: 3, url: 'about:blank' });
  files.handleCommitted({ tabId: 8, frameId: 3, url: IN });
  assert.deepEqual(files.framedIn(7), [OUT]);
  files.handleCommitted({ tabId: 7, frameId: 0, url: IN });
  assert.deepEqual([files.framedIn(7), files.framedIn(8)], [[], [IN]]);
  files.handleRemoved(8);
  assert.deepEqual(files.framedIn(8), []);
});

// ── What the policy makes of it ──

const closed = (error) => error.code === 'blocked_by_policy' && /local files/.test(error.message) && /tabwire sites files allow/.test(error.more.hint);
const command = (type, params = {}) => ({ type, params, tab_id: 7 });

test('a command that names a file, or a tab that shows one, is looked at, and refused', async () => {
  const policy = new Policy();
  policy.handleRules({ type: 'site_rules', allow: [], deny: [] });
  const web = { url: 'https://example.com/' };
  const open = (type, params, tab) => policy.isOpenFor(command(type, params), tab);
  assert.deepEqual([open('execute_js', {}, web), open('navigate', { url: web.url }, web), open('tab_list', {}, undefined)], [true, true, true]);
  assert.equal(open('execute_js', {}, { url: 'about:blank' }), false, 'a local file may have made it');
  for (const url of [OUT, `view-source:${OUT}`, 'FILE:/etc', 'blob:file:///0b-1']) {
    assert.equal(open('navigate', { url }, web), false, url);
    await assert.rejects(policy.check(command('navigate', { url }), async () => web), closed, url);
    await assert.rejects(policy.check(command('tab_open', { url }), async () => web), closed, url);
    for (const tab of [{ url }, { ...web, pendingUrl: url }]) {
      assert.equal(open('execute_js', {}, tab), false, url);
      await assert.rejects(policy.check(command('execute_js'), async () => tab), closed, url);
    }
    assert.equal(policy.blocks(url), true, url);
  }
});

test('a file in an opened folder is used, whatever sites are allowed, unless files are denied', async () => {
  const policy = new Policy();
  policy.files.send = (text) => {
    asked.push(JSON.parse(text));
    queueMicrotask(() => policy.files.handleVerdict({ check: asked.at(-1).check, admitted: [true] }));
    return true;
  };
  policy.files.handleRules(to.local_files);
  for (const allow of [[], ['example.com']]) {
    policy.handleRules({ type: 'site_rules', allow, deny: [] });
    await policy.admit(IN);
    assert.equal(policy.blocks(IN), false);
  }
  policy.handleRules({ type: 'site_rules', allow: [], deny: ['file:'] });
  await assert.rejects(policy.admit(IN), ({ message }) => /deny rule file:/.test(message));
});
