// @ts-check
// Shows the person an element by a frame around it.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { lookAtPage } from '../browser/attached_page.js';
import { withFocus } from '../browser/debugger.js';
import { handedElement } from '../browser/handed_element.js';
import { highlights } from '../browser/highlights.js';
import { judgedAddress } from '../browser/page_world.js';
import { parseTarget } from '../browser/target_query.js';
import { waitForTarget } from '../browser/targets.js';
import { worldContexts } from '../browser/world_contexts.js';
import { checkedInteger } from '../commands/params.js';
import { patienceOf } from '../input/session.js';
import { originOf } from '../policy/pages.js';
import { HIGHLIGHT_MS, HIGHLIGHT_USUAL_MS } from './limits.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function highlight({ target, duration_ms = HIGHLIGHT_USUAL_MS }, context) {
  const ms = checkedInteger('duration_ms', duration_ms, HIGHLIGHT_MS);
  const wanted = target === undefined ? null : parseTarget(target);
  const { value, url, dialogs } = await lookAtPage(context, async (tabId) => {
    if (!wanted) return { ended: await highlights.end(tabId) };
    const found = await withFocus(tabId, () => waitForTarget({ tabId, signal: context.signal }, wanted, { kind: 'view', timeoutMs: patienceOf(context) }));
    context.admitAct(judgedAddress(found.document));
    context.begin();
    await worldContexts.during(tabId, async () => {
      const handed = await handedElement(found);
      const isFollowed = handed.context.sessionId === undefined;
      await highlights.show(tabId, isFollowed ? { objectId: handed.objectId } : { box: found.box }, ms);
    });
    return { highlighted: found.label, duration_ms: ms };
  });
  return { value, type: 'object', origin: originOf(url), dialogs };
}
