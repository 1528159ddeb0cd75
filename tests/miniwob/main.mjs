// Solves the pages of MiniWoB++ through Tabwire: scripts look as they like and act through Tabwire's actions alone, in a tab in
// the background, or in front where things move; the page's own reward counts. `make miniwob` runs all pages; `make test` some, and holds the bounds.
//
//   --pages a,b     only these pages
//   --sample N      N pages of those that can be solved each time, drawn by the seed
//   --seed S        of the draw and of the episodes (default 1)
//   --episodes N    of each page (default 1)
//   --check         fails when a page is not solved or an answer or an act is beyond its bound
//   --verbose       one line an episode
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { shown } from '../../benches/peers/mcp_client.mjs';
import { startTabwire } from '../../benches/peers/servers.mjs';
import { BY_CHANCE, hasMotion, playEpisode, SCRIPTS, servePages, WITHOUT_REWARD } from './episodes.mjs';
import { Hands } from './hands.mjs';

/** @import {McpClient} from '../../benches/peers/mcp_client.mjs' */
/** @import {Episode} from './episodes.mjs' */
/** @import {Act} from './hands.mjs' */

const PAGES = fileURLToPath(new URL('../../target/miniwob/html', import.meta.url));
/** @type {Record<string, string>} */
const UNSURE = { ...WITHOUT_REWARD, ...BY_CHANCE };
/** Time is that of a loaded machine: ten times what an idle one may need. Bytes are means. */
const BOUNDS = { msMedian: 120, plainBytes: 80, meanBytes: 160, snapshotBytes: 40 };

/** A generator of numbers from 0 to 1 (mulberry32). @param {number} seed */
function numbersFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6D2B79F5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @param {string[]} all @param {number} count @param {number} seed */
function drawn(all, count, seed) {
  const random = numbersFrom(seed);
  return all.map((page) => ({ page, order: random() })).sort((one, other) => one.order - other.order)
    .slice(0, count).map(({ page }) => page).sort();
}

/** @param {number[]} values @param {number} part */
function quantile(values, part) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

/** @param {number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** @typedef {{bytes: number, elements: number}} SnapshotSize */
/** @typedef {Episode & {snapshot?: SnapshotSize}} PlayedEpisode */

/** @param {McpClient} client @param {number} tabId @returns {Promise<SnapshotSize>} */
async function measureSnapshot(client, tabId) {
  const bytes = Buffer.byteLength(shown(await client.call('snapshot', { tab_id: tabId })));
  const counted = await client.call('execute_js', { tab_id: tabId, script: 'document.body.querySelectorAll("*").length' });
  return { bytes, elements: Number(JSON.parse(shown(counted)).result) };
}

/** @param {McpClient} client @param {boolean} focus in front @returns {Promise<number>} */
async function openTab(client, focus) {
  return JSON.parse(shown(await client.call('tab_open', { url: 'about:blank', focus }))).result.tab_id;
}

/** @param {McpClient} client @param {number} tabId @param {string} url @param {string} page @param {number} seed @returns {Promise<PlayedEpisode>} */
async function visit(client, tabId, url, page, seed) {
  const hands = new Hands(client, tabId);
  try {
    await client.call('navigate', { tab_id: tabId, url });
    const episode = await playEpisode(hands, page, seed);
    return { ...episode, snapshot: await measureSnapshot(client, tabId) };
  } catch (error) {
    return { page, seed, solved: false, reward: null, ms: 0, acts: hands.acts, error: String(error) };
  }
}

/** @param {string[]} pages @param {{seed: number, episodes: number, verbose: boolean}} options @returns {Promise<PlayedEpisode[]>} */
async function playAll(pages, { seed, episodes, verbose }) {
  const folder = mkdtempSync(join(tmpdir(), 'tabwire-miniwob-'));
  const server = await servePages(PAGES);
  const { client, end } = await startTabwire(folder, ['--tools', 'split']);
  const played = [];
  try {
    const tabs = { behind: await openTab(client, false), front: await openTab(client, true) };
    for (let number = 0; number < episodes; number += 1) {
      for (const page of pages) {
        const place = hasMotion(page) ? 'front' : 'behind';
        const episode = await visit(client, tabs[place], server.url(page), page, seed + number);
        played.push(episode);
        if (verbose || !episode.solved) console.log(line(episode));
        // A page that was left in the middle may hold its tab.
        if (episode.error) tabs[place] = await openTab(client, place === 'front');
      }
    }
  } finally {
    server.end();
    await end();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
  return played;
}

/** @param {Episode} episode */
function line({ page, seed, solved, reward, ms, acts, error, task }) {
  const said = solved ? 'solved' : `NOT SOLVED (${UNSURE[page] ?? `${error ?? 'the reward'} after "${task}"`})`;
  return `${page} seed ${seed}: ${said}, reward ${reward}, ${acts.length} acts in ${Math.round(ms)} ms`;
}

/** @param {string} name @param {Act[]} acts */
function row(name, acts) {
  const ms = acts.map((act) => act.ms);
  const bytes = acts.map((act) => act.bytes);
  const plain = acts.filter((act) => act.plain).map((act) => act.bytes);
  const cells = [name, acts.length, quantile(ms, 0.5).toFixed(1), quantile(ms, 0.95).toFixed(1), Math.round(mean(bytes)), Math.round(mean(plain))];
  return `| ${cells.join(' | ')} |`;
}

/** @param {PlayedEpisode[]} played */
function report(played) {
  const acts = played.flatMap((episode) => episode.acts);
  const tools = [...new Set(acts.map(({ tool }) => tool))];
  const pages = new Set(played.map(({ page }) => page));
  const unsolved = new Set(played.filter(({ solved }) => !solved).map(({ page }) => page));
  console.log(`solved: ${played.filter(({ solved }) => solved).length} of ${played.length} episodes, ${pages.size - unsolved.size} of ${pages.size} pages with every seed`);
  console.log('| act | number | ms p50 | ms p95 | bytes of an answer | where nothing else happened |\n|---|---:|---:|---:|---:|---:|');
  console.log([row('all', acts), ...tools.map((tool) => row(tool, acts.filter((act) => act.tool === tool)))].join('\n'));
  const snapshots = snapshotsOf(played);
  console.log(`a snapshot: ${Math.round(mean(snapshots.map(({ bytes }) => bytes)))} bytes, ${perElement(snapshots).toFixed(1)} an element`);
}

/** @param {PlayedEpisode[]} played */
function snapshotsOf(played) {
  return played.flatMap(({ snapshot }) => snapshot ?? []);
}

/** @param {SnapshotSize[]} snapshots */
function perElement(snapshots) {
  return mean(snapshots.map(({ bytes }) => bytes)) / mean(snapshots.map(({ elements }) => elements));
}

/** @param {PlayedEpisode[]} played @returns {string[]} */
function complaints(played) {
  const acts = played.flatMap((episode) => episode.acts);
  const msMedian = quantile(acts.map(({ ms }) => ms), 0.5);
  const meanBytes = mean(acts.map(({ bytes }) => bytes));
  const plainBytes = mean(acts.filter(({ plain }) => plain).map(({ bytes }) => bytes));
  const snapshotBytes = perElement(snapshotsOf(played));
  return [
    ...played.filter(({ solved, page }) => !solved && !(page in UNSURE)).map(line),
    ...(msMedian > BOUNDS.msMedian ? [`an act took ${msMedian.toFixed(1)} ms at the median, more than ${BOUNDS.msMedian}`] : []),
    ...(meanBytes > BOUNDS.meanBytes ? [`an answer had ${Math.round(meanBytes)} bytes, more than ${BOUNDS.meanBytes}`] : []),
    ...(plainBytes > BOUNDS.plainBytes ? [`an answer had ${Math.round(plainBytes)} bytes where nothing but the act happened, more than ${BOUNDS.plainBytes}`] : []),
    ...(snapshotBytes > BOUNDS.snapshotBytes ? [`a snapshot had ${snapshotBytes.toFixed(1)} bytes an element, more than ${BOUNDS.snapshotBytes}`] : []),
  ];
}

const { values } = parseArgs({ options: {
  pages: { type: 'string' }, sample: { type: 'string' }, seed: { type: 'string', default: '1' }, episodes: { type: 'string', default: '1' },
  check: { type: 'boolean', default: false }, verbose: { type: 'boolean', default: false },
} });
const seed = Number(values.seed);
const sure = Object.keys(SCRIPTS).filter((page) => !(page in UNSURE)).sort();
const pages = values.pages?.split(',') ?? (values.sample ? drawn(sure, Number(values.sample), seed) : Object.keys(SCRIPTS).sort());
const played = await playAll(pages, { seed, episodes: Number(values.episodes), verbose: values.verbose });
report(played);
const found = values.check ? complaints(played) : [];
for (const complaint of found) console.error(complaint);
if (found.length > 0) process.exitCode = 1;
