// @ts-check
// The dashboard: takes the token over, follows the daemon, and draws the list at most ten times a second.

import { CommandList, CommandStore } from './commands.js';
import { offerDenial } from './deny_site.js';
import { CommandDetail } from './detail.js';
import { DetailPanel } from './detail_panel.js';
import { DrawingsPanel } from './drawings.js';
import { EntryDetail } from './entry_detail.js';
import { save } from './export.js';
import { Feed } from './feed.js';
import { MeasuresPanel } from './measures.js';
import { drawCommands, drawState } from './panels.js';
import { byId, offerChoice, say } from './parts.js';
import { offerPictures } from './picture_acts.js';
import { EntryList, EntryStore, TabNames } from './recordings.js';
import { drawStop, offerStop } from './stop_all.js';

const [DRAW_MS, NUMBERS_MS] = [100, 500];
const TOKEN = 'tabwire-token';

/** It is in the page that answers the code, and after that in this tab's memory only. */
function takeToken() {
  const meta = document.querySelector(`meta[name="${TOKEN}"]`);
  const given = meta?.getAttribute('content') ?? '';
  meta?.remove();
  // The entry of the history forgets the code, and a reload asks for the page without it.
  history.replaceState(null, '', '/dashboard');
  if (given !== '') sessionStorage.setItem(TOKEN, given);
  return sessionStorage.getItem(TOKEN) ?? '';
}

/** @param {string} title @param {string} text */
function showGate(title, text) {
  sessionStorage.removeItem(TOKEN);
  say(byId('gate-title'), title);
  say(byId('gate-text'), text);
  byId('gate').hidden = false;
  byId('board').hidden = true;
  showLink('ended');
}

/** @param {'live' | 'connecting' | 'ended'} state */
function showLink(state) {
  const words = { live: 'Live', connecting: 'Connecting', ended: 'Not connected' };
  byId('link').dataset.state = state;
  say(byId('link'), words[state]);
}

/** At most ten times a second, and the numbers twice. @param {() => boolean} isDue @param {(withNumbers: boolean) => void} draw */
function drawWhile(isDue, draw) {
  let [drawnAt, numbersAt] = [0, 0];
  const frame = (/** @type {number} */ now) => {
    requestAnimationFrame(frame);
    if (now - drawnAt < DRAW_MS || !isDue()) return;
    drawnAt = now;
    const withNumbers = now - numbersAt >= NUMBERS_MS;
    if (withNumbers) numbersAt = now;
    draw(withNumbers);
  };
  requestAnimationFrame(frame);
}

/** @param {string} token */
function follow(token) {
  const store = new CommandStore();
  const list = new CommandList(store);
  const [panel, measures] = [new DetailPanel(), new MeasuresPanel()];
  const detail = new CommandDetail(panel, token);
  const drawings = new DrawingsPanel(panel, token);
  const [entries, tabs] = [new EntryStore(), new TabNames()];
  const recordings = new EntryList(entries, tabs);
  const entryDetail = new EntryDetail(panel, token, tabs);
  let [isStale, isRecordings] = [true, false];
  /** The new command of a retry, until the stream brings it. */
  let awaited = '';
  offerStop(token);
  const drawPictures = offerPictures(token);
  offerDenial(token, () => tabs.sites);
  list.onOpen = (row) => { detail.show(row); };
  recordings.onOpen = (row) => { entryDetail.show(row); };
  panel.onClose = () => (isRecordings ? recordings : list).close();
  detail.onRetried = (id) => { awaited = id; };
  const take = (/** @type {any} */ event) => {
    if (event.commands) {
      store.take(event.commands);
      list.handleChange();
    }
    if (event.entries) {
      entries.take(event.entries);
      recordings.handleDropped(event.dropped);
      recordings.handleChange();
    }
    if (event.state) {
      drawState(event.state, token);
      tabs.take(event.state.browsers);
      measures.draw(event.state.daemon);
      drawPictures(event.state.daemon.pictures_acts);
      drawings.take(event.state.drawings_changed_at);
    }
    isStale = true;
  };
  const feed = new Feed(token, take, (state) => {
    showLink(state);
    if (state === 'ended') showGate('This page has ended', 'The daemon that it belonged to does not know it any more. Open a new one from a terminal:');
  });
  for (const button of byId('save').children) button.addEventListener('click', () => save(button.dataset.save, list.shown, byId('daemon').textContent));
  offerChoice('views', ({ view }) => {
    isRecordings = view === 'recordings';
    byId('commands').hidden = isRecordings;
    byId('recordings').hidden = !isRecordings;
    feed.followEntries(isRecordings);
    isStale = true;
  });
  const openCommand = (/** @type {string} */ id) => {
    byId('show-commands').click();
    list.open(id);
  };
  byId('board').hidden = false;
  feed.run();
  // Running bars grow, so the list is drawn while there is one.
  const isDue = () => isStale || store.open.size > 0;
  drawWhile(isDue, (withNumbers) => {
    isStale = false;
    (isRecordings ? recordings : list).draw();
    if (withNumbers) {
      drawCommands(store, openCommand);
      drawings.draw(store);
      drawStop(store);
      if (isRecordings) recordings.drawTools();
    }
    if (awaited !== '' && store.get(awaited)) {
      openCommand(awaited);
      awaited = '';
    }
    if (panel.shown !== '') detail.update(store.get(panel.shown));
  });
  setInterval(() => { isStale = true; }, 1_000);
}

const token = takeToken();
if (token === '') showGate('Open this page from a terminal', 'It shows your agents, their tabs and their commands live. A link opens it once, within 30 seconds:');
else follow(token);
