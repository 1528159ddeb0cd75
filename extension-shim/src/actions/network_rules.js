// @ts-check
// Rules for the requests of a tab's pages, until their client ends them or ends itself.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { lookAtPage } from '../browser/attached_page.js';
import { checkedRules } from '../browser/network_rules.js';
import { pageStates } from '../browser/state.js';
import { originOf } from '../policy/pages.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function network_rules({ rules }, context) {
  const wanted = rules === undefined ? null : checkedRules(rules);
  const { value, url, dialogs } = await lookAtPage(context, async (tabId) => {
    // Throws if another client has changed the tab.
    const now = pageStates.rulesOf(tabId, context);
    if (wanted) await pageStates.setRules(tabId, context, wanted);
    return { rules: (wanted ?? now).map((rule) => ({ url: rule.url, block: true, matched: rule.matched })) };
  });
  return { value, type: 'object', origin: originOf(url), dialogs };
}
