// @ts-check
// Takes the pictures of the pages that agents ask about, for the person alone.

/** @import {OpenAsk} from '../../types/protocol.js' */
/** @import {AskPicture} from './kept_pictures.js' */

import { captureTab } from '../browser/capture_tab.js';
import { attach, withDialogs } from '../browser/debugger.js';
import { withOwner } from '../browser/site_guard.js';
import { policy, tabs } from '../browser/state.js';
import { messageOf } from '../lib/errors.js';
import { within } from '../lib/within.js';
import { dropOtherAskPictures, keepAskPicture } from './kept_pictures.js';
import { ASK_PICTURE_MAX, ASK_PICTURE_MS, ASK_PICTURE_SIDE, ASK_PICTURES_MAX } from './limits.js';

export class AskPictures {
  /** One after another: each paints a tab. @type {Promise<void>} */
  #work = Promise.resolve();

  /** @param {OpenAsk[]} asks that are open now */
  follow(asks) {
    this.#work = this.#work.then(() => this.#follow(asks)).catch(console.warn);
  }

  /** @param {OpenAsk[]} asks */
  async #follow(asks) {
    const wanted = asks.filter(({ kind, tab_id }) => ['approve', 'consent'].includes(kind) && tab_id !== undefined).slice(0, ASK_PICTURES_MAX);
    const kept = await dropOtherAskPictures(wanted.map(({ correlation_id }) => correlation_id));
    for (const { correlation_id, tab_id } of wanted) {
      if (!kept.includes(correlation_id)) await keepAskPicture(correlation_id, await pictureFor(/** @type {number} */ (tab_id)));
    }
  }
}

/** @param {number} tabId @returns {Promise<AskPicture>} */
async function pictureFor(tabId) {
  try {
    await policy.restore();
    await policy.admitTab(await withOwner(await tabs.fresh(tabId)));
    await attach(tabId);
    const picture = await within(ASK_PICTURE_MS, withDialogs(tabId, { dialogs: [] }, () => capture(tabId)));
    if (picture.length > ASK_PICTURE_MAX) throw new Error('it is too large');
    return { picture };
  } catch (error) {
    return { trouble: `There is no picture of the page (${messageOf(error)})` };
  }
}

/** @param {number} tabId @returns {Promise<string>} */
async function capture(tabId) {
  const { data } = await captureTab(tabId, 'jpeg', { fullPage: false, maxSide: ASK_PICTURE_SIDE }, AbortSignal.timeout(ASK_PICTURE_MS));
  if (data === '') throw new Error('the page paints nothing');
  return `data:image/jpeg;base64,${data}`;
}
