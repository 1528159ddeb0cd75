// @ts-check
// The page that a person draws in: loads the picture, and receives the worker's notices.

/** @import {DrawNotice} from '../draw_tab.js' */
/** @import {DrawRequest} from './waits.js' */

import { drawnTab } from '../../policy/pages.js';
import { keepWork, keptPicture, keptWork } from '../drafts.js';
import { DrawingEditor } from './drawing_editor.js';
import { DRAW_GRACE_MS, DrawGrace } from './grace.js';
import { DrawSender } from './sender.js';
import { DrawStage } from './stage.js';
import { drawElement } from './toolbar.js';

const tabId = /** @type {number} */ (drawnTab({ url: location.href }));
const grace = new DrawGrace(performance.now());
/** @type {DrawingEditor | null} */
let editor = null;

for (const name of ['keydown', 'pointerdown', 'mousedown', 'click']) {
  addEventListener(name, (event) => {
    if (editor && grace.takes(performance.now())) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, { capture: true });
}

chrome.runtime.onMessage.addListener((/** @type {DrawNotice} */ notice, sender, answer) => {
  // Messages of other pages of the extension are for the worker, which gets them as well.
  if (typeof notice?.drawing !== 'string' || sender.tab !== undefined) return false;
  if (notice.drawing === 'asked') editor?.add(notice.ask);
  else if (notice.drawing === 'over') editor?.withdraw(notice.correlation_ids);
  answer(editor !== null);
  return false;
});

async function start() {
  const [picture, work] = await Promise.all([keptPicture(tabId), keptWork(tabId)]);
  if (!picture) return showNothing();
  const stage = await DrawStage.of(picture);
  const worker = (/** @type {object} */ ask) => chrome.runtime.sendMessage(ask);
  const drawing = await new DrawSender(worker, () => {}).ask({ draw: 'load' });
  if (drawing.error) return showNothing();
  editor = new DrawingEditor(worker, stage, { work, keep: (now) => keepWork(tabId, now), page: drawing });
  if (drawing.is_persons) editor.add({});
  for (const ask of /** @type {DrawRequest[]} */ (drawing.asks)) editor.add(ask);
  editor.open();
  editor.withdraw(drawing.over);
  return void setTimeout(() => { document.body.ariaBusy = 'false'; }, DRAW_GRACE_MS);
}

/** The tab was opened by hand, or came back with a browser that was started anew. */
function showNothing() {
  drawElement('why').textContent = 'There is nothing to draw on here';
  drawElement('help').textContent = 'Close this tab, open the page and choose “Draw on this page” in the Tabwire popup.';
  for (const part of document.querySelectorAll('main, footer > :not(.words), #message')) part.remove();
}

start().catch((error) => {
  console.warn('tabwire: a drawing could not be opened', error);
  showNothing();
});
