// @ts-check
// Facts about a page that need no debugger: none is attached for this.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { cdp, findCrash, isAttached } from '../browser/debugger.js';
import { PAGE_PROBE_MS } from '../browser/limits.js';
import { pdfNote } from '../browser/pdf_page.js';
import { withOwner } from '../browser/site_guard.js';
import { policy, tabs } from '../browser/state.js';
import { isFrozen } from '../browser/tabs.js';
import { crashedTab } from '../lib/errors.js';
import { within } from '../lib/within.js';
import { assertReachable, originOf } from '../policy/pages.js';

const PROBE = `({ready_state: document.readyState,
  viewport: {width: innerWidth, height: innerHeight, device_pixel_ratio: devicePixelRatio}})`;

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function page_info(_, { tab_id, begin }) {
  begin();
  const tab = await tabs.fresh(tab_id);
  assertReachable(tab);
  if (await findCrash(tab)) throw crashedTab(tab.id);
  await policy.admitTab(await withOwner(tab));
  policy.far.assert(tab.id, tab.url ?? '');
  const { id, url = '', title = '', status = 'unloaded', width, height } = tab;
  const viewport = width && height ? { viewport: { width, height } } : {};
  const asleep = { ...(tab.discarded && { discarded: true }), ...(isFrozen(tab) && { frozen: true }) };
  const isAwake = status !== 'unloaded' && !tab.discarded && !isFrozen(tab);
  const [seen, shown] = await Promise.all([probe(id), isAwake ? within(PAGE_PROBE_MS, pdfNote(id)).catch(() => ({})) : {}]);
  const value = { tab_id: id, url, title, status, ...asleep, ...viewport, ...seen, ...shown };
  return { value, type: 'object', origin: originOf(url) };
}

/** Facts that only the page knows, if the debugger is attached already and the page answers. @param {number} tabId @returns {Promise<object>} */
async function probe(tabId) {
  if (!isAttached(tabId)) return {};
  const evaluation = cdp(tabId, 'Runtime.evaluate', { expression: PROBE, returnByValue: true, timeout: PAGE_PROBE_MS });
  const answer = evaluation.then(({ result }) => result.value ?? {}, () => ({}));
  const tooLate = new Promise((resolve) => { setTimeout(resolve, PAGE_PROBE_MS, {}); });
  return Promise.race([answer, tooLate]);
}
