// @ts-check
// Asks the person to draw on a picture of a page. Done as soon as they can begin.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { tabs } from '../browser/state.js';
import { CLIENT_MAX } from '../commands/limits.js';
import { checkedFlag, checkedText, shownText } from '../commands/params.js';
import { drawMode } from '../draw/index.js';
import { DRAW_PROMPT_MAX } from '../draw/limits.js';
import { originOf } from '../policy/pages.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function draw_mode({ correlation_id, session, styles, prompt }, { tab_id, client = '', begin }) {
  const ask = {
    correlation_id: checkedText('correlation_id', correlation_id),
    ...(session !== undefined && { session: checkedText('session', session) }),
    styles: checkedFlag('styles', styles),
    client: shownText(client, CLIENT_MAX),
    ...(prompt !== undefined && { prompt: shownText(checkedText('prompt', prompt), DRAW_PROMPT_MAX) }),
  };
  const { was_open, url, title } = await drawMode.open(await tabs.fresh(tab_id), ask, begin);
  return { value: { open: true, was_open, url, title }, type: 'object', origin: originOf(url) };
}
