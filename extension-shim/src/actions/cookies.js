// @ts-check
// The names of the cookies that the page's site gets, those that no script can see among them, and none of their values.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { lookAtPage } from '../browser/attached_page.js';
import { cdp } from '../browser/debugger.js';
import { assertPage } from '../browser/site_guard.js';
import { originOf } from '../policy/pages.js';
import { COOKIES_MAX } from './limits.js';

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function cookies(_, context) {
  const { value, url, dialogs } = await lookAtPage(context, async (tabId) => {
    // Of the page's own address alone: frames in it may be of closed sites.
    const { cookies: found } = await cdp(tabId, 'Network.getCookies', { urls: [await assertPage(tabId)] });
    const leftOut = found.length - COOKIES_MAX;
    return { cookies: found.slice(0, COOKIES_MAX).map(described), ...(leftOut > 0 && { left_out: leftOut }) };
  });
  return { value, type: 'object', origin: originOf(url), dialogs };
}

/** Without its value. @param {any} cookie as the protocol has it */
export function described({ name, domain, path, expires, httpOnly, secure, sameSite }) {
  return {
    name, domain, ...(path !== '/' && { path }),  ...(expires > 0 && { expires: new Date(expires * 1_000).toISOString() }), ...(httpOnly && { http_only: true }), ...(secure && { secure: true }),
    ...(sameSite && { same_site: sameSite.toLowerCase() }),
  };
}
