// @ts-check
// Tabs themselves: list, open, close, show. The daemon gets a change before it gets the report that the
// command is done, so that the next command can already name the tab.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {Arrival} from '../browser/navigations.js' */

import { navigationFields } from '../browser/navigations.js';
import { withOwner } from '../browser/site_guard.js';
import { agentTabs, policy, privateTabs, tabs } from '../browser/state.js';
import { stopNavigation } from '../browser/unstick.js';
import { checkedFlag, checkedUrl } from '../commands/params.js';
import { ActionError, messageOf, noSuchTab } from '../lib/errors.js';
import { load } from './navigate.js';

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function tab_list(_, { begin, sees, hides }) {
  begin();
  await tabs.tellNow();
  const seen = tabs.list().filter(({ tab_id }) => sees(tab_id));
  return { value: seen.map((tab) => (hides(tab.url) ? { ...tab, url: '', title: '' } : tab)), type: 'array' };
}

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function tab_open({ url = 'about:blank', focus, private: isAsked }, context) {
  const wanted = await checkedUrl(url);
  const inFront = checkedFlag('focus', focus);
  const isPrivate = checkedFlag('private', isAsked);
  if (inFront) policy.handed.assertFrontIsFree();
  context.begin();
  // Opened empty and then sent there: only of a tab that has an id can the load be followed.
  const id = await (isPrivate ? privateTabs.open(context.privateOwner, inFront) : openBlank(inFront)).catch(refused);
  if (id === undefined) throw new ActionError('internal', 'the browser opened a tab without an id');
  agentTabs.noteOpened(id);
  context.noteOpened(id, { isPrivate });
  if (isPrivate) agentTabs.bring(id, { isNew: true });
  context.begin();
  if (inFront) await bringToFront(id, { isNew: true });
  /** @type {Arrival} */
  const arrival = wanted === 'about:blank' ? { from: null } : await loadInNewTab(id, wanted, context);
  const [answered] = await Promise.all([arrival.answered, tabs.tellNow()]);
  const tab = await tabs.target(id).catch((error) => closedFor(arrival, error));
  if (!tab) return { value: { url: wanted, title: '', tab_closed: true, ...navigationFields(arrival, answered, wanted) }, type: 'object' };
  await policy.admit(tab.url ?? '', { ran: true });
  if (context.hides(tab.url ?? '')) throw leftOpen(id, 'it shows a page on a site that needs the user\'s word first');
  const shown = tab.url ?? wanted;
  return { value: { tab_id: id, url: shown, title: tab.title ?? '', ...navigationFields(arrival, answered, shown) }, type: 'object' };
}

/**
 * The browser may close a tab that was opened for a download alone.
 * @param {Arrival} arrival @param {unknown} error why the tab is not there @returns {null}
 */
function closedFor(arrival, error) {
  if (!arrival.download) throw error;
  return null;
}

/** @param {boolean} inFront @returns {Promise<number | undefined>} the new tab's id */
async function openBlank(inFront) {
  const url = 'about:blank';
  const windows = await chrome.windows.getAll({ windowTypes: ['normal'] });
  const hasPrivate = windows.some(({ incognito }) => incognito);
  // The browser would take the window in front, which may be a private one.
  if (hasPrivate) await tabs.load();
  const where = hasPrivate ? { windowId: tabs.openWindow } : {};
  if (windows.some(({ incognito }) => !incognito)) return (await chrome.tabs.create({ url, active: inFront, ...where })).id;
  // A browser may go on without any; then there is none that could take a tab.
  const window = await chrome.windows.create({ url, focused: inFront });
  const id = window?.tabs?.[0]?.id;
  if (id !== undefined) agentTabs.bring(id, { isNew: true });
  return id;
}

/**
 * A page that does not load leaves its tab open, for `navigate` to try again.
 * @param {number} id @param {string} url @param {Context} context @returns {Promise<Arrival>}
 */
async function loadInNewTab(id, url, context) {
  context.onStop((why) => stopNavigation(id, why));
  try {
    return await load(id, { url, after: 'about:blank' }, context, () => chrome.tabs.update(id, { url }));
  } catch (error) {
    if (!(error instanceof ActionError)) throw error;
    const { code, message, more } = error;
    await tabs.tellNow();
    throw new ActionError(code, `tab ${id} was opened and stays open, but ${message}`, undefined, more);
  }
}

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function tab_close(_, { tab_id, begin, hides }) {
  const { id, url, title } = told(await permitted(tab_id), hides);
  begin();
  await chrome.tabs.remove(id).catch(refused);
  // With its last tab a browser may end and answer nothing any more; closed is closed.
  await tabs.tellNow().catch(console.debug);
  return { value: { tab_id: id, url, title }, type: 'object' };
}

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function tab_activate({ focus }, { tab_id, begin, hides }) {
  const withWindow = checkedFlag('focus', focus);
  policy.handed.assertFrontIsFree();
  const { id, url, title } = told(await permitted(tab_id), hides);
  begin();
  if (withWindow) await bringToFront(id);
  else await show(id).catch(refused);
  await tabs.tellNow();
  return { value: { tab_id: id, url, title }, type: 'object' };
}

/** @param {number} id @param {{isNew?: boolean}} [tab] */
async function bringToFront(id, tab) {
  agentTabs.bring(id, tab);
  await tabs.bringToFront(id);
}

/** In its window. @param {number} id */
async function show(id) {
  agentTabs.bring(id);
  await chrome.tabs.update(id, { active: true });
}

/** It may have gone somewhere since it was looked at. @param {number | undefined} tabId */
async function permitted(tabId) {
  const tab = await tabs.fresh(tabId);
  await policy.admitTab(await withOwner(tab));
  return tab;
}

/** @param {chrome.tabs.Tab & {id: number}} tab @param {Context['hides']} hides @returns {{id: number, url: string, title: string}} what the agent is told of it */
function told({ id, url = '', title = '' }, hides) {
  return hides(url) ? { id, url: '', title: '' } : { id, url, title };
}

/** The next command can name the tab, and is asked about. @param {number} id @param {string} why */
function leftOpen(id, why) {
  return new ActionError('consent_needed', `tab ${id} was opened and stays open, but ${why}`, undefined, { hint: `Call the next command with tab_id ${id}: the user is asked first.`, mayHaveRun: true });
}

/** @param {unknown} error @returns {never} */
function refused(error) {
  if (error instanceof ActionError) throw error;
  throw noSuchTab(`the browser refused: ${messageOf(error)}`);
}
