// The pages of MiniWoB++ on the loopback, and one episode of one of them: seeded, played, and judged by the page's own reward.
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import choosing from './pages/choosing.mjs';
import clicking from './pages/clicking.mjs';
import dragging from './pages/dragging.mjs';
import moving from './pages/moving.mjs';
import pointing from './pages/pointing.mjs';
import sites from './pages/sites.mjs';
import typing from './pages/typing.mjs';

/** @import {Act, Hands} from './hands.mjs' */
/** @typedef {{page: string, seed: number, solved: boolean, reward: number | null, ms: number, acts: Act[], error?: string, task?: string}} Episode */

/** @type {Record<string, (hands: Hands) => Promise<unknown>>} */
export const SCRIPTS = { ...clicking, ...typing, ...choosing, ...dragging, ...pointing, ...sites, ...moving };

/** Pages that give no positive reward to anybody, and why. */
export const WITHOUT_REWARD = { 'hover-shape': 'its code for the reward is a comment, and the end of its time counts as -1' };

/** Pages that nobody can solve each time, and why. */
export const BY_CHANCE = { 'tic-tac-toe': 'its opponent moves at random: the best play wins 85 of 100 games' };

/** Where things move the page has to be seen: one in the background may draw a picture a second. @param {string} page */
export const hasMotion = (page) => page in moving || page === FLYING;
/** Its slices fly to their places. */
const FLYING = 'click-pie';

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.png': 'image/png', '.gif': 'image/gif' };

/** @param {string} folder @returns {Promise<{url: (page: string) => string, end: () => void}>} */
export async function servePages(folder) {
  const server = createServer(({ url = '' }, response) => {
    const path = join(folder, normalize(new URL(url, 'http://pages').pathname));
    const type = TYPES[extname(path)];
    if (type === undefined || !existsSync(path)) return response.writeHead(404).end();
    return response.writeHead(200, { 'content-type': type }).end(readFileSync(path));
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(null)); });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const end = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: (page) => `http://127.0.0.1:${port}/miniwob/${page}.html`, end };
}

/** The tab shows the page. @param {Hands} hands @param {string} page @param {number} seed @returns {Promise<Episode>} */
export async function playEpisode(hands, page, seed) {
  const task = await hands.until((eyes, chosen) => {
    if (document.readyState !== 'complete') return undefined;
    Math.seedrandom(String(chosen));
    core.startEpisodeReal();
    return eyes.text('#query');
  }, seed);
  const began = performance.now();
  const error = await SCRIPTS[page](hands).then(() => undefined, (failure) => failure);
  const ms = performance.now() - began;
  const reward = await hands.look(async () => {
    // Some pages judge a moment after the last act.
    for (let waited = 0; waited < 10 && !WOB_DONE_GLOBAL; waited += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
    return WOB_DONE_GLOBAL ? WOB_RAW_REWARD_GLOBAL : null;
  });
  return { page, seed, solved: reward > 0, reward, ms, acts: hands.acts, error: error && String(error.message ?? error), task };
}
