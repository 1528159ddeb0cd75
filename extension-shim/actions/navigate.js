// @ts-check
// Takes a tab to a URL and waits until it has loaded.

/** @import {Context, Dialog, Outcome} from '../protocol.js' */
/** @import {Watcher} from '../debugger.js' */

import { withDialogs } from '../debugger.js';
import { ActionError, messageOf } from '../errors.js';
import { originOf } from '../pages.js';
import { navigations, tabs } from '../state.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function navigate({ url }, { tab_id, signal }) {
  const wanted = await checkedUrl(url);
  const { id } = await tabs.target(tab_id);
  /** @type {Watcher} */
  const watcher = { dialogs: [], onDialog: (dialog) => stayed(id, dialog) };
  await withDialogs(id, watcher, () => load(id, wanted, signal));
  const tab = await tabs.fresh(id);
  const value = { url: tab.url ?? wanted, title: tab.title ?? '' };
  return { value, type: 'object', origin: originOf(value.url), dialogs: watcher.dialogs };
}

/** @param {number} tabId @param {string} url @param {AbortSignal} signal */
async function load(tabId, url, signal) {
  const loaded = navigations.follow(tabId, url, signal);
  try {
    await Promise.all([chrome.tabs.update(tabId, { url }), loaded]);
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

/** Scripts are for execute_js, where their failures show. @param {unknown} url */
async function checkedUrl(url) {
  if (typeof url !== 'string' || !URL.canParse(url)) {
    throw new ActionError('invalid_params', 'url must be absolute, such as https://example.com/');
  }
  const { protocol, href } = new URL(url);
  if (protocol === 'file:') await assertFilesAllowed();
  else if (!['http:', 'https:'].includes(protocol) && href !== 'about:blank') {
    throw new ActionError('invalid_params', `${protocol} URLs are not opened; use http, https, file or about:blank`);
  }
  return href;
}

async function assertFilesAllowed() {
  if (await chrome.extension.isAllowedFileSchemeAccess()) return;
  throw new ActionError('invalid_params',
    'file: URLs need "Allow access to file URLs" in the details of Tabwire on chrome://extensions');
}
