// @ts-check
// The tab of an act as it looks before and after it, for the person who has switched this on in the dashboard. An act
// never fails for the lack of a picture, and is not held up for long.

import { pause } from '../lib/pause.js';
import { captureTab } from './capture_tab.js';
import { attach } from './debugger.js';
import { ACT_PICTURE_MS, ACT_PICTURE_SIDE } from './limits.js';

const VIEW = { fullPage: false, maxSide: ACT_PICTURE_SIDE };

/**
 * @param {number} tabId @param {AbortSignal} signal nobody waits for the act any more
 * @returns {Promise<string | null>} a JPEG in base64; null: there is none, since the page is closed to agents, paints nothing, or is not there
 */
export async function actPicture(tabId, signal) {
  const own = new AbortController();
  const all = AbortSignal.any([signal, own.signal]);
  const taken = attach(tabId).then(() => captureTab(tabId, 'jpeg', VIEW, all)).then(({ data }) => data || null);
  try {
    return await Promise.race([taken, pause(ACT_PICTURE_MS, all).then(() => null)]);
  } catch (error) {
    console.debug('tabwire: no picture of an act', error);
    return null;
  } finally {
    own.abort();
    taken.catch(console.debug);
  }
}
