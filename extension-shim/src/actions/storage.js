// @ts-check
// Values that a page keeps in the browser. Each use has the person's word for the client and the page's site.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { lookAtPage } from '../browser/attached_page.js';
import { cdp } from '../browser/debugger.js';
import { assertPage, documentNow } from '../browser/site_guard.js';
import { tabs } from '../browser/state.js';
import { checkedChoice, checkedText } from '../commands/params.js';
import { useStoredValues } from '../injected/stored_values.js';
import { ActionError, navigationInterrupted } from '../lib/errors.js';
import { assertReachable, originOf } from '../policy/pages.js';
import { described } from './cookies.js';
import { COOKIES_MAX, STORED_CHARS, STORED_ENTRIES, STORED_NAME_MAX, STORED_VALUE_MAX } from './limits.js';

/** @typedef {{area: 'cookies' | 'local' | 'session' | 'indexed_db', operation: 'get' | 'set' | 'delete', name?: string, value?: string}} StorageUse */

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function storage(params, context) {
  const use = checkedUse(params);
  return use.area === 'cookies' ? useCookies(use, context) : useDocument({ ...use, area: use.area }, context);
}

/** @param {Record<string, any>} params @returns {StorageUse} */
export function checkedUse({ area, operation, name, value }) {
  const where = checkedChoice('area', area, /** @type {const} */ (['cookies', 'local', 'session', 'indexed_db']));
  const does = checkedChoice('operation', operation, /** @type {const} */ (['get', 'set', 'delete']));
  if (where === 'indexed_db' && does !== 'get') throw wrong('indexed_db is read only: operation must be get');
  if (name !== undefined && checkedText('name', name).length > STORED_NAME_MAX) throw wrong(`name has ${name.length} characters; at most ${STORED_NAME_MAX} are taken`);
  if (does !== 'get' && name === undefined) throw wrong(`name must say which value to ${does}`);
  if (does === 'set' && (typeof value !== 'string' || value.length > STORED_VALUE_MAX)) throw wrong(`value must be a text of at most ${STORED_VALUE_MAX} characters`);
  if (does !== 'set' && value !== undefined) throw wrong('value is for operation set');
  return { area: where, operation: does, name, value };
}

/** @param {StorageUse} use @param {Context} context @returns {Promise<Outcome>} */
async function useCookies({ operation, name, value: wanted = '' }, context) {
  const { value, url, dialogs } = await lookAtPage(context, async (tabId) => {
    const page = await assertPage(tabId);
    context.admitAct(page);
    const { cookies } = await cdp(tabId, 'Network.getCookies', { urls: [page] });
    const found = cookies.filter((/** @type {any} */ one) => name === undefined || one.name === name);
    if (operation === 'set') return setCookie(tabId, page, { name, value: wanted }, found[0]);
    if (operation === 'get') return { cookies: found.slice(0, COOKIES_MAX).map((/** @type {any} */ one) => ({ ...described(one), value: one.value })), ...(found.length > COOKIES_MAX && { left_out: found.length - COOKIES_MAX }) };
    for (const { domain, path, partitionKey } of found) await cdp(tabId, 'Network.deleteCookies', { name, domain, path, ...(partitionKey && { partitionKey }) });
    return { deleted: found.length };
  });
  return { value, type: 'object', origin: originOf(url), dialogs };
}

/**
 * One that is there keeps all but its value; a new one is this host's, until the browser ends.
 * @param {number} tabId @param {string} url of the page @param {{name?: string, value: string}} cookie @param {any} known the one that is there
 */
async function setCookie(tabId, url, cookie, known) {
  const { domain = '', path = '/', secure = url.startsWith('https:'), httpOnly = false, sameSite, expires = -1, partitionKey } = known ?? { sameSite: 'Lax' };
  const kept = { url, path, secure, httpOnly, ...(domain.startsWith('.') && { domain }), ...(sameSite && { sameSite }), ...(expires > 0 && { expires }), ...(partitionKey && { partitionKey }) };
  const { success } = await cdp(tabId, 'Network.setCookie', { ...cookie, ...kept });
  if (!success) throw new ActionError('invalid_params', `the browser takes no such cookie ${JSON.stringify(cookie.name)}`, undefined, { hint: 'Names have no space, comma or semicolon; values have no semicolon. Nothing is changed.' });
  return { set: cookie.name, is_new: known === undefined };
}

/** @param {StorageUse & {area: 'local' | 'session' | 'indexed_db'}} use @param {Context} context @returns {Promise<Outcome>} */
async function useDocument(use, context) {
  const tab = await tabs.target(context.tab_id);
  assertReachable(tab);
  // The script runs in the very document of which this is the address.
  const { url, target } = await documentNow(tab.id);
  context.admitAct(url);
  context.begin();
  const wish = { ...use, chars: STORED_CHARS, entries: STORED_ENTRIES };
  const [{ result } = { result: undefined }] = await chrome.scripting.executeScript({ target: /** @type {chrome.scripting.InjectionTarget} */ (target), func: useStoredValues, args: [wish] }).catch(() => []);
  if (result === undefined || result === null) throw navigationInterrupted();
  if ('error' in result) throw new ActionError('invalid_params', `the page's storage did not do it: ${result.error}`);
  return { value: result, type: 'object', origin: originOf(url) };
}

/** @param {string} message */
function wrong(message) {
  return new ActionError('invalid_params', message, undefined, { mayHaveRun: false });
}
