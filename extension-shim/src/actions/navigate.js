// @ts-check
// Takes a tab somewhere and waits until it has loaded.

/** @import {Context, Dialog, Outcome} from '../../types/protocol.js' */
/** @import {Watcher} from '../browser/debugger.js' */
/** @import {Aim, Arrival} from '../browser/navigations.js' */

import { attach, cdp, findCrash, openRequests } from '../browser/debugger.js';
import { meetDialogs } from '../browser/dialogs.js';
import { withHeldDocuments } from '../browser/held_documents.js';
import { httpStatus } from '../browser/http_status.js';
import { navigationFields } from '../browser/navigations.js';
import { agentTabs, navigations, policy, tabs } from '../browser/state.js';
import { stopNavigation, stopWaiting } from '../browser/unstick.js';
import { recorder } from '../capture/index.js';
import { checkedFlag, checkedUrl } from '../commands/params.js';
import { ActionError, crashedTab, messageOf, noSuchTab } from '../lib/errors.js';
import { assertReachable, isReachable, originOf } from '../policy/pages.js';

const BEFORE_UNLOAD_HINT = 'Save what is in the page, or set window.onbeforeunload to null with execute_js; then call again.';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function navigate({ url, focus }, context) {
  const wanted = await checkedUrl(url);
  const inFront = checkedFlag('focus', focus);
  if (inFront) policy.handed.assertFrontIsFree();
  const { id } = await tabs.target(context.tab_id);
  const outcome = await arrive(id, { url: wanted }, context, () => chrome.tabs.update(id, { url: wanted }));
  if (!inFront) return outcome;
  context.begin();
  agentTabs.bring(id);
  await tabs.bringToFront(id);
  return outcome;
}

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function refresh(_, context) {
  const tab = await tabs.fresh(context.tab_id);
  assertReachable(tab);
  return arrive(tab.id, 'reload', context, () => chrome.tabs.reload(tab.id));
}

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function back(_, context) {
  return step(-1, context);
}

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function forward(_, context) {
  return step(+1, context);
}

/** @param {-1 | 1} by @param {Context} context @returns {Promise<Outcome>} */
async function step(by, context) {
  const tab = await tabs.fresh(context.tab_id);
  if (!isReachable(tab)) {
    const go = by < 0 ? chrome.tabs.goBack : chrome.tabs.goForward;
    return arrive(tab.id, 'history', context, () => go(tab.id).catch(noFurther));
  }
  context.onStop(() => stopWaiting(tab.id));
  await attach(tab.id);
  // Like the browser's own button, chrome.tabs would skip every page that was never clicked in.
  const { currentIndex, entries } = await cdp(tab.id, 'Page.getNavigationHistory');
  const entry = entries[currentIndex + by];
  if (entry === undefined) return noFurther();
  await policy.admit(entry.url);
  // A page that the browser has kept whole comes without a request.
  if (policy.far.hides(tab.id, entry.url)) throw policy.far.keepFrom(tab.id, entry.url).after({ ran: false });
  return arrive(tab.id, 'history', context, () => cdp(tab.id, 'Page.navigateToHistoryEntry', { entryId: entry.id }));
}

/** @param {unknown} [error] of the browser @returns {never} */
function noFurther(error) {
  if (error !== undefined && !/Cannot find a next page/i.test(messageOf(error))) throw error;
  throw new ActionError('navigation_failed', 'the history of this tab ends here', undefined, { hint: 'Go to a URL with interact({action:"navigate", url}).' });
}

/**
 * @param {number} id the tab's @param {Aim} aim @param {Context} context @param {() => Promise<unknown>} depart
 * @returns {Promise<Outcome>}
 */
async function arrive(id, aim, context, depart) {
  context.onStop((why) => stopNavigation(id, why));
  if (context.holdsDialogs) await attach(id);
  /** @type {Watcher} */
  const watcher = { dialogs: [], onDialog: (dialog) => stayed(id, dialog) };
  const arrival = await meetDialogs(context, id, watcher, () => load(id, aim, context, depart));
  const [{ url = '', title = '' }, answered] = await Promise.all([tabs.fresh(id), arrival.answered]);
  await policy.admit(url, { ran: true });
  return { value: { url, title, ...navigationFields(arrival, answered, url) }, type: 'object', origin: originOf(url), dialogs: watcher.dialogs };
}

/**
 * Sends a tab somewhere and waits until it has loaded.
 * @param {number} tabId @param {Aim} aim @param {Context} context @param {() => Promise<unknown>} depart begins the navigation
 * @returns {Promise<Arrival>}
 */
export async function load(tabId, aim, { signal, begin }, depart) {
  await recorder.ready(tabId);
  begin();
  const answered = answerOf(tabId);
  const loaded = navigations.follow(tabId, aim, signal, answered.handleDocument);
  try {
    const [arrival] = await withHeldDocuments(tabId, signal, () => Promise.all([loaded, depart()]));
    return arrival.download ? arrival : { ...arrival, answered: answered.status() };
  } catch (error) {
    navigations.fail(tabId, error); // `depart` may have failed: then the navigation must not be followed on.
    throw await whyNotLoaded(tabId, error);
  }
}

/**
 * How the server answers for the page that a tab is about to go to: the debugger hears it, where it is attached; else the
 * document is asked. @param {number} tabId
 */
function answerOf(tabId) {
  const isHeard = openRequests.awaitPage(tabId);
  /** @type {ReturnType<typeof httpStatus> | undefined} */
  let asked;
  let url = '';
  return {
    /** @param {{url: string, documentId?: string}} document that has come */
    handleDocument(document) {
      url = document.url;
      // A page that loads answers sooner than one that has just loaded.
      if (!isHeard) asked = httpStatus(tabId, document);
    },
    /** @returns {ReturnType<typeof httpStatus>} */
    async status() {
      const heard = openRequests.pageAnswer(tabId);
      // The debugger's word on the last of several pages may still be on its way.
      return heard?.url === url ? heard : asked ?? httpStatus(tabId);
    },
  };
}

/** @param {number} tabId @param {unknown} error @returns {Promise<ActionError>} the error for the agent */
async function whyNotLoaded(tabId, error) {
  const told = error instanceof ActionError ? error : null;
  if (told && told.code !== 'navigation_failed') return told;
  const tab = await chrome.tabs.get(tabId).catch(() => null);
  if (tab === null) return told ?? noSuchTab(`tab ${tabId} is not open`);
  // Without a debugger the browser reports a crash only as the end of the load.
  if (await findCrash(tab)) return crashedTab(tabId);
  return told ?? new ActionError('navigation_failed', `the browser refused: ${messageOf(error)}`);
}

/** Once the dialog is dismissed the page stays: only a person may give up typed input. @param {number} tabId @param {Dialog} dialog */
function stayed(tabId, { type }) {
  if (type !== 'beforeunload') return;
  navigations.fail(tabId, new ActionError('navigation_failed',
    'the page asks before it is left, since input there is not saved', undefined, { hint: BEFORE_UNLOAD_HINT }));
}
