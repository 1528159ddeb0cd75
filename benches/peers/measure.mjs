// Asks a server for answers, has it act, and gives it tasks.
import { setTimeout as pause } from 'node:timers/promises';
import { median } from './figures.mjs';
import { DIALECTS } from './hands.mjs';
import { shown } from './mcp_client.mjs';
import { inFolder } from './servers.mjs';
import { perform, TASKS } from './tasks.mjs';

/** @import {ServerFigures, StepFigures} from './figures.mjs' */
/** @import {McpClient} from './mcp_client.mjs' */
/** @import {Server} from './servers.mjs' */

/**
 * @typedef {object} Step
 * @property {string} id
 * @property {'answer' | 'act' | 'browser'} kind
 * @property {string} what
 * @property {string} page
 * @property {string[]} [holds] what its answer is to hold
 * @property {string} [undo] a script before each round
 * @property {Record<string, [tool: string, args: object]>} calls by server
 */

/** How long a page may take to have said and loaded everything. */
const SETTLE_MS = 10_000;
/** The first calls of a browser that has just started are slower for every server. */
const WARM_UP = 10;

/** @param {[tool: string, args: object]} call @param {string} url @returns {[string, object]} */
function at([tool, args], url) {
  return [tool, JSON.parse(JSON.stringify(args).replaceAll('{url}', url))];
}

/** Asks until the answer has all that it is to hold. @param {McpClient} client @param {Step} step @param {[string, object]} call */
async function answered(client, { id, holds = [] }, call) {
  const end = Date.now() + SETTLE_MS;
  for (;;) {
    const answer = shown(await client.call(...call));
    const missing = holds.filter((text) => !answer.includes(text));
    if (missing.length === 0) return answer;
    // To ask for it again would be another navigation.
    if (id === 'navigation' || Date.now() > end) throw new Error(`${id}: without ${missing.join(', ')}: ${answer}`);
    await pause(100);
  }
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

/** @param {McpClient} client @param {string} server @param {Step} step @param {{url: string, rounds: number}} how @returns {Promise<StepFigures>} */
async function timed(client, server, { calls, undo }, { url, rounds }) {
  const taken = [];
  const [tool, plain] = calls[server];
  const args = server === 'chrome-devtools-mcp' ? await withUids(client, plain) : plain;
  for (let round = 0; round < WARM_UP + rounds; round += 1) {
    if (undo) await client.call(...DIALECTS[server].read(undo));
    const call = at([tool, args], `${url}?${round}`);
    const began = performance.now();
    const answer = shown(await client.call(...call));
    if (round >= WARM_UP) taken.push({ ms: performance.now() - began, bytes: Buffer.byteLength(answer) });
  }
  return { ms: median(taken.map(({ ms }) => ms)), bytes: median(taken.map(({ bytes }) => bytes)) };
}

/** @param {Server} server @param {Step[]} steps @param {{url: (name: string) => string, rounds: number, show: boolean}} how @returns {Promise<ServerFigures>} */
export async function measure({ name, version, options, calls: server, start }, steps, { url, rounds, show }) {
  const print = (/** @type {string} */ id, /** @type {string} */ answer) => {
    if (show) console.log(`--- ${[name, ...options].join(' ')}: ${id}, ${Buffer.byteLength(answer)} bytes\n${answer}\n`);
  };
  /** @type {ServerFigures} */
  const figures = { name, version, options, steps: {}, tasks: {} };
  const own = (/** @type {Step['kind'][]} */ ...kinds) => steps.filter(({ kind, calls }) => kinds.includes(kind) && server in calls);
  return inFolder(async (folder) => {
    const { client, end } = await start(folder);
    try {
      let page = '';
      const open = async (/** @type {Step} */ step) => {
        if (step.page !== page) await client.call(...(DIALECTS[server]?.open(url(step.page)) ?? own('answer')[0].calls[server]));
        page = step.page;
      };
      if (options.length === 0) {
        for (const step of own('act', 'browser')) {
          await open(step);
          figures.steps[step.id] = await timed(client, server, step, { url: url(step.page), rounds });
        }
        for (const task of TASKS) {
          figures.tasks[task.id] = await perform(client, server, task, url);
          print(task.id, JSON.stringify(figures.tasks[task.id]));
        }
      }
      for (const call of DIALECTS[server]?.record ?? []) await client.call(...call);
      page = 'cart';
      for (const step of own('answer')) {
        if (DIALECTS[server]) await open(step);
        // With options some leave out parts that the others tell. They bound nothing.
        const answer = await answered(client, options.length === 0 ? step : { ...step, holds: [] }, at(step.calls[server], url(step.page)));
        figures.steps[step.id] = { bytes: Buffer.byteLength(answer) };
        print(step.id, answer);
      }
      return figures;
    } finally {
      await end();
    }
  });
}
