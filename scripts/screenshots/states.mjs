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
};

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
