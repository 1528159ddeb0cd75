// @ts-check
// The popup: asks the worker twice a second, shows its state, and passes on clicks. Text from
// pages and agents is set as text, never as HTML.

/** @import {AskRow, ChangedRow, ShownRow, HeldRow, OpenedRow, PanelAnswer, PanelRequest, PanelState, RecordingRow, RunningRow, TakenControl} from '../src/worker/panel.js' */
/** @import {DrawingRequest} from '../src/draw/open_drawings.js' */
/** @import {FarOwner, HistoryWish, KeptWord, LocalFileChange, OlderExtensionChange, SiteChange, SiteList, UnconfirmedWidening} from '../types/protocol.js' */
/** @import {OpenFolders} from '../src/policy/local_files.js' */
/** @import {SiteRules} from '../src/policy/sites.js' */

import { GROUPS_PERMISSION } from '../src/browser/agent_groups.js';
import { AsksList } from './asks_list.js';
import { agentWords } from '../src/lib/agent_words.js';
import {
  farLine,
  ASKS_ELSEWHERE, askingLine, asksText, changedLine, detail, drawingsText, filesSummary, headline, heldLine, keptWordLine, letInLine, moreWords, needsKey, openedLine, pairingNote, pastActLine, recorded, recordingText, sharing, shownSoFar, since, siteChange, siteHere, siteHereText,
  siteRule, sitesSummary, takenText, troubleLine, versions, widened, widenedHow, wordsSummary,
} from './popup_view.js';

const REFRESH_MS = 500;

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const line = /** @type {HTMLInputElement} */ (element('line'));
const foreignOn = /** @type {HTMLInputElement} */ (element('foreign-on'));
const keepTabs = /** @type {HTMLInputElement} */ (element('keep-tabs'));
const groupTabs = /** @type {HTMLInputElement} */ (element('group-tabs'));
const nameField = /** @type {HTMLInputElement} */ (element('name'));
const historyOn = /** @type {HTMLInputElement} */ (element('history-on'));
const filesOn = /** @type {HTMLInputElement} */ (element('files-on'));

/** @param {PanelRequest} ask */
async function tell(ask) {
  /** @type {PanelAnswer} */
  const answer = await chrome.runtime.sendMessage(ask);
  if ('trouble' in answer) return answer.trouble;
  // Asked each time: the tab may have gone to another page.
  [here] = await chrome.tabs.query({ active: true, currentWindow: true });
  show(answer);
  return '';
}

/** The tab that the person sees. @type {chrome.tabs.Tab | undefined} */
let here;

/** @param {PanelState} state */
function show(state) {
  element('light').dataset.status = state.status;
  setText('headline', headline(state));
  setText('detail', detail(state));
  setText('pairing-note', pairingNote(state));
  // It does not go away under the hands of somebody who types.
  element('by-hand').hidden = !needsKey(state) && line.value === '' && document.activeElement !== line;
  element('pasted').hidden = !state.pairing.is_pasted;
  element('versions').textContent = versions(state);
  element('reconnect').hidden = state.status === 'connected';
  const list = element('running');
  for (const row of [...list.children]) {
    if (!state.running.some((one) => one.correlation_id === row.id)) row.remove();
  }
  for (const one of state.running) {
    const row = document.getElementById(one.correlation_id) ?? list.appendChild(newRow(one));
    const length = /** @type {HTMLElement} */ (row.querySelector('time'));
    length.textContent = ` for ${since(one.started_at, state.now)}`;
  }
  element('stopped').hidden = !state.stopped;
  element('stop-all').hidden = state.stopped;
  element('working').hidden = state.stopped && state.running.length === 0;
  showAsks(state.asks);
  showWidenings(state.unconfirmed);
  showSites(state.rules);
  showProblem(state.rules_problem);
  showFiles(state.local_files);
  if (state.files_problem) setText('files-trouble', state.files_problem);
  showOlder(state);
  showTaken(state.taken);
  showSiteHere(state.rules);
  showShared(state);
  showDrawings(state.drawings);
  showShown(state);
  showHeld(state.held);
  showForeign(state);
  showOpened(state);
  showChanged(state.changed);
  showRecording(state);
  showHistory(state);
  showFar(state);
  showWords(state);
  showName(state);
}

/** @param {TakenControl | null} taken */
function showTaken(taken) {
  element('taken').hidden = taken === null;
  if (!taken) return;
  const text = takenText(taken, here?.id);
  setText('taken-text', text.headline);
  setText('taken-detail', text.detail);
  element('taken-list').replaceChildren(...text.others.map((title) => listed(nameLine(title))));
}

/** @param {SiteRules | null} rules */
function showSiteHere(rules) {
  const site = siteHere(rules, here?.url ?? '');
  element('keep-out').hidden = site === null || site.isKeptOut;
  element('keep-out-text').dataset.kept = String(site?.isKeptOut ?? false);
  setText('keep-out-text', site ? siteHereText(site) : '');
}

/** @param {PanelState} state */
function showShared(state) {
  const { isOffered, isShared, button, text } = sharing(state, here);
  const share = /** @type {HTMLButtonElement} */ (element('share'));
  share.hidden = !isOffered;
  share.textContent = button;
  share.dataset.shared = String(isShared);
  setText('share-text', text);
}

/** Shares the tab that the person sees with agents, or takes it back. */
async function shareHere() {
  if (here?.id === undefined) return;
  setText('share-trouble', await tell({ ask: 'share_tab', tab_id: here.id, on: element('share').dataset.shared !== 'true' }));
}

/** @param {PanelState} state */
function showRecording(state) {
  element('recorded').hidden = recordingText(state) === '';
  setText('recorded-text', recordingText(state));
  element('recording').replaceChildren(...state.recording.map(recordingRow));
  element('record').textContent = state.recording_ended ? 'Let agents record again' : 'Stop recording';
  element('record').dataset.on = String(state.recording_ended);
}

const asksList = new AsksList(
  element('ask-list'), (correlation_id, answer) => tell({ ask: 'answer_ask', correlation_id, answer }), (correlation_id) => tell({ ask: 'hand_over', correlation_id }), (trouble) => setText('ask-trouble', trouble),
);
/** What the browser asks the person for when they want notifications. @type {chrome.permissions.Permissions} */
const NOTIFICATIONS = { permissions: ['notifications'] };
let canOfferNotifications = false;

/** @param {AskRow[]} asks */
function showAsks(asks) {
  element('asks').hidden = asks.length === 0;
  setText('asks-text', asksText(asks.length));
  asksList.show(asks);
  element('notify').hidden = !canOfferNotifications;
  element('notify-text').hidden = !canOfferNotifications;
}

async function lookForNotifications() {
  canOfferNotifications = !await chrome.permissions.contains(NOTIFICATIONS);
}

async function allowNotifications() {
  await chrome.permissions.request(NOTIFICATIONS);
  await lookForNotifications();
}

let shownDrawings = '';

/** Anew only if it differs: a button is not to go away under the pointer. @param {DrawingRequest[]} drawings */
function showDrawings(drawings) {
  const text = JSON.stringify(drawings);
  if (text === shownDrawings) return;
  shownDrawings = text;
  element('drawings').hidden = drawings.length === 0;
  setText('drawings-text', drawingsText(drawings));
  element('drawing-list').replaceChildren(...drawings.map(drawingRow));
}

let isRenaming = false;
let shownNameProblem = '';
let wasNameOffered = false;

/** @param {PanelState} state */
function showName(state) {
  const isThere = state.status === 'connected' && state.browser_label !== '';
  // It does not go away under the hands of somebody who types.
  element('naming').hidden = !isThere || !(state.asks_for_name || isRenaming);
  element('rename').hidden = !isThere || !element('naming').hidden;
  setText('rename', state.browser_name === null ? 'Name this browser' : `Browser: ${state.browser_name}`);
  setText('name-text', state.asks_for_name ? 'Several browsers are connected. What do you call this one?' : '');
  nameField.placeholder = state.browser_label;
  // Once: what the person has taken away does not come back.
  if (state.offered_name && !wasNameOffered && nameField.value === '') nameField.value = state.offered_name;
  wasNameOffered ||= state.offered_name !== '';
  if (state.name_problem === shownNameProblem) return;
  shownNameProblem = state.name_problem;
  setText('name-trouble', state.name_problem);
  if (state.name_problem) isRenaming = true;
}

/** @param {SubmitEvent} event */
async function giveName(event) {
  event.preventDefault();
  shownNameProblem = '';
  isRenaming = false;
  await tellOfName({ ask: 'name_browser', name: nameField.value });
}

async function noName() {
  isRenaming = false;
  await tellOfName({ ask: 'no_name' });
}

/** @param {Parameters<typeof tell>[0]} ask */
async function tellOfName(ask) {
  setText('name-trouble', '');
  const trouble = await tell(ask);
  // Meanwhile the daemon may have said why it does not take the name.
  if (trouble) setText('name-trouble', trouble);
}

let shownActs = '';

/** @param {PanelState} state */
function showHistory({ history_on, past_acts, history_problem, browser_label, now }) {
  element('history').hidden = history_on === null && history_problem === '';
  if (history_problem) setText('history-trouble', history_problem);
  historyOn.checked = history_on === true;
  const lines = past_acts.map((act) => pastActLine(act, now, browser_label));
  const text = JSON.stringify(lines);
  if (text === shownActs) return;
  shownActs = text;
  element('past-acts').replaceChildren(...lines.map(({ did, where }) => listed(did, nameLine(where))));
}

let shownFar = '';

/** Anew only if they differ: a button is not to go away under the hands. @param {PanelState} state */
function showFar({ far_owners, tenant_troubles, far_problem }) {
  element('far').hidden = far_owners.length === 0 && tenant_troubles.length === 0 && far_problem === '';
  if (far_problem) setText('far-trouble', far_problem);
  const text = JSON.stringify([far_owners, tenant_troubles]);
  if (text === shownFar) return;
  shownFar = text;
  element('far-text').hidden = far_owners.length === 0;
  element('tenant-troubles').replaceChildren(...tenant_troubles.map((trouble) => {
    const { says, next } = troubleLine(trouble);
    const step = document.createElement('div');
    step.append(...withCode(next));
    return listed(says, step);
  }));
  element('far-list').replaceChildren(...far_owners.map(farRow));
}

/** @param {FarOwner} far */
function farRow(far) {
  const { says, note, button: label } = farLine(far);
  const row = document.createElement('li');
  const text = document.createElement('div');
  const button = document.createElement('button');
  text.append(says, nameLine(note));
  Object.assign(button, { textContent: label, type: 'button', ariaLabel: `${label}: ${says}` });
  button.addEventListener('click', () => {
    button.disabled = true;
    tell({ ask: 'far_owner', owner: far.owner, allowed: far.suspended }).then((trouble) => {
      setText('far-trouble', trouble);
      button.disabled = trouble === '';
    }, console.debug);
  });
  row.append(text, button);
  return row;
}

let shownWords = '';

/** Anew only if they differ: a button is not to go away under the hands. @param {PanelState} state */
function showWords({ kept_words, more_words, now }) {
  element('words').hidden = kept_words.length === 0;
  const lines = kept_words.map((word) => keptWordLine(word, now));
  const text = JSON.stringify([kept_words, more_words]);
  if (text === shownWords) {
    // The age alone is another one.
    [...element('word-list').querySelectorAll('.tab')].forEach((place, index) => { place.textContent = lines[index]?.whose ?? ''; });
    return;
  }
  shownWords = text;
  setText('words-text', wordsSummary(kept_words.length + more_words));
  setText('words-more', moreWords(more_words));
  element('word-list').replaceChildren(...kept_words.map((word, index) => wordRow(word, lines[index])));
}

/** @param {KeptWord} word @param {{says: string, whose: string}} [line] */
function wordRow(word, { says, whose } = { says: '', whose: '' }) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  const back = document.createElement('button');
  text.append(says, nameLine(whose));
  Object.assign(back, { textContent: 'Take back', type: 'button', ariaLabel: `Take back: ${says} (${whose})` });
  back.addEventListener('click', () => {
    back.disabled = true;
    tell({ ask: 'take_word_back', word }).then((trouble) => {
      setText('words-trouble', trouble);
      back.disabled = trouble === '';
    }, console.debug);
  });
  row.append(text, back);
  return row;
}

/** @param {HistoryWish} wish */
async function changeHistory(wish) {
  setText('history-trouble', await tell({ ask: 'history', wish }));
}

let shownHeld = '';

/** Anew only if they differ: a button is not to go away under the hands. @param {HeldRow[]} held */
function showHeld(held) {
  const text = JSON.stringify(held);
  if (text === shownHeld) return;
  shownHeld = text;
  element('held').hidden = held.length === 0;
  element('held-list').replaceChildren(...held.map(heldRow));
}

/** @param {HeldRow} held */
function heldRow(held) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  const take = document.createElement('button');
  text.append(heldLine(held), nameLine(held.tab_title));
  Object.assign(take, { textContent: 'Take back', type: 'button', ariaLabel: `Take back ${held.tab_title}` });
  take.addEventListener('click', () => {
    take.disabled = true;
    tell({ ask: 'take_tab', tab_id: held.tab_id }).then((trouble) => {
      setText('held-trouble', trouble);
      take.disabled = trouble === '';
    }, console.debug);
  });
  row.append(text, take);
  return row;
}

/** @param {PanelState} state */
function showForeign({ foreign: { isOn, names } }) {
  element('foreign').hidden = isOn && names.length === 0;
  foreignOn.checked = isOn;
  setText('foreign-line', names.length > 0 ? `Set aside in agents' tabs: ${names.join(', ')}` : '');
}

let shownOpened = '';

/** @param {PanelState} state */
function showOpened(state) {
  // The switch can be taken back where there is no tab.
  element('opened').hidden = state.opened.length === 0 && state.restored.length === 0 && !state.keeps_tabs && !state.groups_tabs;
  keepTabs.checked = state.keeps_tabs;
  groupTabs.checked = state.groups_tabs;
  element('restored').hidden = state.restored.length === 0;
  const lines = state.opened.map((one) => openedLine(one, state));
  const text = JSON.stringify([state.opened, state.restored, lines]);
  if (text === shownOpened) return;
  shownOpened = text;
  element('restored-list').replaceChildren(...state.restored.map(({ tab_title }) => listed(nameLine(tab_title))));
  element('opened-list').replaceChildren(...state.opened.map((one, index) => openedRow(one, lines[index] ?? '')));
}

/** @param {OpenedRow} opened @param {string} words */
function openedRow({ tab_id, tab_title }, words) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  const keep = document.createElement('button');
  text.append(words, nameLine(tab_title));
  Object.assign(keep, { textContent: 'Keep', type: 'button', ariaLabel: `Keep ${tab_title}` });
  keep.addEventListener('click', () => {
    keep.disabled = true;
    tell({ ask: 'keep_tab', tab_id }).then((trouble) => setText('opened-trouble', trouble), console.debug);
  });
  row.append(text, keep);
  return row;
}

let shownShown = '';

/** Rows anew only if others come or go: a button is not to go away under the hands. @param {PanelState} state */
function showShown({ shown, now }) {
  const text = JSON.stringify(shown.map(({ tab_id, client, site, tab_title }) => [tab_id, client, site, tab_title]));
  const list = element('shown-list');
  if (text !== shownShown) {
    shownShown = text;
    element('shown').hidden = shown.length === 0;
    list.replaceChildren(...shown.map(shownRow));
  }
  for (const [at, one] of shown.entries()) list.children[at].querySelector('.so-far')?.replaceChildren(shownSoFar(one, now));
}

/** @param {ShownRow} shown */
function shownRow({ tab_id, client, site, tab_title }) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  const soFar = Object.assign(document.createElement('div'), { className: 'so-far' });
  text.append(`${client || 'An agent'} records what you do on ${site}`, nameLine(tab_title), soFar);
  const ends = [['Stop', true, 'The agent gets what you did until now'], ['Discard', false, 'The agent gets nothing']].map(([label, keeps, title]) => {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: label, title, ariaLabel: `${label}: ${tab_title}` });
    button.addEventListener('click', () => {
      button.disabled = true;
      tell({ ask: 'end_person_recording', tab_id, keeps: keeps === true }).then((trouble) => setText('shown-trouble', trouble), console.debug);
    });
    return button;
  });
  const buttons = Object.assign(document.createElement('div'), { className: 'buttons' });
  buttons.append(...ends);
  row.append(text, buttons);
  return row;
}

let shownChanged = '';

/** Anew only if they differ: a button is not to go away under the hands. @param {ChangedRow[]} changed */
function showChanged(changed) {
  const text = JSON.stringify(changed);
  if (text === shownChanged) return;
  shownChanged = text;
  element('changed').hidden = changed.length === 0;
  element('changed-list').replaceChildren(...changed.map(changedRow));
}

/** @param {ChangedRow} changed */
function changedRow(changed) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  const back = document.createElement('button');
  text.append(changedLine(changed), nameLine(changed.tab_title));
  Object.assign(back, { textContent: 'Put back', type: 'button', ariaLabel: `Put back ${changed.tab_title}` });
  back.addEventListener('click', () => {
    back.disabled = true;
    tell({ ask: 'put_back', tab_id: changed.tab_id }).catch(console.debug);
  });
  row.append(text, back);
  return row;
}

/** @param {DrawingRequest} request */
function drawingRow({ tab_id, page_title, asks }) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  const button = document.createElement('button');
  Object.assign(button, { textContent: 'Go there', type: 'button', ariaLabel: `Go to the drawing of ${page_title}` });
  button.addEventListener('click', () => {
    tell({ ask: 'show_drawing', tab_id }).then((trouble) => {
      setText('drawing-trouble', trouble);
      if (!trouble) window.close();
    }, console.debug);
  });
  text.append(...asks.flatMap(agentWords), nameLine(page_title));
  row.append(text, button);
  return row;
}

/** The name of a page or an agent, in one line. @param {string} name */
function nameLine(name) {
  return Object.assign(document.createElement('div'), { className: 'tab', textContent: name, title: name });
}

/** @param {(string | HTMLElement)[]} parts @returns {HTMLElement} an entry of a list without a button */
function listed(...parts) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  text.append(...parts);
  row.append(text);
  return row;
}

/** Anew only if it differs: each change is read out. @param {string} id @param {string} text with `code` */
function setText(id, text) {
  const place = element(id);
  if (place.dataset.text === text) return;
  place.dataset.text = text;
  place.replaceChildren(...withCode(text));
}

let shownProblem = '';

/** Once, so that a later message stays. @param {string} problem of the last change */
function showProblem(problem) {
  if (problem === shownProblem) return;
  shownProblem = problem;
  showSiteTrouble(problem);
}

/** Where a long list has pushed it out of sight, too. @param {string} text */
function showSiteTrouble(text) {
  setText('site-trouble', text);
  if (text) element('site-trouble').scrollIntoView({ block: 'nearest' });
}

let shownOlder = '';

/** Anew only if it differs: a button must not go away under the pointer. @param {PanelState} state */
function showOlder({ asking, let_in, older_problem }) {
  const text = JSON.stringify([asking, let_in, older_problem]);
  if (text === shownOlder) return;
  shownOlder = text;
  element('older').hidden = asking.length === 0 && let_in.length === 0;
  element('older-list').replaceChildren(
    ...asking.map((one) => olderRow(one.extension_id, askingLine(one), 'Let in', 'allow')),
    ...let_in.map((one) => olderRow(one.extension_id, letInLine(one), 'Remove', 'remove')),
  );
  setText('older-trouble', older_problem);
}

/** @param {string} id @param {string} words @param {string} label @param {OlderExtensionChange['change']} change */
function olderRow(id, words, label, change) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  const name = document.createElement('code');
  const detail = document.createElement('div');
  const button = document.createElement('button');
  name.textContent = id;
  detail.textContent = words;
  Object.assign(button, { textContent: label, type: 'button', ariaLabel: `${label} ${id}` });
  button.addEventListener('click', () => {
    button.disabled = true;
    tell({ ask: 'older_extension', change, extension_id: id }).then((trouble) => {
      if (trouble) setText('older-trouble', trouble);
      button.disabled = trouble === '';
    }, console.debug);
  });
  text.append(name, detail);
  row.append(text, button);
  return row;
}

let shownWidenings = '';

/** Anew only if they differ: a button is not to go away under the hands. @param {UnconfirmedWidening[]} widenings */
function showWidenings(widenings) {
  const text = JSON.stringify(widenings);
  if (text === shownWidenings) return;
  shownWidenings = text;
  element('unconfirmed').hidden = widenings.length === 0;
  element('widenings').replaceChildren(...widenings.map(wideningRow));
}

/** @param {UnconfirmedWidening} widening */
function wideningRow(widening) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  const how = document.createElement('p');
  const keep = document.createElement('button');
  how.append(...withCode(widenedHow(widening)));
  text.append(widened(widening), how);
  Object.assign(keep, { textContent: 'Keep', type: 'button', ariaLabel: `Keep: ${widened(widening)}` });
  keep.addEventListener('click', () => {
    keep.disabled = true;
    tell({ ask: 'keep', id: widening.id }).then((trouble) => {
      setText('keep-trouble', trouble);
      keep.disabled = trouble === '';
    }, console.debug);
  });
  row.append(text, keep);
  return row;
}

let shownSites = '';

/** @param {SiteRules | null} rules */
function showSites(rules) {
  const text = JSON.stringify(rules);
  if (text === shownSites) return;
  shownSites = text;
  element('sites-text').textContent = sitesSummary(rules);
  const rows = (/** @type {SiteList} */ list) => (rules?.[list] ?? []).map((pattern) => siteRow(list, pattern));
  const acts = (rules?.deny_actions ?? []).map((denial) => ruleRow(`deny ${denial.action} on ${denial.pattern}`, { change: 'allow_action', ...denial }));
  /** @type {SiteChange} */
  const open = { change: 'default', default: 'allow' };
  const others = rules?.default === 'ask' ? [ruleRow(ASKS_ELSEWHERE, open)] : [];
  element('sites').replaceChildren(...rows('deny'), ...rows('agent_deny'), ...rows('read'), ...rows('ask'), ...acts, ...others, ...rows('allow'));
}

/** @param {SiteList} list @param {string} pattern */
function siteRow(list, pattern) {
  return ruleRow(siteRule(list, pattern), { change: 'remove', list, pattern });
}

/** @param {string} rule in words @param {SiteChange} removal takes it back */
function ruleRow(rule, removal) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  const remove = document.createElement('button');
  text.textContent = rule;
  Object.assign(remove, { textContent: 'Remove', type: 'button', ariaLabel: `Remove ${rule}` });
  remove.addEventListener('click', () => {
    remove.disabled = true;
    changeSite(removal).then((isDone) => { remove.disabled = isDone; }, console.debug);
  });
  row.append(text, remove);
  return row;
}

let shownFiles = '';

/** @param {OpenFolders | null} files */
function showFiles(files) {
  const text = JSON.stringify(files);
  if (text === shownFiles) return;
  shownFiles = text;
  element('files').hidden = !files || files.folders.length === 0;
  setText('files-text', filesSummary(files));
  filesOn.checked = files?.enabled ?? false;
  element('folders').replaceChildren(...(files?.folders ?? []).map(folderRow));
}

/** @param {string} folder */
function folderRow(folder) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  const remove = document.createElement('button');
  text.textContent = folder;
  Object.assign(remove, { textContent: 'Remove', type: 'button', ariaLabel: `Close ${folder} for agents` });
  remove.addEventListener('click', () => { changeFiles({ change: 'remove', folder }).catch(console.debug); });
  row.append(text, remove);
  return row;
}

/** @param {LocalFileChange} change */
async function changeFiles(change) {
  const trouble = await tell({ ask: 'local_file_rule', ...change });
  setText('files-trouble', trouble);
  // The switch follows the daemon's state, not the click.
  shownFiles = '';
}

/** @param {SubmitEvent} event */
function addSite(event) {
  event.preventDefault();
  const site = /** @type {HTMLInputElement} */ (element('site'));
  const { change, wrong } = siteChange(/** @type {HTMLSelectElement} */ (element('site-list')).value, site.value);
  showSiteTrouble(wrong);
  if (change) changeSite(change).then((isDone) => { if (isDone) site.value = ''; }, console.debug);
}

/** Keeps agents out of the site of the tab that the person sees. */
async function keepOut() {
  const site = siteHere(null, here?.url ?? '')?.site;
  if (site === undefined) return;
  setText('keep-out-trouble', await tell({ ask: 'site_rule', change: 'add', list: 'deny', pattern: site }));
}

/** @param {SiteChange} change @returns {Promise<boolean>} whether it was asked for */
async function changeSite(change) {
  shownProblem = '';
  const trouble = await tell({ ask: 'site_rule', ...change });
  if (trouble) showSiteTrouble(trouble);
  return trouble === '';
}

/** @param {RecordingRow} one */
function recordingRow(one) {
  return listed(recorded(one), nameLine(one.tab_title));
}

/** @param {RunningRow} one */
function newRow({ correlation_id, action, client, tab_title }) {
  const row = document.createElement('li');
  const text = document.createElement('div');
  const name = document.createElement('b');
  const stop = document.createElement('button');
  row.id = correlation_id;
  name.textContent = action;
  Object.assign(stop, { textContent: 'Stop', type: 'button', ariaLabel: `Stop ${action} in ${tab_title}` });
  stop.addEventListener('click', () => {
    stop.disabled = true;
    tell({ ask: 'stop', correlation_id }).catch(console.debug);
  });
  text.append(name, document.createElement('time'), nameLine(client), nameLine(tab_title));
  row.append(text, stop);
  return row;
}

/** @param {string} text with `code` @returns {(string | HTMLElement)[]} */
function withCode(text) {
  return text.split('`').map((part, index) => {
    if (index % 2 === 0) return part;
    const code = document.createElement('code');
    code.textContent = part;
    return code;
  });
}

/** The tab to draw in takes the place of the popup. */
async function draw() {
  const { error } = await chrome.runtime.sendMessage({ draw: 'open' });
  if (error) element('draw-trouble').textContent = error.message;
  else window.close();
}

async function pair() {
  const trouble = await tell({ ask: 'pair', line: line.value });
  setText('line-trouble', trouble);
  line.ariaInvalid = String(trouble !== '');
  if (trouble) return line.select();
  line.value = '';
  line.blur();
}

element('pair').addEventListener('submit', (event) => {
  event.preventDefault();
  pair().catch(console.debug);
});
element('forget').addEventListener('click', () => {
  tell({ ask: 'forget' }).then((trouble) => setText('forget-trouble', trouble), console.debug);
});
element('notify').addEventListener('click', () => { allowNotifications().catch(console.debug); });
element('draw').addEventListener('click', () => { draw().catch(console.debug); });
element('give-back').addEventListener('click', () => { tell({ ask: 'give_back' }).catch(console.debug); });
element('record').addEventListener('click', () => {
  tell({ ask: 'record', on: element('record').dataset.on === 'true' }).catch(console.debug);
});
element('keep-out').addEventListener('click', () => { keepOut().catch(console.debug); });
element('share').addEventListener('click', () => { shareHere().catch(console.debug); });
element('stop-all').addEventListener('click', () => { tell({ ask: 'stop_all' }).catch(console.debug); });
element('release').addEventListener('click', () => { tell({ ask: 'release' }).catch(console.debug); });
historyOn.addEventListener('change', () => { changeHistory(historyOn.checked ? 'on' : 'off').catch(console.debug); });
element('name-form').addEventListener('submit', (event) => { giveName(event).catch(console.debug); });
element('no-name').addEventListener('click', () => { noName().catch(console.debug); });
element('rename').addEventListener('click', () => {
  isRenaming = true;
  tell({ ask: 'state' }).then(() => nameField.select(), console.debug);
});
element('history-clear').addEventListener('click', () => { changeHistory('clear').catch(console.debug); });
element('site-form').addEventListener('submit', addSite);
foreignOn.addEventListener('change', () => {
  tell({ ask: 'foreign_frames', on: foreignOn.checked }).then((trouble) => setText('foreign-trouble', trouble), console.debug);
});
keepTabs.addEventListener('change', () => {
  tell({ ask: 'keep_tabs', on: keepTabs.checked }).then((trouble) => setText('opened-trouble', trouble), console.debug);
});
groupTabs.addEventListener('change', () => {
  const isOn = groupTabs.checked;
  // The browser asks only in answer to a click.
  const allowed = isOn ? chrome.permissions.request(GROUPS_PERMISSION) : Promise.resolve(true);
  allowed.then((isAllowed) => tell({ ask: 'group_tabs', on: isOn && isAllowed })).then((trouble) => setText('opened-trouble', trouble), console.debug);
});
filesOn.addEventListener('change', () => { changeFiles({ change: 'switch', enabled: filesOn.checked }).catch(console.debug); });
element('reconnect').addEventListener('click', () => { tell({ ask: 'reconnect' }).catch(console.debug); });
lookForNotifications().catch(console.debug);
tell({ ask: 'opened' }).catch(console.debug);
setInterval(() => { tell({ ask: 'state' }).catch(console.debug); }, REFRESH_MS);
