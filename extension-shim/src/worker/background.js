// @ts-check
// Wiring only. Every listener is registered synchronously at top level: Chrome wakes the worker
// only for events that it listened to when it was first run.

import { traces } from '../analysis/trace_recording.js';
import { askNotifications, handOvers } from '../asks/index.js';
import { clipboardGuards } from '../browser/clipboard_guards.js';
import { withoutDeniedWords } from '../browser/dialogs.js';
import { adoptAttached, handleDetach, handleEvent, handlePerson, handleReplaced as debuggerReplaced, openRequests } from '../browser/debugger.js';
import { forgetForeign, handleForeignCommitted } from '../browser/foreign_extensions.js';
import { asideFrames } from '../browser/frames_aside.js';
import { highlights } from '../browser/highlights.js';
import { agentTabs, elementRefs, frontWindow, navigations, pageStates, pictures, policy, privateTabs, replacedTabs, sharedTabs, snapshots, stepRecordings, tabDownloads, tabEvents, tabs, wakefulTabs } from '../browser/state.js';
import { forgetDocuments } from '../browser/page_world.js';
import { personRecordings } from '../browser/person_recordings.js';
import { worldContexts } from '../browser/world_contexts.js';
import { recorder } from '../capture/index.js';
import { drawMode } from '../draw/index.js';
import { actEffects } from '../input/act_effects.js';
import { drawnTab } from '../policy/pages.js';
import { answerGranted, dispatcher, link, panel } from './main.js';

/**
 * How long a killed worker may be missed: while the browser is idle nothing else wakes it. An
 * unpacked extension gets the period that it asks for; a packed one would get 30 s.
 */
const RECONNECT_ALARM_S = 1;

const ensureConnected = () => link.ensureConnected();
const tabsChanged = () => tabs.handleChange();
const frontChanged = () => {
  tabs.handleChange();
  drawMode.handleFront();
};

chrome.runtime.onStartup.addListener(ensureConnected);
chrome.runtime.onInstalled.addListener(ensureConnected);
chrome.alarms.onAlarm.addListener(ensureConnected);
chrome.runtime.onMessage.addListener((ask, sender, answer) => {
  // From scripts of ours in a page. They decide that a tab stays open, and are the steps of a recording; no more.
  if (agentTabs.handleMessage(ask, sender)) return false;
  const recorded = personRecordings.handleMessage(ask, sender);
  if (recorded) return void answer(recorded);
  // Only our own pages may decide for the person: a script in a page may send messages, too.
  if (sender.origin !== location.origin) return false;
  const answered = drawMode.handleMessage(ask, sender) ?? panel(ask);
  answered?.then(answer, console.warn);
  return answered !== undefined; // The answer comes later.
});

chrome.tabs.onCreated.addListener((tab) => {
  privateTabs.handleCreated(tab);
  handOvers.handleCreated(tab);
  tabs.handleUpdated(tab);
  recorder.handleTab(tab);
  if (tab.openerTabId !== undefined && drawnTab(tab) === undefined) drawMode.handleOpened(tab.openerTabId).catch(console.warn);
});
chrome.tabs.onUpdated.addListener((tabId, change, tab) => {
  if (tab.url) handOvers.handleAddress(tabId, tab.url);
  tabs.handleUpdated(tab);
  recorder.handleTab(tab);
  agentTabs.handleUpdated(tabId, change);
  if (change.status === 'complete') navigations.handleTabComplete(tabId);
  pageStates.handleAddress(tabId, tab.url ?? '');
  tabEvents.handle(tabId);
  ensureConnected();
});
chrome.tabs.onRemoved.addListener((tabId, { isWindowClosing, windowId }) => {
  sharedTabs.handleRemoved(tabId);
  privateTabs.handleRemoved(tabId);
  agentTabs.handleRemoved(tabId, windowId);
  handOvers.handleRemoved(tabId);
  tabs.handleRemoved(tabId);
  replacedTabs.handleRemoved(tabId);
  wakefulTabs.handleRemoved(tabId);
  navigations.handleRemoved(tabId);
  tabEvents.handle(tabId);
  policy.files.handleRemoved(tabId);
  actEffects.handleRemoved(tabId);
  elementRefs.handleRemoved(tabId).catch(console.warn);
  snapshots.handleRemoved(tabId);
  forgetDocuments(tabId);
  forgetForeign(tabId);
  asideFrames.forget(tabId);
  tabDownloads.handleRemoved(tabId);
  pictures.handleRemoved(tabId);
  personRecordings.handleRemoved(tabId);
  stepRecordings.close(tabId);
  recorder.handleGone(tabId);
  drawMode.handleGone(tabId, { isWindowClosing }).catch(console.warn);
});
chrome.tabs.onReplaced.addListener((added, removed) => {
  replacedTabs.handleReplaced(added, removed);
  privateTabs.handleReplaced(added, removed);
  sharedTabs.handleReplaced(added, removed).catch(console.warn);
  agentTabs.handleReplaced(added, removed);
  handOvers.handleReplaced(added, removed);
  dispatcher.handleReplaced(added, removed);
  tabs.handleReplaced(added, removed);
  wakefulTabs.handleReplaced(added, removed);
  debuggerReplaced(added, removed);
  personRecordings.handleReplaced(added, removed);
  elementRefs.handleReplaced(added, removed).catch(console.warn);
  snapshots.handleRemoved(removed);
  policy.files.handleRemoved(removed);
  forgetDocuments(removed);
  forgetForeign(removed);
  asideFrames.forget(removed);
  pictures.handleRemoved(removed);
  recorder.handleGone(removed);
  drawMode.handleGone(removed).catch(console.warn);
});
chrome.tabs.onActivated.addListener((shown) => {
  tabs.handleActivated(shown);
  agentTabs.handleActivated(shown);
  handOvers.handleActivated();
  drawMode.handleFront();
  clipboardGuards.lift(shown.tabId);
  handlePerson(shown.tabId);
});
chrome.tabs.onMoved.addListener((tabId) => {
  tabsChanged();
  agentTabs.handleMoved(tabId);
});
chrome.tabs.onAttached.addListener((tabId, { newWindowId }) => {
  tabs.handleAttached(tabId, newWindowId);
  agentTabs.handleMoved(tabId);
});
chrome.windows.onFocusChanged.addListener((windowId) => {
  frontChanged();
  frontWindow.handleFocusChanged(windowId);
});

chrome.downloads.onCreated.addListener((item) => {
  if (item.incognito) return;
  tabDownloads.handleCreated(item, [...navigations.handleDownload(item), ...actEffects.handleDownload(item)]).catch(console.warn);
});
chrome.downloads.onChanged.addListener((change) => {
  navigations.handleDownloadChanged(change);
  actEffects.handleDownloadChanged(change);
  tabEvents.handle();
});
chrome.webNavigation.onBeforeNavigate.addListener((details) => {
  navigations.handleBeforeNavigate(details);
  if (details.frameId === 0) handOvers.handleAddress(details.tabId, details.url);
  if (details.frameId === 0) pageStates.handleAddress(details.tabId, details.url);
  actEffects.handleBeforeNavigate(details);
});
chrome.webNavigation.onDOMContentLoaded.addListener((details) => {
  actEffects.handleDomReady(details);
  personRecordings.handleDocument(details.tabId);
  tabEvents.handle(details.tabId);
});
chrome.webNavigation.onCommitted.addListener((details) => {
  // Before everything else that tells of the new page.
  sharedTabs.handleCommitted(details);
  agentTabs.handleCommitted(details);
  policy.files.handleCommitted(details);
  handleForeignCommitted(details);
  if (details.frameId === 0) asideFrames.handlePage(details.tabId);
  navigations.handleCommitted(details);
  tabEvents.handle(details.tabId);
  drawMode.handleCommitted(details).catch(console.warn);
  personRecordings.handleCommitted(details);
  ensureConnected();
});
// A window of its own names no opener.
chrome.webNavigation.onCreatedNavigationTarget.addListener((details) => {
  if (privateTabs.isClosed) handleNewTarget(details);
  else privateTabs.admitCreated(details.sourceTabId, details.tabId).then((isAdmitted) => { if (isAdmitted) handleNewTarget(details); }, console.warn);
});
/** @param {chrome.webNavigation.WebNavigationSourceCallbackDetails} details */
function handleNewTarget(details) {
  handOvers.handleOpened(details.sourceTabId, details.tabId);
  personRecordings.handleOpened(details.sourceTabId);
  drawMode.handleOpened(details.sourceTabId).catch(console.warn);
  // Before the report of the act, which may name the tab.
  link.send({ type: 'tab_created', source_tab_id: details.sourceTabId, tab_id: details.tabId });
  actEffects.handleNewTarget(details);
}
chrome.webNavigation.onCompleted.addListener((details) => {
  navigations.handleCompleted(details);
  tabEvents.handle(details.tabId);
});
const withinDocument = (/** @type {import('../browser/navigations.js').NavigationDetails} */ details) => {
  navigations.handleSameDocument(details);
  tabEvents.handle(details.tabId);
};
chrome.webNavigation.onReferenceFragmentUpdated.addListener(withinDocument);
chrome.webNavigation.onHistoryStateUpdated.addListener(withinDocument);
chrome.webNavigation.onErrorOccurred.addListener((details) => {
  navigations.handleErrorOccurred(details);
  actEffects.handleErrorOccurred(details);
});

chrome.debugger.onEvent.addListener((source, method, given) => {
  const params = method === 'Page.javascriptDialogOpening' ? withoutDeniedWords(/** @type {any} */ (given)) : given;
  worldContexts.handleEvent(source, method, params);
  // The events of a frame with a process of its own are not the page's.
  if (source.sessionId !== undefined) return;
  handleEvent(source, method, params);
  actEffects.handleDebuggerEvent(source, method, params);
  recorder.handleEvent(source, method, params);
  if (source.tabId !== undefined && tabDownloads.handleEvent(source.tabId, method, params)) tabEvents.handle(source.tabId);
  if (method === 'Inspector.targetCrashed' && source.tabId !== undefined) navigations.handleCrashed(source.tabId);
});
chrome.debugger.onDetach.addListener((source, reason) => {
  handleDetach(source, reason);
  if (source.tabId !== undefined) highlights.handleGone(source.tabId);
  if (source.tabId !== undefined) worldContexts.handleDetach(source.tabId);
  traces.handleDetach(source.tabId);
  if (source.tabId !== undefined) recorder.handleGone(source.tabId);
});

chrome.permissions.onAdded.addListener(() => {
  askNotifications.listen();
  answerGranted().catch(console.warn);
});

askNotifications.listen();
openRequests.onQuiet = (tabId) => tabEvents.handle(tabId);
// The key is kept there, and content scripts need none of it.
chrome.storage.local.setAccessLevel({ accessLevel: 'TRUSTED_CONTEXTS' }).catch(console.warn);
// The same alarm again replaces the old one.
chrome.alarms.create('reconnect', { periodInMinutes: RECONNECT_ALARM_S / 60 });
frontWindow.look().catch(console.debug);
adoptAttached().catch(console.debug);
recorder.restore().catch(console.warn);
ensureConnected();
