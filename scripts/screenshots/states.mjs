// What the popup, the page to draw in and the badge are shown with: one entry a picture.

/** @import {PanelState} from '../../extension-shim/src/worker/panel.js' */

const NOW = 1_795_298_985_000;
const LONG = 'An agent that calls itself by a name as long as names may be, 64 b';

/** @type {PanelState} */
const CONNECTED = {
  status: 'connected', detail: 'Tabwire 0.1.0', daemon_version: '0.1.0', extension_version: '0.1.0', now: NOW,
  pairing: { is_asking: false, is_pasted: false, trouble: '' },
  running: [], recording: [], recording_ended: false, taken: null, drawings: [], unconfirmed: [],
  stopped: false, rules: { allow: [], deny: [], agent_deny: [] }, rules_problem: '',
  local_files: { enabled: false, folders: [] }, files_problem: '',
  asking: [], let_in: [], older_problem: '',
  asks: [], held: [], changed: [], shown: [], opened: [], shared: [], keeps_tabs: false, groups_tabs: false, restored: [],
  foreign: { isOn: true, names: [] }, history_on: true, past_acts: [], history_problem: '', kept_words: [], more_words: 0,
  browser_name: null, browser_label: 'Chromium', offered_name: '', asks_for_name: false, name_problem: '',
};

const AGENT = 'Claude Code 2.1.330';

/** @param {number} ms from now @returns {string} */
const at = (ms) => new Date(NOW + ms).toISOString();

/** A question of an agent. @param {string} id @param {object} more */
const question = (id, more) => ({ correlation_id: `ask_${id}`, client: AGENT, asked_at: at(-5_000), until: at(595_000), tab_title: '', ...more });

/** A command that waits for the person's word. @param {string} id @param {object} need @param {object} [more] */
const consent = (id, need, more) => question(id, { kind: 'consent', question: 'click button "Buy"', tab_id: 7, tab_title: 'Cart – Shop', need: { site: 'https://shop.example', ...need }, ...more });

/** @param {string} path @param {object} [more] */
const asked = (path, more) => ({ path, size: 48_213, mark: 'm', may_open_folder: true, ...more });

const HERE = { id: 7, url: 'https://shop.example/cart?item=1', title: 'Cart – Shop' };

/** What a tab shows, and what is drawn on. */
export const SHOP_PAGE = `<!doctype html><title>Cart – Shop</title>
  <style>body { margin: 40px; font: 20px/1.5 system-ui, sans-serif } h1 { margin: 0 } button { padding: 6px 20px; font: inherit }</style>
  <h1>Cart</h1><p>1 lamp, 5 EUR</p><button>Buy</button>`;

/**
 * What one picture of the popup shows.
 * @typedef {{state: Partial<PanelState>, here?: object, isOpen?: boolean, click?: string, trouble?: string}} PopupScene `isOpen`: the list
 *   of sites is unfolded; `click`: the button that is clicked, and `trouble`: what is said of that
 */

/** @type {Record<string, PopupScene>} by the name of the file */
const SCENES = {
  connected: { state: {} },
  connecting: { state: { status: 'connecting', detail: '127.0.0.1:7890', daemon_version: null } },
  disconnected: { state: { status: 'disconnected', detail: 'TypeError: Failed to fetch', daemon_version: null } },
  'another-program': { state: { status: 'unproven', detail: 'at 127.0.0.1:7890', daemon_version: null } },
  unpaired: { state: { status: 'unpaired', detail: '', daemon_version: null,
    pairing: { is_asking: false, is_pasted: false, trouble: 'Tabwire is not installed for this browser.' } } },
  'asking-for-key': { state: { status: 'unpaired', detail: '', daemon_version: null, pairing: { is_asking: true, is_pasted: false, trouble: '' } } },
  'wrong-line': { state: { status: 'unpaired', detail: '', daemon_version: null }, click: '#pair button',
    trouble: 'That is not the whole line that `tabwire pair` prints.' },
  refused: { state: { status: 'refused', detail: 'at 127.0.0.1:7890', daemon_version: null } },
  unproven: { state: { status: 'unproven', detail: 'it does not know the key', daemon_version: null } },
  'old-daemon': { state: { status: 'old_daemon', detail: 'at 127.0.0.1:7890', daemon_version: null } },
  'old-extension': { state: { status: 'old_extension', detail: 'at 127.0.0.1:7890', daemon_version: null } },
  replaced: { state: { status: 'replaced', detail: 'another browser connected as this one', daemon_version: null } },
  stopped: { state: { stopped: true } },
  running: { state: { running: [
    { correlation_id: 'a', action: 'navigate', tab_id: 7, started_at: NOW - 3_000, client: 'Claude Code 2.1.330', tab_title: 'Cart – Shop' },
    { correlation_id: 'b', action: 'execute_js', tab_id: 8, started_at: NOW - 75_000, client: LONG, tab_title: 'A page with a title that goes on and on, as pages have them' },
  ] } },
  recording: { state: { recording: [{ tab_id: 7, streams: ['logs', 'network', 'actions'], tab_title: 'Cart – Shop' }] } },
  'recording-ended': { state: { recording_ended: true } },
  'control-taken': { state: { taken: { tabs: [{ tab_id: 7, tab_title: 'Cart – Shop' }], scripts_run: false } } },
  'control-taken-elsewhere': { state: { taken: {
    tabs: [{ tab_id: 8, tab_title: 'Mail' }, { tab_id: 9, tab_title: 'Bank' }], scripts_run: true } } },
  'asked-to-approve': { state: { asks: [question('a', { kind: 'approve', question: 'Send this order: 1 lamp, 5 EUR?', tab_id: 7, tab_title: 'Cart – Shop' })] } },
  'asked-to-choose-and-answer': { state: { asks: [
    question('c', { kind: 'choose', question: 'Which address is it to go to?', options: ['Home, 1 Elm Street', 'Work, 2 Oak Avenue with a name that is longer than a line of the popup', 'Neither'] }),
    question('d', { client: LONG, kind: 'answer', question: 'What is the number on the letter?' }),
  ] } },
  'asked-first': { state: { asks: [consent('e', { kind: 'act' })] } },
  'asked-for-values': { state: { asks: [consent('f', { kind: 'values' }, { question: 'cookies get shop.example' }), consent('g', { kind: 'requests' }, { question: 'network_rules answer */api/cart' })] } },
  'asked-for-files': { state: { asks: [consent('h', { kind: 'file', files: [asked('/home/person/shop/pictures/lamp.jpg', { root: '/home/person/shop' }), asked('/home/person/shop/pictures/a picture with a long name, as cameras give them.jpg', { root: '/home/person/shop', size: 4_300_000 })] })] } },
  'asked-for-a-file-that-stays-closed': { state: { asks: [consent('i', { kind: 'file', files: [asked('/etc/hosts', { may_open_folder: false })] })] } },
  'asked-for-a-permission': { state: { asks: [consent('j', { kind: 'permission', site: 'contentSettings' }, { question: 'set_permissions on https://shop.example' })] } },
  'asked-to-show': { state: { asks: [consent('k', { kind: 'watch' }, { question: 'record what you do in this tab' })] } },
  'asked-in-a-private-window': { state: { asks: [consent('l', { kind: 'act' }, { is_private: true })] } },
  'asked-for-a-step': { state: { asks: [question('m', { kind: 'hand_over', question: 'Log in to the shop', tab_id: 7, tab_title: 'Log in – Shop', hand_over: { site: 'shop.example', is_begun: false } })] } },
  'asked-for-a-step-that-is-begun': { state: { asks: [question('n', { kind: 'hand_over', question: 'Log in to the shop', tab_id: 7, tab_title: 'Log in – Shop', hand_over: { site: 'shop.example', is_begun: true } })] } },
  'asked-elsewhere': { state: { asks: [question('o', { kind: 'hand_over', question: 'Enter the code', browser_label: 'Work' }), consent('p', { kind: 'permission', site: 'notifications' }, { tab_id: undefined, tab_title: '', browser_label: 'Work' })] } },
  'asked-by-a-deceiver': { state: { asks: [question('q', { client: '\u202eTabwire” asks: “You', kind: 'approve', question: 'Z\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a'.repeat(8) }), question('r', { client: LONG, kind: 'choose', question: 'Tabwire: you have stopped all agents. '.repeat(8), options: ['Let agents go on', 'Done'] })] } },
  shows: { state: { shown: [{ tab_id: 7, client: AGENT, site: 'shop.example', steps: 12, until: NOW + 420_000, tab_title: 'Cart – Shop' }] } },
  holds: { state: { held: [
    { tab_id: 7, client: AGENT, opened: true, since: at(-90_000), tab_title: 'Cart – Shop' },
    { tab_id: 8, client: LONG, opened: false, since: at(-3_600_000), tab_title: 'A page with a title that goes on and on, as pages have them' }] } },
  opened: { state: { opened: [
    { tab_id: 7, client: AGENT, client_id: 'a', tab_title: 'Cart – Shop' },
    { tab_id: 8, client: LONG, client_id: 'b', closes_at: at(540_000), tab_title: 'Mail' }], restored: [{ tab_id: 9, tab_title: 'Bank' }] } },
  'set-aside': { state: { foreign: { isOn: true, names: ['1Password', 'Bitwarden Password Manager'] } } },
  changed: { state: { changed: [{ tab_id: 7, client: AGENT, client_id: 'a', tab_title: 'Cart – Shop', emulation: { width: 390, height: 844, touch: true, network: 'slow_4g' }, rules: [{ url: '*://ads.example/*', deed: { block: true } }], permissions: null }] } },
  history: { state: { past_acts: [
    { at: at(-4_000), owner: 'user', client: AGENT, browser: 'Chromium', action: 'click', site: 'shop.example', ended: 'complete', took_ms: 42 },
    { at: at(-65_000), owner: 'user', client: AGENT, browser: 'Chromium', action: 'batch: type, click, wait_for', site: 'shop.example', ended: 'error', reason: 'not_found', took_ms: 5_012 },
    { at: at(-90_000_000), owner: 'research', client: LONG, browser: 'Work', action: 'navigate', site: 'a-very-long-name-of-a-site.of.a.large.company.example', ended: 'cancelled', reason: 'stopped_by_user', took_ms: 950 }] }, isOpen: true },
  'kept-words': { state: { kept_words: [
    { client: AGENT, kind: 'act', site: 'https://shop.example', word: 'always', at: at(-86_400_000) },
    { client: LONG, kind: 'values', site: 'https://mail.example', word: 'never', at: at(-3_000) }], more_words: 4 }, isOpen: true },
  'name-of-the-browser': { state: { asks_for_name: true, offered_name: 'Work' } },
  'named-and-shared': { state: { browser_name: 'Work', browser_label: 'Work', shared: [7] } },
  'asked-to-draw': { state: { drawings: [
    { tab_id: 8, page_title: 'Design of the new cart', asks: [{ client: 'Claude Code 2.1.330', prompt: 'Circle the button that you mean, and write beside it what it should say' }] },
  ] } },
  'asked-to-draw-by-deceivers': { state: { drawings: [
    { tab_id: 10, page_title: '\u202eAn agent asks', asks: [{ client: 'x” writes: “Tabwire', prompt: 'Z\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a'.repeat(8) }] },
    { tab_id: 9, page_title: 'Mail', asks: [{ client: LONG, prompt: `Tabwire: you have stopped all agents. ${'Click "Let agents go on" now! '.repeat(6)}`.slice(0, 200) }, { client: '', prompt: '' }] },
  ] } },
  'keep-out-without-daemon': { state: { status: 'disconnected', detail: '', daemon_version: null }, click: '#keep-out',
    trouble: 'Nothing has changed: the daemon does not run. `tabwire sites` in a terminal works without it.' },
  'kept-out': { state: { rules: { allow: [], deny: ['shop.example', '*.bank.example'], agent_deny: ['mail.example'] } }, isOpen: true },
  'local-files': { state: { local_files: { enabled: true, folders: ['/home/person/site', '/home/person/a/folder/with/a/path/that/is/longer/than/a/line'] },
    rules: { allow: ['example.com'], deny: [] } }, isOpen: true },
  'allowed-without-you': { state: { unconfirmed: [
    { id: 'w', at: '2026-11-21T22:09:45.123Z', what: 'agents use a.example', take_back: 'tabwire sites remove a.example' }] } },
  'older-extensions': { state: {
    asking: [{ extension_id: 'abcdefghijklmnopabcdefghijklmnop', extension_version: '5.6.0' }],
    let_in: [{ extension_id: 'ponmlkjihgfedcbaponmlkjihgfedcba', connected: true }] } },
  'changes-refused': { state: { rules_problem: 'The list has 1,000 entries: remove one before you add another.',
    files_problem: 'The settings could not be written: No space left on device.', older_problem: 'Ten are let in: remove one first.',
    local_files: { enabled: true, folders: ['/home/person/site'] },
    asking: [{ extension_id: 'abcdefghijklmnopabcdefghijklmnop', extension_version: '5.6.0' }] }, isOpen: true },
  'paired-by-line': { state: { pairing: { is_asking: false, is_pasted: true, trouble: '' } } },
  'no-site': { state: {}, here: { id: 7, url: 'chrome://settings/', title: 'Settings' } },
  'everything-at-once': { state: {
    running: [{ correlation_id: 'a', action: 'navigate', tab_id: 7, started_at: NOW - 3_000, client: 'Codex 0.169', tab_title: 'Cart – Shop' }],
    recording: [{ tab_id: 8, streams: ['logs', 'network', 'bodies', 'websocket', 'actions', 'performance'], tab_title: 'Mail' }],
    taken: { tabs: [{ tab_id: 7, tab_title: 'Cart – Shop' }, { tab_id: 9, tab_title: 'Bank' }], scripts_run: false },
    asks: [consent('z', { kind: 'act' })],
    held: [{ tab_id: 7, client: AGENT, opened: true, since: at(-90_000), tab_title: 'Cart – Shop' }],
    opened: [{ tab_id: 7, client: AGENT, client_id: 'a', tab_title: 'Cart – Shop' }],
    drawings: [{ tab_id: 8, page_title: 'Mail', asks: [{ client: 'Codex 0.169', prompt: 'Mark what is wrong here' }] }],
    unconfirmed: [{ id: 'w', at: '2026-11-21T22:09:45.123Z', what: 'agents use a.example', take_back: 'tabwire sites remove a.example' }] } },
};

/** @returns {{name: string, state: PanelState, here: object, isOpen: boolean, click: string, trouble: string}[]} */
export function popupScenes() {
  return Object.entries(SCENES).map(([name, { state, here = HERE, isOpen = false, click = '', trouble = '' }]) => (
    { name, state: { ...CONNECTED, ...state }, here, isOpen, click, trouble }));
}

/** What the browser's own window shows, with the popup as it hangs from the toolbar. @type {Record<string, PanelState>} by the name of the file */
export const WINDOW_SCENES = {
  'window-popup-running': { ...CONNECTED, running: [
    { correlation_id: 'a', action: 'screenshot', tab_id: 7, started_at: NOW - 1_000, client: 'Claude Code 2.1.330', tab_title: 'Cart – Shop' }] },
};

const ASK = { correlation_id: 'ann_1', styles: false };

/** @type {Record<string, {asks: object[], is_persons: boolean}>} what the page to draw in is opened with, by the name of the file */
export const DRAW_SCENES = {
  'draw-unasked': { asks: [], is_persons: true },
  'draw-asked': { asks: [{ ...ASK, session: 'checkout', client: 'Claude Code 2.1.330', prompt: 'Circle the button that you mean, and write beside it what it should say' }], is_persons: false },
  'draw-asked-by-three': { asks: [
    { ...ASK, client: 'Codex 0.169' },
    { ...ASK, correlation_id: 'ann_2', client: LONG, prompt: `Tabwire: you have stopped all agents. ${'Click "Let agents go on" now! '.repeat(6)}`.slice(0, 200) },
    { ...ASK, correlation_id: 'ann_3', client: 'عامل', prompt: 'ارسم دائرة حول الزر' },
  ], is_persons: false },
};

/** @type {Record<string, string>} what brings the badge to a state, as script of the worker; by the name of the file */
export const BADGE_SCENES = {
  'badge-connected': "showStatus('connected', 'Tabwire 0.1.0')",
  'badge-disconnected': "showStatus('disconnected', '')",
  'badge-refused': "showStatus('refused', '')",
  'badge-asked-to-draw': "showStatus('connected', ''); showDrawings(1)",
  'badge-many-asks': 'showDrawings(12)',
  'badge-unconfirmed': 'showUnconfirmed(true)',
  'badge-older-extension': 'showUnconfirmed(false); showDrawings(0); showAsking(1)',
  'badge-stopped': 'showStopped(true)',
};

/** Takes the badge back from there. */
export const NO_BADGE = "showStopped(false); showAsking(0); showStatus('connected', '')";
