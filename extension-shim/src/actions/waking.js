// @ts-check
// Pages that the browser has put to sleep, before an action that needs them. A discarded one is loaded anew in the
// background: no debugger command goes to its tab before, since none would be answered. A frozen one is let run.

/** @import {CommandBody, Context, ReportedNotes} from '../../types/protocol.js' */

import { attach, emulateFocus } from '../browser/debugger.js';
import { httpStatus } from '../browser/http_status.js';
import { SHOWN_MS } from '../browser/limits.js';
import { tabs } from '../browser/state.js';
import { isFrozen } from '../browser/tabs.js';
import { stopNavigation } from '../browser/unstick.js';
import { ActionError } from '../lib/errors.js';
import { isReachable } from '../policy/pages.js';
import { load } from './navigate.js';

/** Actions that need no page, or load one themselves. A step of a batch is an action of its own. */
const NEEDS_NO_PAGE = new Set(['tab_list', 'tab_open', 'tab_close', 'tab_activate', 'navigate', 'refresh', 'page_info', 'downloads', 'dialog', 'batch', 'draw_mode']);

const LOST = 'the browser had unloaded this page to save memory: it was loaded anew, and input that was not saved is lost';

/**
 * Wakes the page that a command is for. @param {CommandBody} command @param {Context} context
 * @returns {Promise<ReportedNotes | null> | null} what the answer says of it; null: it did not sleep, or may go on sleeping
 */
export function wakePage({ type, tab_id }, context) {
  const tab = tab_id === undefined || NEEDS_NO_PAGE.has(type) ? undefined : tabs.known(tab_id);
  if (tab?.id === undefined || !isReachable(tab)) return null;
  if (tab.discarded) return revive({ ...tab, id: tab.id }, context);
  return isFrozen(tab) ? thaw(tab.id) : null;
}

/** @param {chrome.tabs.Tab & {id: number}} tab @param {Context} context @returns {Promise<ReportedNotes>} */
async function revive({ id, url = '', windowId }, context) {
  context.onStop((why) => stopNavigation(id, why));
  await keepingFront(id, windowId, () => load(id, 'reload', context, () => chrome.tabs.reload(id)).catch((error) => { throw whyAsleep(error, url); }));
  const [{ url: shown = '' }, answered] = await Promise.all([tabs.fresh(id), httpStatus(id)]);
  if (shown !== url) throw notTheSame(`its page was loaded anew, and led to ${shown} instead of ${url}`);
  if (answered && answered.status >= 400) throw notTheSame(`its page was loaded anew, and the server answered with HTTP status ${answered.status}`);
  return { revived: true, note: LOST };
}

/** @param {unknown} error @param {string} url */
function whyAsleep(error, url) {
  if (!(error instanceof ActionError)) return error;
  const { code, message, more } = error;
  // The browser does not send a form again by itself, and keeps no answer that the server told it not to keep.
  if (/ERR_CACHE_MISS/.test(message)) return new ActionError('needs_resubmit', `${url} was the answer to a form that was sent, and the browser has unloaded it: to show it, the form would have to be sent again`, undefined, { mayHaveRun: false });
  return new ActionError(code, `the browser had unloaded this page, and it could not be loaded anew: ${message}`, undefined, { ...more, mayHaveRun: false });
}

/** @param {string} what */
function notTheSame(what) {
  return new ActionError('navigation_interrupted', `the browser had unloaded this tab to save memory; ${what}`, undefined, { mayHaveRun: false, hint: 'Look at the page (snapshot), then call again if it is the right one.' });
}

/**
 * The browser brings the answer to a form to the front as it loads it anew: the tab that was there comes back at once.
 * @template T @param {number} id @param {number} windowId @param {() => Promise<T>} run @returns {Promise<T>}
 */
async function keepingFront(id, windowId, run) {
  const [front] = await chrome.tabs.query({ active: true, windowId });
  const restore = (/** @type {{tabId: number}} */ { tabId }) => {
    if (tabId === id && front?.id !== undefined) chrome.tabs.update(front.id, { active: true }).catch(console.debug);
  };
  if (front?.id === id) return run();
  chrome.tabs.onActivated.addListener(restore);
  const end = () => chrome.tabs.onActivated.removeListener(restore);
  // Later, it is the person who shows it.
  const timer = setTimeout(end, SHOWN_MS);
  try {
    return await run();
  } finally {
    clearTimeout(timer);
    end();
  }
}

/** A page that takes itself for seen runs again, and stays in the background. @param {number} tabId @returns {Promise<null>} */
async function thaw(tabId) {
  // Where the debugger cannot be attached, the action tells why.
  await attach(tabId, { setsAside: false }).then(() => emulateFocus(tabId)).catch(console.debug);
  return null;
}
