// @ts-check
// How a page loaded and what it costs, from the timings that the browser keeps anyway.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { readIsolated } from '../analysis/isolated.js';
import { summarizeTimings } from '../analysis/timings.js';
import { lookAtPage } from '../browser/attached_page.js';
import { cdp } from '../browser/debugger.js';
import { timingsSource } from '../injected/timings.js';
import { originOf } from '../policy/pages.js';

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function performance(_, context) {
  const { value, url, dialogs } = await lookAtPage(context, async (id) => {
    const noted = await readIsolated(id, timingsSource());
    await cdp(id, 'Performance.enable');
    const { metrics } = await cdp(id, 'Performance.getMetrics');
    return summarizeTimings(noted, metrics);
  });
  return { value, type: 'object', origin: originOf(url), dialogs };
}
