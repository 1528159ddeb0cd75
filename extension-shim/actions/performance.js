// @ts-check
// How a page loaded and what it costs, from what the browser has noted of it already.

/** @import {Context, Outcome} from '../protocol.js' */

import { cdp } from '../debugger.js';
import { lookAt, readIsolated } from '../isolated.js';
import { timingsSource } from '../page/timings.js';
import { originOf } from '../pages.js';
import { summarizeTimings } from '../timings.js';

/** @param {Record<string, any>} _ @param {Context} context @returns {Promise<Outcome>} */
export async function performance(_, context) {
  const { value, url, dialogs } = await lookAt(context, async ({ id }) => {
    const noted = await readIsolated(id, timingsSource());
    await cdp(id, 'Performance.enable');
    const { metrics } = await cdp(id, 'Performance.getMetrics');
    return summarizeTimings(noted, metrics);
  });
  return { value, type: 'object', origin: originOf(url), dialogs };
}
