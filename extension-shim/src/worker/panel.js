// @ts-check
// The worker's side of the popup: its state, and its requests.

/** @import {AgentTab, AskAnswer, HeldTab, FarOwnerChange, HistoryWish, LocalFileChange, OlderExtensionChange, OlderExtensionsFrame, OpenAsk, RecordedTab, RunningCommand, SiteChange, UnconfirmedWidening, WordTakenBack} from '../../types/protocol.js' */
/** @import {AsideState} from '../browser/frames_aside.js' */
/** @import {StateRow} from '../browser/page_states.js' */
/** @import {PersonRecordingRow} from '../browser/person_recordings.js' */
/** @import {Config} from '../connection/config.js' */
/** @import {OpenFolders} from '../policy/local_files.js' */
/** @import {SiteRules} from '../policy/sites.js' */
/** @import {Status} from '../connection/link.js' */
/** @import {PairingState} from '../connection/pairing.js' */
/** @import {DrawingRequest} from '../draw/open_drawings.js' */
/** @import {NameState} from './browser_name.js' */
/** @import {FarOwnersState} from './far_owners.js' */
/** @import {KeptWordsState} from './kept_words.js' */
/** @import {HistoryState} from './past_acts.js' */

import { readPairingLine } from '../connection/pairing_line.js';
import { messageOf } from '../lib/errors.js';

/**
 * @typedef {{status: Status, detail: string, daemon_version: string | null, extension_newer: boolean}} ConnectionView `extension_newer`: than the
 *   daemon that was connected last, by its word
 * @typedef {RunningCommand & {tab_title: string}} RunningRow
 * @typedef {RecordedTab & {tab_title: string}} RecordingRow
 * @typedef {HeldTab & {tab_title: string}} HeldRow
 * @typedef {AgentTab & {tab_title: string}} OpenedRow
 * @typedef {StateRow & {tab_title: string}} ChangedRow
 * @typedef {PersonRecordingRow & {tab_title: string}} ShownRow
 * @typedef {OpenAsk & {tab_title: string, is_private?: true, hand_over?: {site: string, is_begun: boolean}}} AskRow `tab_title`: '' if it is about no tab; `is_private`: in a private window, for which no word is kept; `hand_over`: of a step that the person is to do
 * @typedef {{tab_id: number, tab_title: string}} NamedTab
 * @typedef {{tabs: NamedTab[], scripts_run: boolean}} TakenControl the tabs whose debugger bar the person closed, as far as they
 *   are open; scripts run there all the same if the person allows user scripts
 * @typedef {{stopped: boolean, rules: SiteRules | null, rules_problem: string,
 *   local_files: OpenFolders | null, files_problem: string}} PolicyState no rules, no local files: they are not known yet
 * @typedef {Pick<OlderExtensionsFrame, 'asking' | 'let_in'> & {older_problem: string}} OlderState
 * @typedef {ConnectionView & PolicyState & OlderState & HistoryState & KeptWordsState & FarOwnersState & NameState & {unconfirmed: UnconfirmedWidening[], extension_version: string, now: number, pairing: PairingState, running: RunningRow[], asks: AskRow[], held: HeldRow[], changed: ChangedRow[], shown: ShownRow[], opened: OpenedRow[], shared: number[], keeps_tabs: boolean, groups_tabs: boolean, foreign: AsideState, restored: NamedTab[],
 *   recording: RecordingRow[], recording_ended: boolean, taken: TakenControl | null, drawings: DrawingRequest[]}} PanelState
 * @typedef {{ask: 'state'} | {ask: 'opened'} | {ask: 'reconnect'} | {ask: 'stop', correlation_id: string}
 *   | {ask: 'stop_all'} | {ask: 'release'} | ({ask: 'site_rule'} & SiteChange) | ({ask: 'older_extension'} & OlderExtensionChange)
 *   | {ask: 'take_tab', tab_id: number} | {ask: 'put_back', tab_id: number} | {ask: 'end_person_recording', tab_id: number, keeps: boolean} | {ask: 'share_tab', tab_id: number, on: boolean} | {ask: 'keep_tab', tab_id: number} | {ask: 'keep_tabs', on: boolean} | {ask: 'group_tabs', on: boolean} | {ask: 'foreign_frames', on: boolean} | {ask: 'answer_ask', correlation_id: string, answer: AskAnswer} | {ask: 'hand_over', correlation_id: string} | {ask: 'history', wish: HistoryWish} | {ask: 'take_word_back', word: WordTakenBack} | {ask: 'far_owner', owner: string, allowed: boolean} | {ask: 'name_browser', name: string} | {ask: 'no_name'} | {ask: 'keep', id: string} | {ask: 'give_back'} | {ask: 'record', on: boolean} | {ask: 'show_drawing', tab_id: number}
 *   | ({ask: 'local_file_rule'} & LocalFileChange)
 *   | {ask: 'pair', line: string} | {ask: 'forget'}} PanelRequest
 * @typedef {{trouble: string} | PanelState} PanelAnswer a trouble, in a person's words: nothing was changed
 *
 * @typedef {object} PanelParts the parts that the panel shows and drives
 * @property {() => Promise<void>} restored resolves when the state of an earlier worker is read
 * @property {() => ConnectionView} connection
 * @property {() => PairingState} pairing
 * @property {() => RunningCommand[]} running
 * @property {() => RecordedTab[]} recording
 * @property {(tabId: number | undefined) => string} titleOf
 * @property {() => boolean} recordingEnded whether the person has ended it
 * @property {(on: boolean) => Promise<void>} record false: the person ends all recording
 * @property {() => {tab_ids: number[], scripts_run: boolean} | null} taken null: the person has taken no control
 * @property {() => Promise<void>} giveBack
 * @property {() => DrawingRequest[]} drawings that agents ask for in tabs that are not in front
 * @property {(tabId: number) => Promise<void>} showDrawing brings the tab to draw in to the front
 * @property {() => void} opened the person has opened the popup
 * @property {() => void} reconnect
 * @property {(correlationId: string) => void} stop
 * @property {(config: Config) => Promise<void>} pair
 * @property {() => Promise<void>} forget
 * @property {() => PolicyState} policy
 * @property {(stopped: boolean) => void} setStopped
 * @property {() => UnconfirmedWidening[]} unconfirmed
 * @property {(id: string) => boolean} keep the person confirms a widening; false: no daemon is connected
 * @property {() => OpenAsk[]} asks questions of agents, the oldest first
 * @property {(correlationId: string, answer: AskAnswer) => boolean} answerAsk false: no daemon is connected
 * @property {(correlationId: string) => {hand_over?: {site: string, is_begun: boolean}}} handOver the step that a question asks for, in this browser
 * @property {(correlationId: string) => Promise<void>} beginHandOver the person begins it, or goes back to its tab
 * @property {() => HeldTab[]} heldTabs
 * @property {() => {list: AgentTab[], keepsAll: boolean, isGrouped: boolean, doubtful: number[]}} openedTabs tabs that agents opened; whether the
 *   person keeps all of them, has them grouped; and tabs that may be agents' of the browser's former run
 * @property {() => number[]} sharedTabs
 * @property {(tabId: number) => Promise<boolean>} shareTab the person shares a tab; false: it shows no page of a site
 * @property {(tabId: number) => boolean} isPrivate whether an agent opened it in a private window
 * @property {(tabId: number) => Promise<void>} takeSharedBack
 * @property {(tabId: number) => boolean} keepTab the person keeps a tab that an agent opened; false: no daemon is connected
 * @property {() => AsideState} foreignFrames of other extensions that are set aside in agents' tabs
 * @property {(on: boolean) => Promise<void>} setForeignFrames whether they may be
 * @property {(on: boolean) => Promise<void>} keepTabs the person keeps all of them, or not
 * @property {(on: boolean) => Promise<void>} groupTabs the person has them grouped, or not
 * @property {() => StateRow[]} pageStates what agents have changed about tabs
 * @property {(tabId: number) => Promise<void>} putBack the person puts back what an agent has changed about a tab
 * @property {() => PersonRecordingRow[]} personRecordings tabs in which the person shows something to an agent
 * @property {(tabId: number, isKept: boolean) => Promise<void>} endPersonRecording the person ends one; `isKept`: the agent gets what they did until then
 * @property {(tabId: number) => boolean} takeTab the person takes a tab back from the agent that holds it; false: no daemon is connected
 * @property {() => NameState} name
 * @property {(name: string) => boolean} giveName the person names this browser; false: no daemon is connected
 * @property {() => Promise<void>} declineName the person does not want to name it
 * @property {() => HistoryState} history
 * @property {(wish: HistoryWish) => boolean} changeHistory false: no daemon is connected
 * @property {() => KeptWordsState} words the person's kept words on acts of agents
 * @property {(word: WordTakenBack) => boolean} takeWordBack false: no daemon is connected
 * @property {() => FarOwnersState} farOwners the owners on other machines
 * @property {(change: FarOwnerChange) => boolean} changeFarOwner the person disconnects one, or lets it in again; false: no daemon is connected
 * @property {(change: SiteChange) => boolean} changeSites false: no daemon is connected
 * @property {() => OlderState} older
 * @property {(change: OlderExtensionChange) => boolean} changeOlder false: no daemon is connected
 * @property {(change: LocalFileChange) => boolean} changeLocalFiles false: no daemon is connected
 */

/** @param {OpenAsk} ask @param {PanelParts} parts @returns {AskRow} */
function askRow(ask, parts) {
  const handOver = parts.handOver(ask.correlation_id);
  if (ask.tab_id === undefined) return { ...ask, ...handOver, tab_title: '' };
  return { ...ask, ...handOver, ...(parts.isPrivate(ask.tab_id) && { is_private: true }), tab_title: parts.titleOf(ask.tab_id) };
}

/** Rules are the same for all browsers: without the daemon they cannot change. */
const SITES_UNCHANGED = 'Nothing has changed: the daemon does not run. `tabwire sites` in a terminal works without it.';

/** The daemon decides which older extensions are let in. */
const OLDER_UNCHANGED = 'Nothing has changed: the daemon does not run. `tabwire legacy` in a terminal works without it.';

const NOT_CONFIRMED = 'Nothing was confirmed: the daemon does not run. `tabwire confirm` in a terminal works without it.';

const HISTORY_UNCHANGED = 'Nothing has changed: the daemon does not run. `tabwire history` in a terminal works without it.';

const WORD_KEPT = 'Nothing has changed: the daemon does not run. It keeps your words, and starts with the next call of an agent.';

const FAR_UNCHANGED = 'Nothing has changed: the daemon does not run, and without it no agent can use the browser. `tabwire owner suspend` in a terminal works without it.';

const NOT_NAMED = 'Nothing has changed: the daemon does not run. It keeps the names, and starts with the next call of an agent.';

const NOT_SHARED = 'Nothing is shared: the tab shows no page of a web site.';

const NOT_SHARED_OWN = 'Nothing is shared: an agent opened this tab. Keep it first, and share it then.';

const NOT_TAKEN = 'Nothing has changed: the daemon does not run. Without it no agent can use the tab.';

const NOT_ANSWERED = 'Your answer was not sent: the daemon does not run. The question is still open when it is back.';

/** @param {PanelParts} parts @returns {(ask: PanelRequest) => Promise<PanelAnswer> | undefined} undefined: not a question of the popup */
export function makePanel(parts) {
  const state = () => ({
    ...parts.connection(),
    ...parts.policy(),
    ...parts.older(),
    ...parts.history(),
    ...parts.words(),
    ...parts.farOwners(),
    ...parts.name(),
    unconfirmed: parts.unconfirmed(),
    extension_version: chrome.runtime.getManifest().version,
    now: Date.now(),
    pairing: parts.pairing(),
    running: parts.running().map((one) => ({ ...one, tab_title: parts.titleOf(one.tab_id) })),
    asks: parts.asks().map((one) => askRow(one, parts)),
    held: parts.heldTabs().map((one) => ({ ...one, tab_title: parts.titleOf(one.tab_id) })),
    shared: parts.sharedTabs(),
    foreign: parts.foreignFrames(),
    ...openedTabs(parts),
    shown: parts.personRecordings().map((one) => ({ ...one, tab_title: parts.titleOf(one.tab_id) })),
    changed: parts.pageStates().map((one) => ({ ...one, tab_title: parts.titleOf(one.tab_id) })),
    recording: parts.recording().map((one) => ({ ...one, tab_title: parts.titleOf(one.tab_id) })),
    recording_ended: parts.recordingEnded(),
    taken: takenControl(parts),
    drawings: parts.drawings(),
  });
  return (ask) => {
    switch (ask?.ask) {
      case 'state': break;
      case 'opened': parts.opened(); break;
      case 'reconnect': parts.reconnect(); break;
      case 'stop': parts.stop(ask.correlation_id); break;
      case 'stop_all': parts.setStopped(true); break;
      case 'release': parts.setStopped(false); break;
      case 'site_rule':
        if (!parts.changeSites(siteChange(ask))) return Promise.resolve({ trouble: SITES_UNCHANGED });
        break;
      case 'local_file_rule':
        if (!parts.changeLocalFiles(localFileChange(ask))) return Promise.resolve({ trouble: SITES_UNCHANGED });
        break;
      case 'older_extension':
        if (!parts.changeOlder({ change: ask.change, extension_id: ask.extension_id })) return Promise.resolve({ trouble: OLDER_UNCHANGED });
        break;
      case 'keep':
        if (!parts.keep(String(ask.id))) return Promise.resolve({ trouble: NOT_CONFIRMED });
        break;
      case 'history':
        if (!parts.changeHistory(historyWish(ask.wish))) return Promise.resolve({ trouble: HISTORY_UNCHANGED });
        break;
      case 'take_word_back':
        if (!parts.takeWordBack(ask.word)) return Promise.resolve({ trouble: WORD_KEPT });
        break;
      case 'far_owner':
        if (!parts.changeFarOwner({ owner: String(ask.owner), allowed: ask.allowed === true })) return Promise.resolve({ trouble: FAR_UNCHANGED });
        break;
      case 'name_browser':
        if (!parts.giveName(String(ask.name))) return Promise.resolve({ trouble: NOT_NAMED });
        break;
      case 'no_name': return parts.declineName().then(state, notStored);
      case 'take_tab':
        if (!parts.takeTab(Number(ask.tab_id))) return Promise.resolve({ trouble: NOT_TAKEN });
        break;
      case 'share_tab': return share(parts, ask).then((trouble) => trouble ?? state(), notDone);
      // Without a daemon nothing closes it, and the next one is told.
      case 'keep_tab': parts.keepTab(Number(ask.tab_id)); break;
      case 'group_tabs': return parts.groupTabs(ask.on === true).then(state, notStored);
      case 'foreign_frames': return parts.setForeignFrames(ask.on === true).then(state, notStored);
      case 'keep_tabs': return parts.keepTabs(ask.on === true).then(state, notStored);
      case 'answer_ask':
        if (!parts.answerAsk(String(ask.correlation_id), askAnswer(ask.answer))) return Promise.resolve({ trouble: NOT_ANSWERED });
        break;
      case 'hand_over': return parts.beginHandOver(String(ask.correlation_id)).then(state, notDone);
      case 'put_back': return parts.putBack(Number(ask.tab_id)).then(state, notDone);
      case 'end_person_recording': return parts.endPersonRecording(Number(ask.tab_id), ask.keeps === true).then(state, notDone);
      case 'give_back': return parts.giveBack().then(state, notDone);
      case 'record': return parts.record(ask.on === true).then(state, notDone);
      case 'show_drawing': return parts.showDrawing(Number(ask.tab_id)).then(state, notDone);
      case 'pair': return pair(parts, ask.line).then((trouble) => trouble ?? state());
      case 'forget': return parts.forget().then(state, notStored);
      default: return undefined;
    }
    return parts.restored().then(state, state);
  };
}

/** @param {PanelParts} parts @param {{tab_id: number, on: boolean}} ask @returns {Promise<{trouble: string} | undefined>} */
async function share({ openedTabs: all, shareTab, takeSharedBack }, { tab_id, on }) {
  const tabId = Number(tab_id);
  if (on !== true) return takeSharedBack(tabId).then(() => undefined);
  if (all().list.some((one) => one.tab_id === tabId)) return { trouble: NOT_SHARED_OWN };
  return (await shareTab(tabId)) ? undefined : { trouble: NOT_SHARED };
}

/** @param {PanelParts} parts @returns {TakenControl | null} */
function takenControl({ taken, titleOf }) {
  const now = taken();
  return now && { tabs: now.tab_ids.map((tab_id) => ({ tab_id, tab_title: titleOf(tab_id) })), scripts_run: now.scripts_run };
}

/** Those that are held stand in the list of held ones. @param {PanelParts} parts @returns {Pick<PanelState, 'opened' | 'keeps_tabs' | 'groups_tabs' | 'restored'>} */
function openedTabs({ openedTabs: all, heldTabs, titleOf }) {
  const held = new Set(heldTabs().map(({ tab_id }) => tab_id));
  const { list, keepsAll, isGrouped, doubtful } = all();
  const others = list.filter(({ tab_id, closes_at }) => closes_at !== undefined || !held.has(tab_id));
  return {
    opened: others.map((one) => ({ ...one, tab_title: titleOf(one.tab_id) })),
    keeps_tabs: keepsAll,
    groups_tabs: isGrouped,
    restored: doubtful.map((tab_id) => ({ tab_id, tab_title: titleOf(tab_id) })),
  };
}

/** @param {SiteChange} ask @returns {SiteChange} */
function siteChange(ask) {
  if (ask.change === 'clear_agents') return { change: ask.change };
  if (ask.change === 'deny_action' || ask.change === 'allow_action') return { change: ask.change, action: ask.action, pattern: ask.pattern };
  if (ask.change === 'default') return { change: ask.change, default: ask.default };
  return { change: ask.change, list: ask.list, pattern: ask.pattern };
}

/** @param {LocalFileChange} ask @returns {LocalFileChange} */
function localFileChange(ask) {
  return ask.change === 'switch' ? { change: ask.change, enabled: ask.enabled } : { change: ask.change, folder: ask.folder };
}

/** @param {HistoryWish} wish @returns {HistoryWish} */
function historyWish(wish) {
  return wish === 'on' || wish === 'off' || wish === 'clear' ? wish : 'look';
}

/** @param {AskAnswer} given @returns {AskAnswer} */
function askAnswer(given) {
  switch (given.kind) {
    case 'consent': return { kind: given.kind, consent: given.consent };
    case 'allow':
    case 'deny':
    case 'done':
    case 'cannot': return { kind: given.kind, ...(given.note ? { note: given.note } : {}) };
    case 'option': return { kind: given.kind, index: given.index };
    case 'text': return { kind: given.kind, text: given.text };
    default: return { kind: 'decline' };
  }
}

/** Nothing is stored before the whole line is known to be good. @param {PanelParts} parts @param {unknown} line */
async function pair(parts, line) {
  const { config, trouble } = readPairingLine(String(line));
  return config ? parts.pair(config).then(() => undefined, notStored) : { trouble };
}

/** @param {unknown} error */
function notDone(error) {
  return { trouble: `The browser did not do it: ${messageOf(error)}` };
}

/** @param {unknown} error */
function notStored(error) {
  return { trouble: `The browser could not store it: ${messageOf(error)}` };
}
