// @ts-check
// Tabs as such: list, open, close, show. The daemon hears of a change before it hears that the
// command is done, so that the next command can already name the tab.

/** @import {Context, Outcome} from '../protocol.js' */

import { ActionError, messageOf } from '../errors.js';
import { checkedFlag, checkedUrl } from '../params.js';
import { withOwner } from '../site_guard.js';
import { navigations, policy, recorder, tabs } from '../state.js';
import { stopNavigation } from '../unstick.js';

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function tab_list(_, { begin }) {
  begin();
  await tabs.tellNow();
  return { value: tabs.list(), type: 'array' };
}

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function tab_open({ url = 'about:blank', focus }, context) {
  const wanted = await checkedUrl(url);
  const inFront = checkedFlag('focus', focus);
  context.begin();
  // Opened empty and then sent there: only of a tab that has an id can the load be followed.
  const id = await openBlank(inFront).catch(refused);
  if (id === undefined) throw new ActionError('internal', 'the browser opened a tab without an id');
  context.begin();
  if (inFront) await tabs.bringToFront(id);
  if (wanted !== 'about:blank') await load(id, wanted, context);
  await tabs.tellNow();
  const tab = await tabs.target(id);
  await policy.admit(tab.url ?? '', { ran: true });
  return { value: { tab_id: id, url: tab.url ?? wanted, title: tab.title ?? '' }, type: 'object' };
}

/** @param {boolean} inFront @returns {Promise<number | undefined>} the new tab's id */
async function openBlank(inFront) {
  const url = 'about:blank';
  const windows = await chrome.windows.getAll({ windowTypes: ['normal'] });
  if (windows.length > 0) return (await chrome.tabs.create({ url, active: inFront })).id;
  // A browser may go on without any; then there is none that could take a tab.
  const window = await chrome.windows.create({ url, focused: inFront });
  return window?.tabs?.[0]?.id;
}

/** A page that does not load leaves its tab open, for `navigate` to try again. @param {number} id @param {string} url @param {Context} context */
async function load(id, url, { signal, begin, onStop }) {
  onStop((why) => stopNavigation(id, why));
  await recorder.ready(id);
  begin();
  const loaded = navigations.follow(id, { url, after: 'about:blank' }, signal);
  try {
    await Promise.all([chrome.tabs.update(id, { url }), loaded]);
  } catch (error) {
    navigations.fail(id, error);
    await tabs.tellNow();
    if (!(error instanceof ActionError)) throw new ActionError('navigation_failed', `the browser refused: ${messageOf(error)}`);
    throw new ActionError(error.code, `tab ${id} was opened and stays open, but ${error.message}`, undefined, error.more);
  }
}

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function tab_close(_, { tab_id, begin }) {
  const { id, url = '', title = '' } = await permitted(tab_id);
  begin();
  await chrome.tabs.remove(id).catch(refused);
  // With its last tab a browser may end and answer nothing any more; closed is closed.
  await tabs.tellNow().catch(console.debug);
  return { value: { tab_id: id, url, title }, type: 'object' };
}

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function tab_activate({ focus }, { tab_id, begin }) {
  const withWindow = checkedFlag('focus', focus);
  const { id, url = '', title = '' } = await permitted(tab_id);
  begin();
  if (withWindow) await tabs.bringToFront(id);
  else await chrome.tabs.update(id, { active: true }).catch(refused);
  await tabs.tellNow();
  return { value: { tab_id: id, url, title }, type: 'object' };
}

/** It may have gone somewhere since it was looked at. @param {number | undefined} tabId */
async function permitted(tabId) {
  const tab = await tabs.fresh(tabId);
  await policy.admitTab(await withOwner(tab));
  return tab;
}

/** @param {unknown} error @returns {never} */
function refused(error) {
  throw new ActionError('no_such_tab', `the browser refused: ${messageOf(error)}; tab_list tells what is open`);
}
