// How long acts take and how much their answers say, for Tabwire and for other MCP servers for browsers, each with a Chromium of
// its own on the same page: `make bench-peers`. Fails where Tabwire needs more than half the time of the fastest other.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shown } from './mcp_client.mjs';
import { servePage } from './page_server.mjs';
import { actingServers } from './servers.mjs';

/** @import {McpClient} from './mcp_client.mjs' */
/** @import {Server} from './servers.mjs' */
/** @typedef {{id: string, undo?: string, calls: Record<string, [string, object]>}} ActStep */
/** @typedef {{ms: number, bytes: number}} ActFigures of the median */

const ROUNDS = 8;
/** The first rounds of each act are not counted. */
const WARM_UP = 2;
/** Answers that are read for their content; the others are acts. */
const READINGS = ['snapshot'];

/** @type {ActStep[]} */
const STEPS = JSON.parse(readFileSync(new URL('acts.json', import.meta.url), 'utf8'));
/** @type {Record<string, (url: string) => [string, object]>} */
const OPEN = {
  tabwire: (url) => ['navigate', { url }],
  'chrome-devtools-mcp': (url) => ['navigate_page', { pageId: 1, type: 'url', url }],
  '@playwright/mcp': (url) => ['browser_navigate', { url }],
  'agent-browser': (url) => ['agent_browser_open', { url }],
};
/** @type {Record<string, (script: string) => [string, object]>} */
const EVALUATE = {
  tabwire: (script) => ['execute_js', { script }],
  'chrome-devtools-mcp': (script) => ['evaluate_script', { pageId: 1, function: `() => { ${script} }` }],
  '@playwright/mcp': (script) => ['browser_evaluate', { function: `() => { ${script} }` }],
  'agent-browser': (script) => ['agent_browser_eval', { script }],
};

/** @param {number[]} values */
function median(values) {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];
}

/** chrome-devtools-mcp names elements as its last snapshot does. @param {McpClient} client @param {object} args @returns {Promise<object>} */
async function withUids(client, args) {
  const text = JSON.stringify(args);
  if (!text.includes('uid"')) return { pageId: 1, ...args };
  const snapshot = shown(await client.call('take_snapshot', { pageId: 1 }));
  return { pageId: 1, ...JSON.parse(text, (key, value) => {
    if (!key.endsWith('uid')) return value;
    return snapshot.split('\n').find((line) => line.includes(value))?.match(/uid=(\S+)/)?.[1] ?? value;
  }) };
}

/** @param {Server} server @param {string} url @returns {Promise<Record<string, ActFigures>>} */
async function measure({ name, start }, url) {
  const folder = mkdtempSync(join(tmpdir(), 'tabwire-acts-'));
  /** @type {Record<string, ActFigures>} */
  const figures = {};
  try {
    const { client, end } = await start(folder);
    try {
      await client.call(...OPEN[name](url));
      for (const step of STEPS.filter(({ calls }) => name in calls)) {
        const [tool, plain] = step.calls[name];
        const args = name === 'chrome-devtools-mcp' ? await withUids(client, plain) : plain;
        figures[step.id] = await rounds(client, tool, args, step.undo && EVALUATE[name](step.undo));
      }
    } finally {
      await end();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
  return figures;
}

/** @param {McpClient} client @param {string} tool @param {object} args @param {[string, object] | undefined} undo @returns {Promise<ActFigures>} */
async function rounds(client, tool, args, undo) {
  const taken = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    if (undo) await client.call(...undo);
    const began = performance.now();
    const answer = shown(await client.call(tool, args));
    if (round >= WARM_UP) taken.push({ ms: performance.now() - began, bytes: Buffer.byteLength(answer) });
  }
  return { ms: median(taken.map(({ ms }) => ms)), bytes: median(taken.map(({ bytes }) => bytes)) };
}

/** @param {Record<string, Record<string, ActFigures>>} all */
function table(all) {
  const names = Object.keys(all);
  const cell = (/** @type {ActFigures | undefined} */ figure) => (figure ? `${figure.ms.toFixed(1)} / ${figure.bytes}` : '–');
  const rows = STEPS.map(({ id }) => `| ${[id, ...names.map((name) => cell(all[name][id]))].join(' | ')} |`);
  return [`| ms p50 / bytes | ${names.join(' | ')} |`, `|---|${names.map(() => '---:|').join('')}`, ...rows].join('\n');
}

const page = await servePage();
/** @type {Record<string, Record<string, ActFigures>>} */
const all = {};
try {
  for (const server of actingServers()) all[server.name] = await measure(server, page.url.replace('/cart', '/form'));
} finally {
  page.end();
}
console.log(table(all));
const { tabwire: own, ...others } = all;
const slow = STEPS.filter(({ id }) => !READINGS.includes(id))
  .filter(({ id }) => own[id].ms > Math.min(...Object.values(others).map((figures) => figures[id]?.ms ?? Infinity)) / 2);
for (const { id } of slow) console.error(`${id}: more than half the time of the fastest other`);
if (slow.length > 0) process.exitCode = 1;
