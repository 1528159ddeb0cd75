// @ts-check
// Sets what the page's site may use in the browser, until its client ends it or ends itself, or the tab leaves the site.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { lookAtPage } from '../browser/attached_page.js';
import { mainFrame } from '../browser/site_guard.js';
import { checkedPermissions, PERMISSION_FORMS } from '../browser/site_settings.js';
import { pageStates } from '../browser/state.js';
import { checkedFlag } from '../commands/params.js';
import { originOf } from '../policy/pages.js';
import { siteName } from '../policy/sites.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function set_permissions({ permissions, reset }, context) {
  const isReset = checkedFlag('reset', reset);
  const asked = permissions === undefined ? {} : checkedPermissions(permissions);
  const isSet = Object.keys(asked).length > 0;
  const { value, url, dialogs } = await lookAtPage(context, async (tabId) => {
    // Throws if another client has changed the tab.
    const before = pageStates.permissionsOf(tabId, context);
    if (isSet || isReset) await pageStates.setPermissions(tabId, context, { ...(isReset ? {} : before), ...asked }, isSet ? await statedSite(tabId, context) : null);
    return { permissions: pageStates.permissionsOf(tabId, context), ...(!isSet && !isReset && { can_be: PERMISSION_FORMS }) };
  });
  return { value, type: 'object', origin: originOf(url), dialogs };
}

/** The site that is there now, if the person lets the client set its permissions. @param {number} tabId @param {Context} context */
async function statedSite(tabId, context) {
  const { url } = await mainFrame(tabId);
  context.admitAct(url);
  return siteName(url);
}
