// Tabwire beside other MCP servers for browsers and beside the bare protocol, all in one run: `make bench-peers`. Each server has a
// browser of its own, visits the same pages, is asked for the same content, acts in the same way and gets the same tasks.
//
//   --quick     fewer rounds
//   --show      prints each answer, too
//   --json      one line of JSON with all figures, after the tables
//   --write     writes figures.json and the tables of docs/performance.md; tests hold Tabwire's answers to them
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { besideProtocol, BROWSER_STEPS } from './beside_protocol.mjs';
import { browserVersion } from './browser.mjs';
import { missedBounds, tablesOf, withTables } from './figures.mjs';
import { measure } from './measure.mjs';
import { servePages } from './page_server.mjs';
import { leftBehind, peers, tabwire } from './servers.mjs';
import { TASKS } from './tasks.mjs';

/** @import {Figures} from './figures.mjs' */
/** @import {Step} from './measure.mjs' */

const FIGURES = new URL('figures.json', import.meta.url);
const DOCS = new URL('../../docs/performance.md', import.meta.url);
/** @type {Step[]} */
const STEPS = JSON.parse(readFileSync(new URL('steps.json', import.meta.url), 'utf8'));

const { values: options } = parseArgs({ options: {
  quick: { type: 'boolean', default: false }, show: { type: 'boolean', default: false }, json: { type: 'boolean', default: false },
  write: { type: 'boolean', default: false },
} });
const { show } = options;
const rounds = options.quick ? 5 : 10;
const pages = await servePages();
/** @type {Figures} */
const figures = {
  measured: { command: 'make bench-peers', browser: browserVersion(), node: process.versions.node, processors: availableParallelism() },
  servers: [], protocol: {},
};
try {
  figures.protocol = await besideProtocol(pages, { rounds, show });
  for (const server of [tabwire(), ...peers()]) figures.servers.push(await measure(server, STEPS, { url: pages.url, rounds, show }));
} finally {
  pages.end();
}
const tables = tablesOf(STEPS, BROWSER_STEPS, TASKS, figures);
console.log(Object.values(tables).join('\n\n'));
if (options.json) console.log(JSON.stringify(figures));
if (options.write) {
  writeFileSync(FIGURES, `${JSON.stringify(figures, null, 2)}\n`);
  writeFileSync(DOCS, withTables(readFileSync(DOCS, 'utf8'), tables));
}
const missed = [...missedBounds(STEPS, TASKS, figures), ...leftBehind()];
for (const one of missed) console.error(one);
if (missed.length > 0) process.exitCode = 1;
