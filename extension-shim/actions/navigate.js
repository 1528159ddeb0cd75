// @ts-check
// Takes a tab somewhere and waits until it has loaded.

/** @import {Context, Dialog, Outcome} from '../protocol.js' */
/** @import {Watcher} from '../debugger.js' */
/** @import {Aim} from '../navigations.js' */

import { attach, cdp, withDialogs } from '../debugger.js';
import { ActionError, messageOf } from '../errors.js';
import { checkedFlag, checkedUrl } from '../params.js';
import { assertReachable, isReachable, originOf } from '../pages.js';
import { navigations, policy, recorder, tabs } from '../state.js';
import { stopNavigation, stopWaiting } from '../unstick.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function navigate({ url, focus }, context) {
  const wanted = await checkedUrl(url);
  const inFront = checkedFlag('focus', focus);
  const { id } = await tabs.target(context.tab_id);
  const outcome = await arrive(id, { url: wanted }, context, () => chrome.tabs.update(id, { url: wanted }));
  if (!inFront) return outcome;
  context.begin();
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
  // As the browser's own button, chrome.tabs would pass over every page that nobody has clicked in.
  const { currentIndex, entries } = await cdp(tab.id, 'Page.getNavigationHistory');
  const entry = entries[currentIndex + by];
  if (entry === undefined) return noFurther();
  await policy.admit(entry.url);
  return arrive(tab.id, 'history', context, () => cdp(tab.id, 'Page.navigateToHistoryEntry', { entryId: entry.id }));
}

/** @param {unknown} [error] what the browser said @returns {never} */
function noFurther(error) {
  if (error !== undefined && !/Cannot find a next page/i.test(messageOf(error))) throw error;
  throw new ActionError('navigation_failed', 'the history of this tab ends here; navigate instead');
}

/**
 * @param {number} id the tab's @param {Aim} aim @param {Context} context @param {() => Promise<unknown>} depart
 * @returns {Promise<Outcome>}
 */
async function arrive(id, aim, context, depart) {
  context.onStop((why) => stopNavigation(id, why));
  /** @type {Watcher} */
  const watcher = { dialogs: [], onDialog: (dialog) => stayed(id, dialog) };
  await withDialogs(id, watcher, () => load(id, aim, context, depart));
  const { url = '', title = '' } = await tabs.fresh(id);
  await policy.admit(url, { ran: true });
  return { value: { url, title }, type: 'object', origin: originOf(url), dialogs: watcher.dialogs };
}

/** @param {number} tabId @param {Aim} aim @param {Context} context @param {() => Promise<unknown>} depart */
async function load(tabId, aim, { signal, begin }, depart) {
  await recorder.ready(tabId);
  begin();
  const loaded = navigations.follow(tabId, aim, signal);
  try {
    await Promise.all([depart(), loaded]);
  } catch (error) {
    navigations.fail(tabId, error); // Whatever failed: nobody follows any more.
    if (error instanceof ActionError) throw error;
    if (!await tabs.isOpen(tabId)) throw new ActionError('no_such_tab', `tab ${tabId} is not open; tab_list tells what is`);
    throw new ActionError('navigation_failed', `the browser refused: ${messageOf(error)}`);
  }
}

/** Dismissed, the page stays: what was typed there is for a person to give up. @param {number} tabId @param {Dialog} dialog */
function stayed(tabId, { type }) {
  if (type !== 'beforeunload') return;
  navigations.fail(tabId, new ActionError('navigation_failed',
    'the page asks before it is left, since input there is not saved; save it, or set window.onbeforeunload to null'));
}
