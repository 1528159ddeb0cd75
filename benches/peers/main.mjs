// How long the usual answers of Tabwire and of other MCP servers for browsers are: `make bench-peers`. Each server visits the
// same page with a browser of its own and is asked for the same content; counted are the bytes that a client shows its model.
//
//   --show    prints each answer, too
//   --write   writes the others' figures to figures.json; tests/it/browser_answers.rs holds Tabwire to them
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { shown } from './mcp_client.mjs';
import { servePage } from './page_server.mjs';
import { peers, tabwire } from './servers.mjs';

/** @import {McpClient} from './mcp_client.mjs' */
/** @import {Server} from './servers.mjs' */
/** @typedef {{id: string, what: string, holds: string[], calls: Record<string, [string, object]>}} Step */
/** @typedef {{name: string, version: string, options: string[], steps: Record<string, {bytes: number}>}} Figures */

/** How long a page may take to have said and loaded everything. */
const SETTLE_MS = 10_000;

const FIGURES = new URL('figures.json', import.meta.url);
/** @type {Step[]} */
const STEPS = JSON.parse(readFileSync(new URL('steps.json', import.meta.url), 'utf8'));

/** @param {string} text */
function bytes(text) {
  return Buffer.byteLength(text);
}

/** Asks until the answer has all that it is to hold. @param {McpClient} client @param {Step} step @param {[string, object]} call */
async function answered(client, { id, holds }, [tool, args]) {
  const end = Date.now() + SETTLE_MS;
  for (;;) {
    const answer = shown(await client.call(tool, args));
    const missing = holds.filter((text) => !answer.includes(text));
    if (missing.length === 0) return answer;
    // To ask for it again would be another navigation.
    if (id === 'navigation' || Date.now() > end) throw new Error(`${id}: without ${missing.join(', ')}: ${answer}`);
    await pause(100);
  }
}

/** @param {Server} server @param {string} url @param {boolean} show @returns {Promise<Figures>} */
async function measure({ name, version, options, calls, start }, url, show) {
  /** @type {Figures['steps']} */
  const steps = {};
  const visit = async (/** @type {McpClient} */ client) => {
    for (const step of STEPS.filter((candidate) => calls in candidate.calls)) {
      const call = JSON.parse(JSON.stringify(step.calls[calls]).replaceAll('{url}', url));
      // With options some leave out what the others tell. They bound nothing.
      const holds = options.length === 0 ? step.holds : [];
      const answer = await answered(client, { ...step, holds }, call);
      steps[step.id] = { bytes: bytes(answer) };
      if (show) console.log(`--- ${[name, ...options].join(' ')}: ${step.id}, ${bytes(answer)} bytes\n${answer}\n`);
    }
  };
  const folder = mkdtempSync(join(tmpdir(), 'tabwire-peers-'));
  try {
    const server = await start(folder);
    await visit(server.client).finally(server.end);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
  return { name, version, options, steps };
}

/** @param {Figures[]} all */
function table(all) {
  const heads = all.map(({ name, version, options }) => (name === 'tabwire' ? 'Tabwire' : [name, version, ...options].join(' ')));
  const row = (/** @type {(string | number)[]} */ cells) => `| ${cells.join(' | ')} |`;
  const rows = STEPS.map(({ id, what }) => row([what, ...all.map(({ steps }) => steps[id]?.bytes ?? '–')]));
  return [row(['Bytes', ...heads]), `|---|${all.map(() => '---:|').join('')}`, ...rows].join('\n');
}

/** @param {Figures} own @param {Figures[]} others @returns {string[]} the steps whose answers are longer than the leanest peer's */
function longer(own, others) {
  const plain = others.filter(({ options }) => options.length === 0);
  return STEPS.map(({ id }) => id).filter((id) => own.steps[id].bytes > Math.min(...plain.map(({ steps }) => steps[id].bytes)));
}

const { values: { show = false, write = false } } = parseArgs({ options: { show: { type: 'boolean' }, write: { type: 'boolean' } } });
const page = await servePage();
/** @type {Figures[]} */
const measured = [];
try {
  for (const server of [tabwire(), ...peers()]) measured.push(await measure(server, page.url, show));
} finally {
  page.end();
}
console.log(table(measured));
const [own, ...others] = measured;
if (write) writeFileSync(FIGURES, `${JSON.stringify({ servers: others }, null, 2)}\n`);
const tooLong = longer(own, others);
if (tooLong.length > 0) {
  console.error(`longer than the leanest peer's: ${tooLong.join(', ')}`);
  process.exitCode = 1;
}
