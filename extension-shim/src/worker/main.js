// @ts-check
// Puts the parts together: the steps after a welcome, and the part for each type of frame.

/** @import {CommandBody, HeldTab, LocalFileChange, OlderExtensionChange, SiteChange, ToExtension, WelcomeFrame, UnconfirmedWidening} from '../../types/protocol.js' */
/** @import {ConnectionView} from './panel.js' */
/** @import {Config} from '../connection/config.js' */
/** @import {Status} from '../connection/link.js' */

import { actions } from '../actions/index.js';
import { assertOwn, recordAct } from '../actions/record.js';
import { checkedUse } from '../actions/storage.js';
import { receivingPage } from '../actions/upload_file.js';
import { wakePage } from '../actions/waking.js';
import { traces } from '../analysis/trace_recording.js';
import { askNotifications, askPictures, asks, handOvers } from '../asks/index.js';
import { actPicture } from '../browser/act_pictures.js';
import { debuggerNews, dismissedTabs, endBurstsBeside, giveBack, handlePerson, isAnyDismissed } from '../browser/debugger.js';
import { asideFrames } from '../browser/frames_aside.js';
import { checkedRules } from '../browser/network_rules.js';
import { personRecordings } from '../browser/person_recordings.js';
import { checkedPermissions } from '../browser/site_settings.js';
import { withOwner } from '../browser/site_guard.js';
import { highlights } from '../browser/highlights.js';
import { scriptedSites } from '../browser/scripted_sites.js';
import { agentGroups, agentTabs, elementRefs, pageStates, policy, privateTabs, replacedTabs, sharedTabs, siteSettings, snapshots, stepRecordings, tabDownloads, tabs, wakefulTabs } from '../browser/state.js';
import { recorder } from '../capture/index.js';
import { Dispatcher } from '../commands/dispatcher.js';
import { Outbox } from '../commands/outbox.js';
import { UploadRequests } from '../commands/upload_requests.js';
import { browserLabel, browserSession, Identity } from '../connection/identity.js';
import { Link } from '../connection/link.js';
import { Pairing } from '../connection/pairing.js';
import { Takeover } from '../connection/takeover.js';
import { drawMode } from '../draw/index.js';
import { countRequests } from '../draw/open_drawings.js';
import { pageMark } from '../lib/consent.js';
import { once } from '../lib/once.js';
import { recordsPerson, runsScript } from '../policy/acts.js';
import { askForPermission, isGranted } from '../policy/browser_permissions.js';
import { askBeforeClosing, closesItsTab } from '../policy/closing.js';
import { assertTold, hidesPage, tellsNoPage } from '../policy/far_commands.js';
import { askBeforeGiving, givesFiles } from '../policy/given_files.js';
import { OlderExtensions } from '../policy/older_extensions.js';
import { isBrowserPage } from '../policy/pages.js';
import { askForOwnWord, assertOwnWord, needsOwnWord } from '../policy/own_words.js';
import { userScriptsAllowed } from '../scripts/user_scripts.js';
import { showAsking, showAsks, showDrawings, showHandOvers, showNaming, showOpenedTabs, showRecorded, showStatus, showStopped, showUnconfirmed } from './badge.js';
import { ProfileName } from './browser_name.js';
import { FarOwners } from './far_owners.js';
import { KeptWords } from './kept_words.js';
import { OwnReload } from './own_reload.js';
import { makePanel } from './panel.js';
import { PastActs } from './past_acts.js';

const olderExtensions = new OlderExtensions();
const pastActs = new PastActs();
const keptWords = new KeptWords();
const farOwners = new FarOwners();
const profileName = new ProfileName();
const ownReload = new OwnReload();
const takeover = new Takeover();
const uploads = new UploadRequests();
const outbox = new Outbox((text) => link.sendText(text));
export const dispatcher = new Dispatcher(actions, outbox, (frame) => link.send(frame), {
  isOpen: (command) => privateTabs.isClosed && !recorder.isChanging && !closesPersonsTab(command) && !givesFiles(command) && !needsOwnWord(command) && policy.isOpenFor(command, tabs.known(command.tab_id)),
  async check(command, { isStep, look }) {
    // Before the rules, which may change while the recording begins.
    await recorder.applied();
    await privateTabs.assertMayUse(command, command.tab_id === undefined ? undefined : replacedTabs.now(command.tab_id));
    const tab = () => tabs.fresh(command.tab_id);
    const documentNow = async () => {
      const { id: tabId } = await tab();
      const frame = await chrome.webNavigation.getFrame({ tabId, frameId: 0 });
      return frame?.documentId && pageMark(frame.documentId, frame.url);
    };
    await policy.check(command, async () => withOwner(await tab()), { isStep, documentNow });
    // A step is asked about with its batch.
    if (!isStep && givesFiles(command)) {
      const given = await tab().catch(() => null);
      if (given) await askBeforeGiving(command, await receivingPage(command, given), { look, documentNow });
    }
    if (needsOwnWord(command)) {
      await personRecordings.restore();
      assertCanBeDone(command);
      const page = await tab().catch(() => null);
      if (page) {
        await askForOwnWord(command, page.url ?? '', { documentNow, isStep, isDenied: (act, url) => policy.denies(act, url) });
        await askForPermission(command, page.url ?? '');
      }
    }
    if (!closesPersonsTab(command)) return;
    // One that is not there fails by itself, with better words.
    const closed = await tab().catch(() => null);
    if (closed && !agentTabs.isAgents(closed.id)) askBeforeClosing(command, closed, await documentNow().catch(() => undefined), { isStep });
  },
  assertAct(command, url, so) {
    policy.assertAct(command, url, so);
    assertOwnWord(command, url, so);
    if (runsScript(command.type, command.params)) scriptedSites.note(url);
  },
  done: (command, outcome) => { if (command.type !== 'batch') recordAct(command, outcome); },
  hides: hidesPage,
  opened: (command, tabId) => policy.far.addTab(command, tabId),
  async landed(command, so) {
    if (!command.far || command.tab_id === undefined) return;
    // One that was closed shows nothing.
    const tab = await chrome.tabs.get(command.tab_id).then(withOwner).catch(() => null);
    if (!tab || tellsNoPage(command.type) || isBrowserPage(tab.url ?? '')) return;
    for (const url of [tab.url ?? '', tab.owner === undefined ? '' : tab.owner]) assertTold(command, url, so);
  },
  follow(command) {
    const unfollow = [policy.far.begin(command), followUse(command)];
    return () => { for (const end of unfollow) end(); };
  },
  idNow: (tabId) => replacedTabs.now(tabId),
  isPrivateFor: (command, tabId) => privateTabs.isFor(command, tabId),
  sharedAt: (tabId) => sharedTabs.sharedAt(tabId),
  confirms: (tabId, origin) => sharedTabs.confirm(tabId, origin),
  picture: actPicture,
  wake: wakePage,
}, uploads);
const pairing = new Pairing({ onNews: () => link.connectNow(), onMoved: () => link.send({ type: 'key_stored' }) });
export const link = new Link(new Identity(), takeover, {
  loadConfig: () => pairing.load(),
  onSetback: (config, why) => pairing.handleSetback(config, why),
  prepare, onWelcome, onFrame, onStatus,
});

/** @type {ConnectionView} */
let connection = { status: 'connecting', detail: '', daemon_version: null, extension_newer: false };

/** The widenings that no person has confirmed, as the daemon reports them. @type {UnconfirmedWidening[]} */
let unconfirmed = [];
/** The tabs that agents hold, as the daemon reports them. @type {HeldTab[]} */
let heldTabs = [];

export const panel = makePanel({
  restored: () => restored(),
  connection: () => connection,
  pairing: () => pairing.state(),
  running: () => dispatcher.running(),
  recording: () => recorder.recording(),
  recordingEnded: () => recorder.isEnded,
  record: (on) => recorder.setEnded(!on),
  taken() {
    if (!isAnyDismissed()) return null;
    return { tab_ids: dismissedTabs().filter((tabId) => tabs.known(tabId)), scripts_run: userScriptsAllowed() };
  },
  giveBack() {
    giveBack();
    return recorder.apply();
  },
  drawings: () => drawMode.requests,
  showDrawing: (tabId) => drawMode.show(tabId),
  titleOf: (tabId) => tabs.titleOf(tabId),
  isPrivate: (tabId) => privateTabs.isAgents(tabId),
  opened() {
    olderExtensions.look();
    tryNow().catch(console.warn);
  },
  reconnect: () => { tryNow().catch(console.warn); },
  async pair(config) {
    await pairing.paste(config);
    link.startOver();
  },
  async forget() {
    await pairing.forget();
    link.startOver();
  },
  stop(correlation_id) {
    // Who did it is known by the time that the report comes.
    link.send({ type: 'stop', correlation_id });
    dispatcher.stop(correlation_id);
  },
  policy: () => ({ stopped: policy.isStopped, rules: policy.rules, rules_problem: policy.problem, local_files: policy.files.open, files_problem: policy.files.problem }),
  setStopped(stopped) {
    policy.setStopped(stopped).catch(console.warn);
    link.send({ type: 'stopped', stopped });
    if (!stopped) return;
    dispatcher.stopAll();
    highlights.endAll();
  },
  unconfirmed: () => unconfirmed,
  heldTabs: () => heldTabs,
  openedTabs: () => ({ list: agentTabs.list, keepsAll: agentTabs.keepsAll, isGrouped: agentGroups.isOn, doubtful: agentGroups.doubtful }),
  sharedTabs: () => sharedTabs.list,
  shareTab: (tabId) => {
    // What it has shown until now stays hidden, the names of its elements too.
    snapshots.handleRemoved(tabId);
    return sharedTabs.share(tabId);
  },
  takeSharedBack: (tabId) => sharedTabs.takeBack(tabId),
  keepTab: (tabId) => agentTabs.keep(tabId),
  keepTabs: (on) => agentTabs.setKeepsAll(on),
  groupTabs: (on) => agentGroups.setOn(on),
  foreignFrames: () => asideFrames.state,
  setForeignFrames: (on) => asideFrames.setOn(on),
  name: () => profileName.view(),
  giveName: (name) => profileName.give(name),
  declineName: () => profileName.decline(),
  history: () => pastActs.view(),
  changeHistory: (wish) => pastActs.wish(wish),
  words: () => keptWords.view(),
  takeWordBack: (word) => keptWords.takeBack(word),
  farOwners: () => farOwners.view(),
  changeFarOwner: (change) => farOwners.change(change),
  pageStates: () => pageStates.rows(),
  putBack: (tabId) => pageStates.end(tabId),
  personRecordings: () => personRecordings.rows(),
  endPersonRecording: (tabId, isKept) => (isKept ? personRecordings.end(tabId, 'the user ended it') : personRecordings.discard(tabId)),
  asks: () => asks.open,
  answerAsk: (correlationId, answer) => handOvers.answered(correlationId, answer) && asks.answer(correlationId, answer),
  handOver: (correlationId) => handOvers.describe(correlationId),
  beginHandOver: (correlationId) => handOvers.begin(correlationId),
  takeTab: (tabId) => link.sendText(JSON.stringify({ type: 'take_tab', tab_id: tabId })),
  keep: (id) => link.sendText(JSON.stringify({ type: 'confirm_widening', id })),
  changeSites(/** @type {SiteChange} */ change) {
    return link.sendText(JSON.stringify({ type: 'site_rule', ...change }));
  },
  older: () => ({ asking: olderExtensions.asking, let_in: olderExtensions.letIn, older_problem: olderExtensions.problem }),
  changeOlder(/** @type {OlderExtensionChange} */ change) {
    return link.sendText(JSON.stringify({ type: 'older_extension', ...change }));
  },
  changeLocalFiles(/** @type {LocalFileChange} */ change) {
    return link.sendText(JSON.stringify({ type: 'local_file_rule', ...change }));
  },
});

/** The person is there. */
async function tryNow() {
  await pairing.handlePerson();
  link.connectNow();
}

/** @param {CommandBody} command that begins @returns {() => void} called at its end */
function followUse({ tab_id, tabs: inside, client_id, safe }) {
  if (tab_id === undefined) return () => {};
  if (inside !== undefined) elementRefs.drawLetters(tab_id);
  stepRecordings.begin(tab_id);
  // Reading a page says that its state matters, too.
  wakefulTabs.use(tab_id).catch(console.debug);
  return safe ? () => {} : tabDownloads.followAct(tab_id, client_id, inside === undefined);
}

/** As far as the command says which tab it is for. @param {CommandBody} command */
function closesPersonsTab(command) {
  return closesItsTab(command) && !agentTabs.isAgents(command.tab_id);
}

/** Nobody is asked about an act that is refused whatever they say. @param {CommandBody} command */
function assertCanBeDone({ type, params, tab_id, client_id = '' }) {
  if (type === 'network_rules') checkedRules(params.rules);
  if (type === 'storage') checkedUse(params);
  if (type === 'set_permissions') checkedPermissions(params.permissions);
  if (recordsPerson(type, params)) assertOwn(tab_id, client_id, true);
}

const restored = once(async () => {
  await Promise.all([
    policy.restore(), outbox.restore(), takeover.restore(), recorder.restore(), drawMode.restore(), olderExtensions.restore(), elementRefs.restore(), tabDownloads.restore(), agentTabs.restore(), personRecordings.restore(), replacedTabs.restore(), wakefulTabs.restore(), sharedTabs.restore(), profileName.restore(), asideFrames.restore(), handOvers.restore(), siteSettings.restore(), privateTabs.restore(),
  ]);
});
let session = '';

/** The state of an earlier worker is read once, the open tabs each time. */
async function prepare() {
  const all = Promise.all([browserSession(), restored(), tabs.load()]);
  showStopped(policy.isStopped);
  [session] = await all;
}

/** @param {Status} status @param {string} detail */
function onStatus(status, detail) {
  // A try that follows a failure does not make the reason of the failure go away.
  if (status !== 'connecting' || connection.detail === '') connection = { ...connection, status, detail };
  showStatus(status, detail);
  recorder.handleLink(status === 'connected');
  pageStates.handleLink(status === 'connected');
  if (status === 'connected') return;
  // Both are the daemon's knowledge, which may be outdated when it returns.
  olderExtensions.forget();
  asks.forget();
  pastActs.forget();
  keptWords.forget();
  farOwners.forget();
  profileName.forget();
  policy.files.handleLost();
}

/** Whom the browser has given what a command waits for, the daemon is told: the popup may have closed under the browser's own question. */
export async function answerGranted() {
  for (const ask of asks.open) {
    const isHere = ask.kind === 'consent' && ask.need.kind === 'permission' && ask.tab_id !== undefined;
    if (isHere && await isGranted(ask.need.site)) asks.answer(ask.correlation_id, { kind: 'consent', consent: 'once' });
  }
}

/** @param {UnconfirmedWidening[]} widenings */
function setUnconfirmed(widenings) {
  unconfirmed = widenings;
  showUnconfirmed(widenings.length > 0);
}

/** @param {WelcomeFrame} welcome @param {Config} config */
function onWelcome({ epoch, server_version, capture, extension_newer = false }, config) {
  // The daemon sends them after `ready` if there are any.
  setUnconfirmed([]);
  heldTabs = [];
  asks.forget();
  pairing.handleProven(config);
  policy.own.setPort(config.port);
  connection = { ...connection, daemon_version: server_version, extension_newer };
  dispatcher.enterEpoch(epoch);
  link.send({
    type: 'ready',
    label: browserLabel(),
    user_agent: navigator.userAgent,
    actions: Object.keys(actions),
    session,
    tabs: tabs.listToTell(),
    in_flight: dispatcher.inFlight(),
    draws_for: drawMode.waits(),
    site_rules: true,
    act_rules: true,
    asks_first: true,
    tab_scopes: true,
    private_tabs: true,
    far_owners: true,
    hands_over: true,
    stopped: policy.isStopped,
    older_extensions: true,
    names: true,
    shared_tabs: sharedTabs.list,
  });
  // After `ready`: the daemon must know the attempts before their reports come.
  outbox.replay();
  drawMode.handleConnected();
  uploads.handleConnected();
  agentTabs.handleReady();
  handOvers.handleReady();
  if (pageStates.list().length > 0) pageStates.onChange(pageStates.list());
  recorder.configure(capture);
}

/** @param {ToExtension} frame @returns {boolean} false: not a type that we know */
function onFrame(frame) {
  switch (frame.type) {
    case 'command': dispatcher.handleCommand(frame); break;
    case 'go': dispatcher.handleGo(frame); break;
    case 'cancel': dispatcher.handleCancel(frame); break;
    case 'result_ack': dispatcher.handleResultAck(frame); break;
    case 'nack': dispatcher.handleNack(frame); break;
    case 'annotations_ack': drawMode.handleAck(frame); break;
    case 'annotations_over': drawMode.handleOver(frame); break;
    case 'capture': recorder.configure(frame.capture); break;
    case 'site_rules': policy.handleRules(frame); break;
    case 'older_extensions': olderExtensions.handleFrame(frame); break;
    case 'asks':
      asks.handleFrame(frame);
      handOvers.follow(asks.open);
      break;
    case 'page_states_over': pageStates.handleOver(frame.states); break;
    case 'held_tabs':
      heldTabs = frame.held;
      agentTabs.handleHeld(heldTabs.map(({ tab_id }) => tab_id));
      break;
    case 'opened_tabs': agentTabs.handleList(frame.opened); break;
    case 'close_tabs': agentTabs.handleClose(frame.tab_ids).catch(console.warn); break;
    case 'browser_name': profileName.handleFrame(frame); break;
    case 'history': pastActs.handleFrame(frame); break;
    case 'kept_words': keptWords.handleFrame(frame); break;
    case 'far_owners': farOwners.handleFrame(frame); break;
    case 'widenings': setUnconfirmed(frame.widenings); break;
    case 'extension_changed': onStatus('changed', ''); break;
    case 'reload': ownReload.handleFrame(frame); break;
    case 'local_files': policy.files.handleRules(frame); break;
    case 'upload_copies': uploads.handleCopies(frame); break;
    case 'file_verdict': policy.files.handleVerdict(frame); break;
    case 'challenge':
    case 'welcome':
    case 'ping': break;
    default: return false;
  }
  return true;
}

const rulesChanged = () => {
  dispatcher.handleRules();
  tabs.handleChange();
  recorder.apply().catch(console.warn);
  personRecordings.handleRules();
  pageStates.handleRules().catch(console.warn);
  endBurstsBeside((tabId) => policy.blocks(tabs.known(tabId)?.url ?? ''));
};
ownReload.leave = () => link.leave();
// What is only remembered is handed on; this is under way, or waits for the person.
ownReload.isBusy = () => [dispatcher.inFlight(), drawMode.waits(), asks.open, personRecordings.rows(), pageStates.list()].some(({ length }) => length > 0)
  || policy.handed.isAny || traces.isAny || privateTabs.isAny || recorder.isChanging;
olderExtensions.onChange = () => showAsking(olderExtensions.unseen);
policy.onChange = () => {
  showStopped(policy.isStopped);
  rulesChanged();
  if (policy.handed.isBegun) traces.drop().catch(console.debug);
};
policy.files.onChange = rulesChanged;
debuggerNews.isHandedOver = (tabId) => policy.handed.hasTab(tabId);
handOvers.onChange = (marked) => showHandOvers(marked);
personRecordings.onChange = (rows) => showRecorded(rows.map(({ tab_id, client }) => ({ tabId: tab_id, client })));
wakefulTabs.isHeld = (tabId) => heldTabs.some(({ tab_id }) => tab_id === tabId);
privateTabs.onPersonCame = (error) => dispatcher.endIn((tabId) => privateTabs.isAgents(tabId), error);
sharedTabs.onChange = (tab_ids) => link.send({ type: 'shared_tabs', tab_ids });
uploads.send = (text) => link.sendText(text);
policy.files.send = (text) => link.sendText(text);
pageStates.onChange = (states) => link.send({ type: 'page_states', states });
pageStates.onAnswer = (site) => scriptedSites.note(site);
tabs.onChange = (list) => link.send({ type: 'tabs', tabs: list });
drawMode.send = (text) => link.sendText(text);
drawMode.onRequests = (drawings) => showDrawings(countRequests(drawings));
agentTabs.send = (text) => link.sendText(text);
agentTabs.tellTabs = () => tabs.tellNow();
agentTabs.onInput = handlePerson;
agentTabs.onChange = (opened) => showOpenedTabs(opened.map(({ tab_id, client }) => ({ tabId: tab_id, client })));
asks.send = (text) => link.sendText(text);
pastActs.send = (text) => link.sendText(text);
keptWords.send = (text) => link.sendText(text);
farOwners.send = (text) => link.sendText(text);
profileName.send = (text) => link.sendText(text);
profileName.onChange = () => showNaming(profileName.isAsking);
asks.onChange = (open) => {
  showAsks(open.length);
  askPictures.follow(open);
  askNotifications.follow(open);
  answerGranted().catch(console.warn);
};
// Without a daemon notification and question stay.
askNotifications.onAnswer = (id, answer) => { asks.answer(id, answer); };
debuggerNews.onAside = (tabId) => agentTabs.handleAside(tabId, true);
debuggerNews.onRest = (tabId) => {
  agentTabs.handleAside(tabId, false);
  recorder.handleGone(tabId);
  traces.handleDetach(tabId);
};
debuggerNews.onBeside = (tabId) => {
  const tab = tabs.known(tabId);
  if (tab) recorder.handleTab(tab);
};
recorder.onEvents = (text) => link.sendText(text);
