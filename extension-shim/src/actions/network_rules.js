// @ts-check
// Rules for the requests of a tab's pages, until their client ends them or ends itself.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {NetworkRule} from '../browser/network_rules.js' */

import { lookAtPage } from '../browser/attached_page.js';
import { checkedRules, isBlock } from '../browser/network_rules.js';
import { mainFrame } from '../browser/site_guard.js';
import { pageStates } from '../browser/state.js';
import { originOf } from '../policy/pages.js';
import { siteName } from '../policy/sites.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function network_rules({ rules }, context) {
  const wanted = rules === undefined ? null : checkedRules(rules);
  const { value, url, dialogs } = await lookAtPage(context, async (tabId) => {
    // Throws if another client has changed the tab.
    const now = pageStates.rulesOf(tabId, context);
    if (wanted) await pageStates.setRules(tabId, context, wanted, wanted.every(isBlock) ? null : await statedPage(tabId, context));
    return { rules: (wanted ?? now).map(told) };
  });
  return { value, type: 'object', origin: originOf(url), dialogs };
}

/** The page that is there now, if the person lets the client answer and change its requests. @param {number} tabId @param {Context} context */
async function statedPage(tabId, context) {
  const { id, url } = await mainFrame(tabId);
  context.admitAct(url);
  return { site: siteName(url), frameId: id };
}

/** Without the text of an answer, which the agent has. @param {NetworkRule} rule */
function told({ url, matched, deed }) {
  return { url, ...('answer' in deed ? { answer: { status: deed.answer.status, type: deed.answer.type } } : deed), matched };
}
