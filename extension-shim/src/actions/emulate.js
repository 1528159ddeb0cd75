// @ts-check
// Emulates a device, a place or a network in a tab, until its client puts it back or ends.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { lookAtPage } from '../browser/attached_page.js';
import { checkedEmulation, EMULATION_FORMS } from '../browser/emulation.js';
import { pageStates } from '../browser/state.js';
import { checkedFlag } from '../commands/params.js';
import { originOf } from '../policy/pages.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function emulate({ reset, ...params }, context) {
  const isReset = checkedFlag('reset', reset);
  const asked = checkedEmulation(params);
  const { value, url, dialogs } = await lookAtPage(context, async (tabId) => {
    const before = pageStates.emulationOf(tabId, context);
    if (isReset || Object.keys(asked).length > 0) await pageStates.emulate(tabId, context, { ...(isReset ? {} : before), ...asked });
    const emulated = pageStates.emulationOf(tabId, context);
    return { emulated, ...(Object.keys(emulated).length === 0 && !isReset && { can_be: EMULATION_FORMS }) };
  });
  return { value, type: 'object', origin: originOf(url), dialogs };
}
