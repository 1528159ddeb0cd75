// What the popup is told, what it can ask for, and its words.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { beforeEach, test } from 'node:test';
import { installChrome, proofVectors } from '../support/fakes.js';

installChrome();
const { countRequests } = await import('../../src/draw/open_drawings.js');
const { makePanel } = await import('../../src/worker/panel.js');
const {
  askingLine, detail, drawingsText, filesSummary, headline, letInLine, needsKey, pairingNote, recorded, recordingText, sharing, since, siteChange, siteHere, siteHereText,
  ASKS_ELSEWHERE, changedLine, shownSoFar, heldLine, keptWordLine, moreWords, openedLine, partsOf, pastActLine, siteRule, sitesSummary, takenText, versions, widened, widenedHow, wordsSummary,
} = await import('../../popup/popup_view.js');

const OLDER = { asking: [{ extension_id: 'a'.repeat(32), extension_version: '5.6.0' }], let_in: [], older_problem: '' };
const PAIRING = { is_asking: false, is_pasted: true, trouble: '' };
const WIDENINGS = [{ id: 'w1', at: '2026-11-21T22:09:45.123Z', what: 'agents use a.example', take_back: 'tabwire sites remove a.example' }];
const DRAWINGS = [{ tab_id: 7, page_title: 'Shop', asks: [{ client: 'Claude Code', prompt: 'Circle it' }] }];
const FILES = { enabled: true, folders: ['/site'] };
const CONFIG = { port: 4711, ext_key: proofVectors()[0].ext_key };
const LINE = `tabwire-pair:${Buffer.from(JSON.stringify(CONFIG)).toString('base64url')}`;

const ASKS = [{ correlation_id: 'ask_1', client: 'Claude Code', kind: 'approve', question: 'Send it?', tab_id: 7 }, { correlation_id: 'ask_2', client: '', kind: 'answer', question: 'Name?' }, { correlation_id: 'ask_3', client: '', kind: 'consent', tab_id: 12 }];
const HELD = { tab_id: 9, client: 'Claude Code', opened: true, since: '2026-01-01T00:00:00.000Z' };
const OPENED = [{ tab_id: 9, client: 'Claude Code', client_id: 'c1' }, { tab_id: 10, client: '', client_id: 'c2', closes_at: '2026-01-01T00:09:30.000Z' }];
const FAR = [{ owner: 'box~0123', calls: 2, suspended: false }];
const KEPT_WORDS = [{ owner: 'user', client_id: 'c1', client: 'Claude Code', kind: 'act', site: 'https://shop.example', word: 'always', at: '2026-11-21T22:09:45.000Z' }];
const ACTS = [{ at: '2026-11-21T22:09:45.000Z', owner: 'default', client: 'Claude Code', browser: 'work', action: 'click', site: 'shop.example', ended: 'error', reason: 'no_match', took_ms: 4 }];
const NAME = { browser_name: null, browser_label: '', offered_name: '', asks_for_name: false, name_problem: '' };
const HISTORY = { history_on: true, past_acts: ACTS, history_problem: '' };
const SHOWN = { tab_id: 9, client: 'Claude Code', site: 'https://shop.example', steps: 2, until: 600_000 };
const CHANGED = { tab_id: 9, client_id: 'c1', client: 'Claude Code', emulation: { viewport: '390x844@3', color_scheme: 'dark', touch: false }, rules: [] };
let done;
let broken;
let isHeard;
let panel;

beforeEach(() => {
  [done, broken, isHeard] = [[], null, true];
  panel = makePanel({
    restored: async () => {},
    connection: () => ({ status: 'connected', detail: 'Tabwire 0.1.0', daemon_version: '0.1.0' }),
    running: () => [{ correlation_id: 'x', action: 'navigate', tab_id: 7, started_at: 1 }],
    recording: () => [{ tab_id: 8, streams: ['logs', 'actions'] }],
    recordingEnded: () => false,
    record: async (on) => done.push(`record ${on}`),
    taken: () => ({ tab_ids: [7], scripts_run: false }),
    giveBack: async () => done.push('give back'),
    drawings: () => DRAWINGS,
    showDrawing: async (tabId) => {
      if (broken) throw broken;
      done.push(`show ${tabId}`);
    },
    handOver: () => ({}),
    beginHandOver: async (id) => done.push(`begin ${id}`),
    titleOf: (tabId) => `title of ${tabId}`,
    isPrivate: (tabId) => tabId === 12,
    opened: () => done.push('opened'),
    reconnect: () => done.push('reconnect'),
    stop: (id) => done.push(`stop ${id}`),
    pairing: () => PAIRING,
    pair: async (config) => {
      if (broken) throw broken;
      done.push(config);
    },
    forget: async () => done.push('forget'),
    policy: () => ({ stopped: false, rules: { allow: [], deny: ['a.example'] }, rules_problem: '', local_files: FILES, files_problem: '' }),
    setStopped: (stopped) => done.push(`stopped ${stopped}`),
    unconfirmed: () => WIDENINGS,
    foreignFrames: () => ({ isOn: true, names: ['Bitwarden'] }), openedTabs: () => ({ list: OPENED, keepsAll: false, isGrouped: true, doubtful: [11] }),
    groupTabs: async (on) => done.push(`group tabs ${on}`),
    keepTab: (tabId) => done.push(`keep tab ${tabId}`) > 0,
    keepTabs: async (on) => done.push(`keep tabs ${on}`),
    asks: () => ASKS,
    answerAsk: (id, answer) => isHeard && done.push([id, answer]) > 0,
    heldTabs: () => [HELD],
    sharedTabs: () => [7],
    shareTab: async (tabId) => { done.push(`share ${tabId}`); return tabId !== 9_999; },
    takeSharedBack: async (tabId) => { done.push(`take shared back ${tabId}`); },
    history: () => HISTORY, name: () => NAME,
    words: () => ({ kept_words: KEPT_WORDS, more_words: 2 }),
    farOwners: () => ({ far_owners: FAR, tenant_troubles: [], far_problem: '' }),
    changeFarOwner: (change) => isHeard && done.push(change) > 0,
    takeWordBack: (word) => isHeard && done.push(word) > 0,
    changeHistory: (wish) => isHeard && done.push(`history ${wish}`) > 0,
    pageStates: () => [CHANGED],
    personRecordings: () => [SHOWN],
    endPersonRecording: async (tabId, isKept) => { done.push(['end recording', tabId, isKept]); },
    putBack: async (tabId) => done.push(`put back ${tabId}`),
    takeTab: (tabId) => isHeard && done.push(`take ${tabId}`) > 0,
    keep: (id) => isHeard && done.push(`keep ${id}`) > 0,
    changeSites: (change) => isHeard && done.push(change) > 0,
    older: () => OLDER,
    changeOlder: (change) => isHeard && done.push(change) > 0,
    changeLocalFiles: (change) => isHeard && done.push(change) > 0,
  });
});

test('tells connection, versions and what runs in which tab', async () => {
  const { now, ...state } = await panel({ ask: 'state' });
  assert.ok(now > 0);
  assert.deepEqual(state, {
    status: 'connected', detail: 'Tabwire 0.1.0', daemon_version: '0.1.0', extension_version: '0.1.0',
    running: [{ correlation_id: 'x', action: 'navigate', tab_id: 7, started_at: 1, tab_title: 'title of 7' }],
    recording: [{ tab_id: 8, streams: ['logs', 'actions'], tab_title: 'title of 8' }],
    recording_ended: false, taken: { tabs: [{ tab_id: 7, tab_title: 'title of 7' }], scripts_run: false }, drawings: DRAWINGS,
    pairing: PAIRING,
    stopped: false, rules: { allow: [], deny: ['a.example'] }, rules_problem: '', local_files: FILES, files_problem: '', unconfirmed: WIDENINGS, ...OLDER, ...HISTORY, ...NAME, kept_words: KEPT_WORDS, more_words: 2, far_owners: FAR, tenant_troubles: [], far_problem: '',
    shared: [7],
    held: [{ ...HELD, tab_title: 'title of 9' }], foreign: { isOn: true, names: ['Bitwarden'] }, opened: [{ ...OPENED[1], tab_title: 'title of 10' }], keeps_tabs: false, groups_tabs: true, restored: [{ tab_id: 11, tab_title: 'title of 11' }],
    changed: [{ ...CHANGED, tab_title: 'title of 9' }], shown: [{ ...SHOWN, tab_title: 'title of 9' }],
    asks: [{ ...ASKS[0], tab_title: 'title of 7' }, { ...ASKS[1], tab_title: '' }, { ...ASKS[2], is_private: true, tab_title: 'title of 12' }],
  });
  assert.deepEqual(done, []);
});

test('tells nothing before it is known what an earlier worker knew, unless that cannot be read', async () => {
  let isStopped = false;
  const parts = { connection: () => ({}), running: () => [], recording: () => [], pairing: () => PAIRING, unconfirmed: () => [], heldTabs: () => [], sharedTabs: () => [], pageStates: () => [], personRecordings: () => [], foreignFrames: () => ({ isOn: true, names: [] }), openedTabs: () => ({ list: [], keepsAll: false, isGrouped: false, doubtful: [] }), asks: () => [], history: () => HISTORY, words: () => ({}), farOwners: () => ({}), name: () => NAME,
    recordingEnded: () => false, taken: () => null, drawings: () => [] };
  const policy = () => ({ stopped: isStopped, rules: null, rules_problem: '' });
  parts.older = () => OLDER;
  const stopped = async (restored) => (await makePanel({ ...parts, policy, restored })({ ask: 'state' })).stopped;
  assert.equal(await stopped(async () => { isStopped = true; }), true);
  assert.equal(await stopped(async () => { throw new Error('unreadable'); }), true);
});

test('does what is clicked, and tells what is then', async () => {
  const change = { change: 'add', list: 'deny', pattern: 'b.example' };
  const letIn = { change: 'allow', extension_id: 'a'.repeat(32) };
  const clears = { change: 'clear_agents' };
  const allows = { change: 'allow_action', action: 'execute_js', pattern: 'b.example' };
  const closes = { change: 'switch', enabled: false };
  const removes = { change: 'remove', folder: '/site' };
  const asks = [
    { ask: 'opened' }, { ask: 'reconnect' }, { ask: 'stop', correlation_id: 'x' }, { ask: 'stop_all' }, { ask: 'release' },
    { ask: 'site_rule', ...change, more: 1 }, { ask: 'older_extension', ...letIn, more: 1 }, { ask: 'keep', id: 'w1' }, { ask: 'forget' },
    { ask: 'site_rule', ...clears, more: 1 }, { ask: 'site_rule', ...allows, more: 1 },
    { ask: 'local_file_rule', ...closes, more: 1 }, { ask: 'local_file_rule', ...removes, more: 1 },
    { ask: 'give_back' }, { ask: 'record', on: false }, { ask: 'record', on: true }, { ask: 'show_drawing', tab_id: 7 }, { ask: 'keep_tab', tab_id: 10 }, { ask: 'keep_tabs', on: true }, { ask: 'keep_tabs' }, { ask: 'group_tabs', on: true },
  ];
  for (const ask of asks) {
    assert.equal((await panel(ask)).status, 'connected');
  }
  assert.deepEqual(done, ['opened', 'reconnect', 'stop x', 'stopped true', 'stopped false', change, letIn, 'keep w1', 'forget', clears, allows, closes, removes,
    'give back', 'record false', 'record true', 'show 7', 'keep tab 10', 'keep tabs true', 'keep tabs false', 'group tabs true']);
});

test('an answer is passed on as one of those that there are, and not without a daemon', async () => {
  const given = [
    [{ kind: 'allow', note: 'once', more: 1 }, { kind: 'allow', note: 'once' }], [{ kind: 'deny', note: '' }, { kind: 'deny' }],
    [{ kind: 'option', index: 1, more: 1 }, { kind: 'option', index: 1 }], [{ kind: 'text', text: 'Ada', more: 1 }, { kind: 'text', text: 'Ada' }],
    [{ kind: 'made_up' }, { kind: 'decline' }],
  ];
  for (const [answer] of given) await panel({ ask: 'answer_ask', correlation_id: 'ask_1', answer });
  assert.deepEqual(done, given.map(([, passed]) => ['ask_1', passed]));
  isHeard = false;
  const { trouble } = await panel({ ask: 'answer_ask', correlation_id: 'ask_1', answer: { kind: 'allow' } });
  assert.match(trouble, /not sent: the daemon does not run/);
});

test('to look at the popup gives nothing back', async () => {
  await panel({ ask: 'opened' });
  await panel({ ask: 'state' });
  assert.deepEqual(done, ['opened']);
});

test('a drawing that is not asked for any more is said to be none', async () => {
  broken = new Error('nobody asks for this drawing any more');
  assert.match((await panel({ ask: 'show_drawing', tab_id: 7 })).trouble, /any more/);
});

test('an extension newer than its daemon says so in the popup, with the next step, and only while they are connected', () => {
  const shown = (status, extension_newer) => detail({ status, detail: 'Tabwire 0.1.0', extension_newer });
  assert.match(shown('connected', true), /newer than the Tabwire that runs.*`tabwire update`.*`tabwire stop`.*\(Tabwire 0\.1\.0\)/);
  assert.equal(shown('connected', false), 'Tabwire 0.1.0');
  assert.doesNotMatch(shown('disconnected', true), /newer/);
  assert.match(shown('old_daemon', false), /`tabwire update`/, 'the same where they do not understand each other');
});

test('the tab that the person took control of is told apart from others', () => {
  const tabs = [{ tab_id: 7, tab_title: 'Shop' }, { tab_id: 8, tab_title: 'Mail' }];
  const text = (list, here, scripts_run = false) => takenText({ tabs: list, scripts_run }, here);
  assert.equal(text(tabs.slice(0, 1), 7).headline, 'You took control of this tab');
  assert.equal(text(tabs, 7).headline, 'You took control of this tab and 1 other tab');
  assert.equal(text(tabs, 9).headline, 'You took control of 2 tabs');
  assert.deepEqual([text(tabs, 7).others, text(tabs, 9).others], [['Mail'], ['Shop', 'Mail']], 'those that they do not see are named');
  assert.equal(text([], 9).headline, 'You took control', 'the tabs are closed, and nothing is recorded all the same');
  assert.match(text([], 9).detail, /nothing is recorded/);
  assert.doesNotMatch(text(tabs, 7).detail, /Allow User Scripts/);
  assert.match(text(tabs, 7, true).detail, /Scripts of agents still run.*Allow User Scripts/);
});

test('how often agents ask for a drawing is counted over all tabs', () => {
  const [one] = DRAWINGS;
  assert.equal(drawingsText([one]), 'An agent asks you to draw');
  const both = [one, { ...one, tab_id: 8, asks: [...one.asks, ...one.asks] }];
  assert.match(drawingsText(both), /^Agents ask you to draw \(3\)$/);
  assert.equal(countRequests(both), 3, 'the badge shows the same number');
});

test('the popup explains the debugging bar and its Cancel before any agent has used a tab', () => {
  const html = readFileSync(new URL('../../popup/popup.html', import.meta.url), 'utf8');
  const [, bar] = /<p id="bar">(.*)<\/p>/.exec(html) ?? [];
  for (const words of ['"Tabwire" started debugging this browser', 'Cancel takes', 'ends recording', 'give control back']) assert.ok(bar?.includes(words), words);
});

test('every status but the first has a colour of its light', () => {
  const css = readFileSync(new URL('../../popup/popup.css', import.meta.url), 'utf8');
  for (const status of ['connected', 'disconnected', 'replaced', 'unpaired', 'refused', 'unproven', 'old_daemon', 'old_extension', 'changed']) {
    assert.ok(css.includes(`[data-status="${status}"]`), status);
  }
});

test('the width of the popup does not follow that of its window, which is 25 px wide at first', () => {
  const css = ['popup/popup.css', 'src/lib/agent_words.css'].map((file) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).join();
  assert.match(css, /body \{[^}]*\bwidth: 360px;/);
  assert.doesNotMatch(css, /\d+v[wh]\b/);
});

test('that the person stopped the recording stays to be seen, so that they can undo it', () => {
  const recording = [{ tab_id: 8, streams: ['logs'], tab_title: 'Mail' }];
  assert.equal(recordingText({ recording, recording_ended: false }), 'Recording for an agent');
  assert.match(recordingText({ recording: [], recording_ended: true }), /You stopped/);
  assert.equal(recordingText({ recording: [], recording_ended: false }), '');
});

test('agents can be kept out of the site of the tab, unless it has none', () => {
  const none = { allow: [], deny: [] };
  assert.deepEqual(siteHere(none, 'https://me:secret@mail.example.com:8443/a?b#c'), { site: 'mail.example.com:8443', isKeptOut: false });
  assert.deepEqual(siteHere({ allow: [], deny: ['example.com'] }, 'https://mail.example.com/'), { site: 'mail.example.com', isKeptOut: true });
  for (const url of ['', 'about:blank', 'chrome://settings/', 'file:///etc/passwd', 'data:text/html,x']) assert.equal(siteHere(none, url), null, url);
  assert.match(siteHereText({ site: 'a.example', isKeptOut: true }), /kept out of a\.example/);
});

test('a change of the rules that nobody hears is said to be none', async () => {
  isHeard = false;
  const { trouble } = await panel({ ask: 'site_rule', change: 'add', list: 'deny', pattern: 'b.example' });
  assert.match(trouble, /`tabwire sites`/);
  assert.match((await panel({ ask: 'local_file_rule', change: 'switch', enabled: true })).trouble, /`tabwire sites`/);
  assert.deepEqual(done, []);
});

test('a decision on an older extension that nobody hears is said to be none', async () => {
  isHeard = false;
  const { trouble } = await panel({ ask: 'older_extension', change: 'allow', extension_id: 'a'.repeat(32) });
  assert.match(trouble, /`tabwire legacy`/);
  assert.deepEqual(done, []);
});

test('an older extension is told as one that asks, was let in, or is here beside Tabwire', () => {
  assert.match(askingLine({ extension_version: '5.6.0' }), /5\.6\.0.*asks to be let in/);
  assert.match(askingLine({ extension_version: '5.6.0', was_let_in: true }), /until Tabwire connected/);
  assert.match(letInLine({ connected: true }), /beside Tabwire/);
  assert.doesNotMatch(letInLine({ connected: false }), /beside/);
});

test('a tab that an agent holds is taken back by a click, and where nobody hears it that is said', async () => {
  assert.equal((await panel({ ask: 'take_tab', tab_id: 9 })).trouble, undefined);
  isHeard = false;
  assert.match((await panel({ ask: 'take_tab', tab_id: 9 })).trouble, /daemon does not run/);
  assert.deepEqual(done, ['take 9']);
});

test('the person switches the history and removes it; a daemon that is away is told of', async () => {
  for (const wish of ['on', 'off', 'clear', 'look']) assert.deepEqual((await panel({ ask: 'history', wish })).past_acts, ACTS);
  await panel({ ask: 'history', wish: 'rewrite' });
  assert.deepEqual(done, ['history on', 'history off', 'history clear', 'history look', 'history look']);
  isHeard = false;
  assert.match((await panel({ ask: 'history', wish: 'clear' })).trouble, /`tabwire history`/);
});

test('the person disconnects the agents of a machine by a click, and lets them in again', async () => {
  for (const allowed of [false, true]) assert.deepEqual((await panel({ ask: 'far_owner', owner: 'box~0123', allowed })).far_owners, FAR);
  assert.deepEqual(done, [{ owner: 'box~0123', allowed: false }, { owner: 'box~0123', allowed: true }]);
  await panel({ ask: 'far_owner', owner: 'box~0123', allowed: 'yes' });
  assert.equal(done.at(-1).allowed, false, 'nothing but a clear word lets them in');
  isHeard = false;
  assert.match((await panel({ ask: 'far_owner', owner: 'box~0123', allowed: false })).trouble, /daemon does not run/);
});

test('a word of the person is taken back by a click, and where nobody hears it that is said', async () => {
  assert.equal((await panel({ ask: 'take_word_back', word: KEPT_WORDS[0] })).more_words, 2);
  isHeard = false;
  assert.match((await panel({ ask: 'take_word_back', word: KEPT_WORDS[0] })).trouble, /daemon does not run/);
  assert.deepEqual(done, [KEPT_WORDS[0]]);
});

test('a word is told with what it says, whose agent it is about and its age', () => {
  const now = Date.parse(KEPT_WORDS[0].at) + 5_000;
  assert.deepEqual(keptWordLine(KEPT_WORDS[0], now), { says: 'Always: act on https://shop.example', whose: 'Claude Code · 5 s ago' });
  const other = { ...KEPT_WORDS[0], word: 'never', kind: 'close', owner: 'work', client: '' };
  assert.deepEqual(keptWordLine(other, now), { says: 'Never: close a tab on https://shop.example', whose: 'An agent · owner work · 5 s ago' });
  const listed = { ...other, owner: `work~${'0f'.repeat(16)}` };
  assert.deepEqual(keptWordLine(listed, now), keptWordLine(other, now), 'its name alone');
  assert.match(keptWordLine({ ...other, word: 'session' }, now).says, /^This session: /);
  assert.equal(wordsSummary(3), 'Your words to agents: 3');
  assert.equal(moreWords(0), '');
  assert.match(moreWords(1), /^1 older word is not shown.*`tabwire asks`/);
});

test('the rule ask can be given and taken back in the popup, also for all other sites', async () => {
  assert.equal(siteRule('ask', 'bank.example'), 'ask before agents act on bank.example');
  const { change } = siteChange('ask', 'bank.example');
  await panel({ ask: 'site_rule', ...change });
  await panel({ ask: 'site_rule', change: 'default', default: 'allow' });
  assert.deepEqual(done, [{ change: 'add', list: 'ask', pattern: 'bank.example' }, { change: 'default', default: 'allow' }]);
  assert.match(ASKS_ELSEWHERE, /any other site/);
});

test('a past act is told with its end, its client, its site and its age', () => {
  const now = Date.parse(ACTS[0].at);
  assert.deepEqual(pastActLine(ACTS[0], now + 3_661_000, 'work'), { did: 'click: no_match', where: 'Claude Code · shop.example · 1 h 1 min ago' });
  assert.equal(pastActLine(ACTS[0], now + 5_000, 'home').where, 'Claude Code · work · shop.example · 5 s ago');
  const plain = { ...ACTS[0], client: '', browser: undefined, site: undefined, ended: 'complete', reason: undefined };
  assert.deepEqual(pastActLine(plain, now + 5_000, 'work'), { did: 'click', where: 'An agent · 5 s ago' });
  assert.equal(since(now, now + 3 * 86_400_000), '3 days');
});

test('a held tab is told with the agent that opened it or acts in it', () => {
  assert.equal(heldLine(HELD), 'Claude Code opened it');
  assert.equal(heldLine({ ...HELD, client: '', opened: false }), 'An agent acts in it');
});

test('a tab that an agent opened is told with its end, and once: one that is held stands with those', async () => {
  assert.deepEqual((await panel({ ask: 'state' })).opened.map(({ tab_id }) => tab_id), [10]);
  const at = (now, keeps_tabs = false) => openedLine(OPENED[1], { now: Date.parse(now), keeps_tabs });
  assert.equal(at('2026-01-01T00:00:00.000Z'), 'An agent opened it and has ended; it closes in 10 min');
  assert.match(at('2026-01-01T00:10:00.000Z'), /closes when you look elsewhere/);
  assert.equal(at('2026-01-01T00:00:00.000Z', true), 'An agent opened it');
  assert.equal(openedLine(OPENED[0], { now: 0, keeps_tabs: false }), 'Claude Code opened it');
});

test('the person ends a recording of what they do, and keeps it from the agent or not', async () => {
  for (const keeps of [true, false]) assert.equal((await panel({ ask: 'end_person_recording', tab_id: 9, keeps })).trouble, undefined);
  assert.equal((await panel({ ask: 'end_person_recording', tab_id: 9, keeps: 'yes' })).trouble, undefined);
  assert.deepEqual(done, [['end recording', 9, true], ['end recording', 9, false], ['end recording', 9, false]]);
  assert.equal(shownSoFar({ steps: 1, until: 61_000 }, 0), '1 step, ends by itself in 2 min');
  assert.equal(shownSoFar({ steps: 2, until: 0 }, 5), '2 steps, ends by itself in 1 min');
});

const blocking = (...urls) => urls.map((url) => ({ url, deed: { block: true } }));

test('what an agent emulates is told with the tab, and is put back by a click', async () => {
  assert.deepEqual((await panel({ ask: 'state' })).changed, [{ ...CHANGED, tab_title: 'title of 9' }]);
  assert.equal(changedLine(CHANGED), 'Claude Code emulates viewport 390x844@3, color scheme dark, touch off');
  assert.equal(changedLine({ client: '', emulation: { network: 'offline' }, rules: blocking('.png', '**/ads/*') }), 'An agent emulates network offline and blocks requests to .png, **/ads/*');
  assert.equal(changedLine({ client: '', emulation: {}, rules: blocking('.png') }), 'An agent blocks requests to .png');
  const rules = [{ url: '/cart', deed: { answer: { body: '', type: 'text/css', status: 200 } } }, { url: '/api/', deed: { headers: { 'X-A': 'b' } } }, { url: '/items', deed: { headers: { 'X-A': 'b' } } }];
  assert.equal(changedLine({ client: '', emulation: {}, rules }), 'An agent answers requests to /cart and changes headers of requests to /api/, /items');
  assert.equal((await panel({ ask: 'put_back', tab_id: 9 })).trouble, undefined);
  assert.deepEqual(done, ['put back 9']);
});

test('a widening that nobody hears is not confirmed, and the way in a terminal is named', async () => {
  isHeard = false;
  const { trouble } = await panel({ ask: 'keep', id: 'w1' });
  assert.match(trouble, /`tabwire confirm`/);
  assert.deepEqual(done, []);
});

test('a widening is told with when it was made and the command that takes it back', () => {
  const [one] = WIDENINGS;
  assert.equal(widened(one), 'Let agents use a.example.');
  assert.match(widenedHow(one), /2026.*take it back: `tabwire sites remove a\.example`$/s);
  assert.doesNotMatch(widenedHow({ ...one, take_back: undefined }), /take it back/);
  assert.equal(widenedHow({ ...one, take_back: 'x `y` z' }).split('`').length, 5);
});

test('takes a pasted line that is whole, and no other', async () => {
  assert.equal((await panel({ ask: 'pair', line: ` ${LINE}\n` })).status, 'connected');
  for (const line of [LINE.slice(0, -9), '', undefined, { port: 1 }]) {
    assert.ok((await panel({ ask: 'pair', line })).trouble, String(line));
  }
  assert.deepEqual(done, [CONFIG]);
});

test('what the browser could not store is told', async () => {
  broken = new Error('disk full');
  assert.deepEqual(await panel({ ask: 'pair', line: LINE }), { trouble: 'The browser could not store it: disk full' });
});

for (const ask of [undefined, null, {}, { ask: 'execute_js' }, 'state']) {
  test(`${JSON.stringify(ask)} is no question of the popup`, () => assert.equal(panel(ask), undefined));
}

test('every state of the link has words, and every one that is a person\'s to mend names the remedy', () => {
  for (const status of ['connected', 'connecting', 'disconnected', 'unpaired', 'refused', 'unproven', 'replaced']) {
    assert.ok(headline({ status }).length > 0, status);
    assert.match(detail({ status, detail: 'why' }), /why/);
  }
  assert.match(detail({ status: 'disconnected', detail: '' }), /`tabwire serve`/);
  for (const status of ['unpaired', 'refused']) assert.match(detail({ status, detail: '' }), /`tabwire install`/);
  assert.match(detail({ status: 'unproven', detail: '' }), /`tabwire doctor`/);
});

test('the words that a browser has for every failure is left out, and so are empty brackets', () => {
  for (const said of ['', 'closed with 1006', 'TypeError: Failed to fetch']) {
    assert.doesNotMatch(detail({ status: 'disconnected', detail: said }), /\(/, said);
  }
});

test('a key is asked of the person only when there is none that holds', () => {
  const all = ['connected', 'connecting', 'disconnected', 'unpaired', 'refused', 'unproven', 'replaced'];
  assert.deepEqual(all.filter((status) => needsKey({ status })), ['unpaired', 'refused']);
});

test('why no key came by itself is told while none holds', () => {
  const note = (status, pairing) => pairingNote({ status, pairing: { ...PAIRING, ...pairing } });
  assert.equal(note('unpaired', { trouble: 'why' }), 'why');
  assert.equal(note('refused', { trouble: 'why' }), 'why');
  assert.match(note('unpaired', { trouble: 'why', is_asking: true }), /^Asking/);
  assert.equal(note('connected', { trouble: 'why', is_asking: true }), '');
  assert.equal(note('disconnected', { trouble: 'why' }), '');
});

test('tells the version of a daemon only while it is there', () => {
  const of = (status, daemon_version) => versions({ status, daemon_version, extension_version: '0.1.0' });
  assert.equal(of('disconnected', null), 'extension 0.1.0');
  assert.equal(of('connected', '0.2.0'), 'extension 0.1.0 · daemon 0.2.0');
  assert.equal(of('disconnected', '0.2.0'), 'extension 0.1.0');
});

test('a length is told in seconds and minutes, and never below zero', () => {
  assert.deepEqual([since(0, 3_900), since(0, 125_000), since(10, 0)], ['3 s', '2 min 5 s', '0 s']);
});

test('a person reads what is recorded in words of their own', () => {
  assert.equal(recorded({ streams: ['logs', 'actions'] }), 'console, your clicks and input');
  assert.doesNotMatch(recorded({ streams: ['logs', 'network', 'bodies', 'websocket', 'actions', 'performance'] }), /undefined/);
});

test('the popup has no inline script, and nothing from outside', () => {
  const html = readFileSync(new URL('../../popup/popup.html', import.meta.url), 'utf8');
  assert.doesNotMatch(html, /<script(?![^>]*src=)|\son\w+=|https?:/);
});

test('what a person types into has a label, and what goes wrong with it is read out', () => {
  const html = readFileSync(new URL('../../popup/popup.html', import.meta.url), 'utf8');
  for (const [input, id] of html.matchAll(/<input id="(\w+)"[^>]*>/g)) {
    assert.ok(html.includes(`<label for="${id}">`) || / aria-label="\w/.test(input), id);
  }
  for (const [, ids] of html.matchAll(/aria-describedby="([^"]+)"/g)) {
    for (const id of ids.split(' ')) assert.ok(html.includes(`id="${id}"`), id);
  }
  for (const [, id] of html.matchAll(/id="(\w+-trouble)"/g)) assert.match(html, new RegExp(`id="${id}" role="(alert|status)"`));
});

test('what a person writes as a site is asked for as the browser would send it, or said to be none', () => {
  const asked = (given) => siteChange('deny', given).change?.pattern;
  assert.deepEqual(siteChange('allow', ' example.com ').change, { change: 'add', list: 'allow', pattern: 'example.com' });
  assert.equal(asked('https://*.bücher.example:8443'), 'https://*.xn--bcher-kva.example:8443');
  assert.equal(asked('file:'), 'file:');
  for (const address of ['https://example.com/', 'https://example.com/a/b?c=d#e', 'HTTP://me:pw@Example.com:80/', 'example.com/path', 'https://example.com?q']) {
    assert.equal(asked(address), 'example.com', address);
  }
  assert.equal(asked('http://localhost:3000/app'), 'localhost:3000');
  assert.equal(asked('https://bücher.example/x'), 'xn--bcher-kva.example');
  assert.equal(asked('http://[::1]:8000/'), '[::1]:8000');
  assert.equal(asked('https://example.com:8443'), 'https://example.com:8443', 'what is a pattern stays one');
  for (const wrong of ['', '*', 'https://', 'https:///x', '/path', 'a b', 'a b/c', 'file:///etc/passwd', 'javascript:alert(1)', 'user@example.com']) {
    assert.equal(asked(wrong), undefined, wrong);
    assert.match(siteChange('deny', wrong).wrong, /example\.com/);
  }
});

test('how many sites may be used is told in a few words', () => {
  const of = (allow, deny) => sitesSummary({ allow, deny });
  assert.deepEqual([of([], []), of([], ['a']), of(['a'], []), of(['a'], ['b', 'c'])],
    ['Sites: all', 'Sites: all but 1', 'Sites: only 1 allowed', 'Sites: only 1 allowed, 2 denied']);
  assert.doesNotMatch(sitesSummary(null), /all/, 'before any rule is known none may be used');
});

test('a rule about acts is told in words, and sites with such rules are counted', () => {
  assert.equal(siteRule('read', 'bank.example'), 'only read bank.example');
  assert.equal(siteChange('read', 'bank.example').change.list, 'read');
  assert.equal(sitesSummary({ allow: [], deny: [], read: ['a'], deny_actions: [{ action: 'execute_js', pattern: 'b' }] }), 'Sites: all, 2 with limits');
});

test('what an agent has denied is told as its own, and counted', () => {
  assert.equal(siteRule('agent_deny', 'bank.example'), 'deny bank.example (an agent)');
  assert.equal(siteRule('deny', 'bank.example'), 'deny bank.example');
  assert.equal(sitesSummary({ allow: [], deny: ['a.example'], agent_deny: ['b.example'] }), 'Sites: all but 2');
});

test('where no folder is open the popup explains how to open one', () => {
  assert.match(filesSummary({ enabled: true, folders: [] }), /`tabwire sites files allow DIR`/);
  assert.equal(filesSummary({ enabled: false, folders: ['/site'] }), '');
  assert.equal(filesSummary(null), '');
});

test('the person names the browser, and is told if nobody can keep the name', async () => {
  const given = [];
  const name = () => ({ ...NAME, browser_label: 'Chromium on Linux' });
  const state = { connection: () => ({}), running: () => [], recording: () => [], pairing: () => PAIRING, unconfirmed: () => [], heldTabs: () => [], sharedTabs: () => [], pageStates: () => [], personRecordings: () => [], foreignFrames: () => ({ isOn: true, names: [] }), openedTabs: () => ({ list: [], keepsAll: false, isGrouped: false, doubtful: [] }), asks: () => [], history: () => HISTORY, words: () => ({}), farOwners: () => ({}), name: () => NAME,
    policy: () => ({}), older: () => ({}), recordingEnded: () => false, taken: () => null, drawings: () => [], restored: async () => {} };
  const panel = makePanel({ ...state, name, giveName: (wish) => { given.push(wish); return true; } });
  assert.equal((await panel({ ask: 'name_browser', name: 'work' })).browser_label, 'Chromium on Linux');
  assert.deepEqual(given, ['work']);
  assert.match((await makePanel({ ...state, name, giveName: () => false })({ ask: 'name_browser', name: 'work' })).trouble, /daemon does not run/);
});

test('the person shares the tab that they see, if it shows a page and no agent opened it, and takes it back', async () => {
  const { shared } = await panel({ ask: 'share_tab', tab_id: 8, on: true });
  assert.deepEqual(shared, [7]);
  await panel({ ask: 'share_tab', tab_id: 7, on: false });
  assert.match((await panel({ ask: 'share_tab', tab_id: 9_999, on: true })).trouble, /no page/);
  assert.match((await panel({ ask: 'share_tab', tab_id: 10, on: true })).trouble, /agent opened/);
  assert.deepEqual(done, ['share 8', 'take shared back 7', 'share 9999']);
});

test('the popup offers to share a page, and to take it back', () => {
  const state = { shared: [7], opened: [{ tab_id: 10 }], held: [{ tab_id: 9, opened: true }, { tab_id: 12, opened: false }] };
  const of = (id, url = 'https://shop.test/') => sharing(state, { id, url });
  assert.deepEqual([of(8).isOffered, of(8).isShared, of(8).button], [true, false, 'Share this tab with agents']);
  assert.deepEqual([of(7).isOffered, of(7).isShared, of(7).button], [true, true, 'Take this tab back']);
  assert.match(of(7).text, /until you take it back/);
  assert.deepEqual([of(9).isOffered, of(10).isOffered, of(12).isOffered], [false, false, true], 'those of agents are theirs');
  assert.equal(of(8, 'chrome://settings/').isOffered, false);
  assert.equal(sharing(state, undefined).isOffered, false);
});

test('a file is told by its folder and its name, whatever system its path is of', () => {
  for (const [path, folder, name] of [
    ['/home/ann/a b.txt', '/home/ann', 'a b.txt'], ['/a.txt', '/', 'a.txt'], ['/home/ann/a\\b.txt', '/home/ann', 'a\\b.txt'],
    ['C:\\Users\\ann\\a.txt', 'C:\\Users\\ann', 'a.txt'], ['d:\\a.txt', 'd:\\', 'a.txt'],
  ]) assert.deepEqual(partsOf(path), { folder, name });
});
