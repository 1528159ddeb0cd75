// @ts-check
// The dashboard: takes the token over, follows the daemon, and draws the list at most ten times a second.

import { CommandList, CommandStore } from './commands.js';
import { CommandDetail } from './detail.js';
import { save } from './export.js';
import { Feed } from './feed.js';
import { MeasuresPanel } from './measures.js';
import { drawCommands, drawState } from './panels.js';
import { byId, say } from './parts.js';
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

/** @param {string} token */
function follow(token) {
  const store = new CommandStore();
  const list = new CommandList(store);
  const detail = new CommandDetail(token);
  const measures = new MeasuresPanel();
  let isStale = true;
  let [drawnAt, numbersAt] = [0, 0];
  /** The new command of a retry, until the stream brings it. */
  let awaited = '';
  offerStop(token);
  list.onOpen = (row) => { detail.show(row); };
  detail.onClose = () => list.close();
  detail.onRetried = (id) => { awaited = id; };
  const take = (/** @type {any} */ event) => {
    if (event.commands) store.take(event.commands);
    if (event.state) {
      drawState(event.state, token);
      measures.draw(event.state.daemon);
    }
    list.handleChange();
    isStale = true;
  };
  const feed = new Feed(token, take, (state) => {
    showLink(state);
    if (state === 'ended') showGate('This page has ended', 'The daemon that it belonged to does not know it any more. Open a new one from a terminal:');
  });
  for (const button of byId('save').children) button.addEventListener('click', () => save(button.dataset.save, list.shown, byId('daemon').textContent));
  byId('board').hidden = false;
  feed.run();
  const frame = (/** @type {number} */ now) => {
    requestAnimationFrame(frame);
    // Running bars grow, so the list is drawn while there is one.
    const isRunning = store.all.slice(-200).some(({ to }) => to === undefined);
    if (now - drawnAt < DRAW_MS || !(isStale || isRunning)) return;
    drawnAt = now;
    isStale = false;
    list.draw();
    if (now - numbersAt >= NUMBERS_MS) {
      numbersAt = now;
      drawCommands(store, (id) => list.open(id));
      drawStop(store);
    }
    if (awaited !== '' && store.get(awaited)) {
      list.open(awaited);
      awaited = '';
    }
    if (detail.shown !== '') detail.update(store.get(detail.shown));
  };
  requestAnimationFrame(frame);
  setInterval(() => { isStale = true; }, 1_000);
}

const token = takeToken();
if (token === '') showGate('Open this page from a terminal', 'It shows your agents, their tabs and their commands live. A link opens it once, within 30 seconds:');
else follow(token);
