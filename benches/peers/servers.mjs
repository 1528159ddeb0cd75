// The servers that are asked: how each is started with a throw-away browser, and ended with all that it has started.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findBrowser, NEEDS_NO_SANDBOX, startBrowser } from './browser.mjs';
import { McpClient } from './mcp_client.mjs';

/**
 * @typedef {{client: McpClient, end: () => Promise<void>}} RunningServer
 *
 * @typedef {object} Server
 * @property {string} name
 * @property {string} version
 * @property {string[]} options that its users have to choose. Tabwire's bounds are the answers of servers without any
 * @property {string} calls whose calls of a step it understands
 * @property {(folder: string) => Promise<RunningServer>} start with its files in this folder
 */

const PROGRAM = process.env.TABWIRE_PROGRAM ?? fileURLToPath(new URL('../../target/release/tabwire', import.meta.url));
const MODULES = fileURLToPath(new URL('node_modules', import.meta.url));

/**
 * The processes that were started with a folder for their home, those of a server's own browsers among them. Where the system does
 * not tell (any but Linux), none. @param {string} folder @returns {number[]} their ids
 */
function processesOf(folder) {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((id) => {
    try {
      // One that has ended and is not waited for has none.
      return readFileSync(`/proc/${id}/environ`, 'utf8').split('\0').some((entry) => entry === `HOME=${folder}` || entry.startsWith(`HOME=${folder}/`));
    } catch {
      return false; // It has ended, or is another user's.
    }
  });
}

/** How long what a server has started may take to end. */
const END_MS = 5_000;

/** @param {string} folder @returns {Promise<number[]>} the processes that did not end by themselves, and were ended */
async function endLeftOvers(folder) {
  const end = Date.now() + END_MS;
  while (processesOf(folder).length > 0 && Date.now() < end) await pause(50);
  const left = processesOf(folder);
  for (const id of left) process.kill(id, 'SIGKILL');
  return left;
}

/** Those that servers have left behind. @type {{folder: string, ids: number[]}[]} */
const leftOvers = [];

/** @returns {string[]} what servers have left behind in this run, and what of it lives still */
export function leftBehind() {
  return leftOvers.map(({ folder, ids }) => `${ids.length} processes were left behind and ended: ${ids.join(', ')}; ${processesOf(folder).length} of them live`);
}

/** @template T @param {(folder: string) => Promise<T>} work @returns {Promise<T>} done in a new folder, which is removed */
export async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'tabwire-peers-'));
  try {
    return await work(folder);
  } finally {
    const ids = await endLeftOvers(folder);
    if (ids.length > 0) leftOvers.push({ folder, ids });
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** @returns {Server} */
export function tabwire() {
  const version = execFileSync(PROGRAM, ['--version'], { encoding: 'utf8' }).trim().split(' ').at(-1) ?? '';
  return { name: 'tabwire', version, options: [], calls: 'tabwire', start: (folder) => startTabwire(folder, ['--tools', 'split,files']) };
}

/** @returns {Server[]} */
export function peers() {
  return [
    ofPackage('chrome-devtools-mcp', { calls: 'chrome-devtools-mcp', command: chromeDevtools }),
    ofPackage('@playwright/mcp', { calls: '@playwright/mcp', command: playwright }),
    ofPackage('agent-browser', { calls: 'agent-browser', command: agentBrowser, close: ['agent_browser_close', {}] }),
    ofPackage('chrome-devtools-mcp', { calls: 'chrome-devtools-mcp --slim', command: chromeDevtools, options: ['--slim'] }),
    ofPackage('@playwright/mcp', {
      calls: '@playwright/mcp', command: playwright, options: ['--snapshot-mode=none', '--codegen=none'],
    }),
  ];
}

function agentBrowser() {
  return [join(MODULES, 'agent-browser/bin/agent-browser.js'), 'mcp', '--tools', 'all'];
}

/** Sends no statistics, and asks no registry for updates. */
function chromeDevtools() {
  return [
    join(MODULES, 'chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js'), '--headless', '--isolated', '--executablePath',
    findBrowser(), '--no-usage-statistics', '--no-performance-crux', ...(NEEDS_NO_SANDBOX ? ['--chromeArg=--no-sandbox'] : []),
  ];
}

function playwright() {
  return [
    join(MODULES, '@playwright/mcp/cli.js'), '--headless', '--isolated', '--executable-path', findBrowser(),
    // More tools, and the same answers: some tasks need a click at a point.
    '--caps=vision', ...(NEEDS_NO_SANDBOX ? ['--no-sandbox'] : []),
  ];
}

/**
 * @param {string} name @param {{calls: string, command: () => string[], options?: string[], close?: [tool: string, args: object]}} how `close`: the call that ends all that the server
 *   has started
 * @returns {Server}
 */
function ofPackage(name, { calls, command, options = [], close }) {
  const { version } = JSON.parse(readFileSync(join(MODULES, name, 'package.json'), 'utf8'));
  const start = async (/** @type {string} */ folder) => {
    const env = {
      ...process.env, HOME: folder, CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS: '1', CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS: '1',
      AGENT_BROWSER_EXECUTABLE_PATH: findBrowser(), AGENT_BROWSER_SOCKET_DIR: folder,
      ...(NEEDS_NO_SANDBOX ? { AGENT_BROWSER_ARGS: '--no-sandbox' } : {}),
    };
    const client = new McpClient({ command: process.execPath, args: [...command(), ...options], env, cwd: folder });
    const end = async () => {
      if (close) await client.call(...close).catch(console.error);
      await client.end();
    };
    try {
      await client.initialize();
      return { client, end };
    } catch (error) {
      await end();
      throw error;
    }
  };
  return { name, version, options, calls, start };
}

/** @param {string} folder @param {string[]} options of `tabwire mcp` @returns {Promise<RunningServer>} */
export async function startTabwire(folder, options) {
  const env = { ...process.env, TABWIRE_HOME: join(folder, 'home'), TABWIRE_LOG: 'warn' };
  mkdirSync(env.TABWIRE_HOME, { mode: 0o700 });
  /** @type {(() => Promise<void>)[]} the last one first */
  const ends = [];
  const end = async () => { for (const each of ends) await each(); };
  try {
    ends.unshift(await startDaemon(env));
    const extension = join(folder, 'extension');
    execFileSync(PROGRAM, ['extension', 'unpack', extension, '--json'], { env });
    ends.unshift(startBrowser(join(folder, 'profile'), extension));
    const client = new McpClient({ command: PROGRAM, args: ['mcp', ...options], env, cwd: folder });
    ends.unshift(() => client.end());
    await client.initialize();
    await client.call('interact', { action: 'tab_list', wait_ms: 30_000 });
    return { client, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** @param {NodeJS.ProcessEnv} env @returns {Promise<() => Promise<void>>} what ends it */
async function startDaemon(env) {
  const daemon = spawn(PROGRAM, ['serve', '--json', '--port', '0', '--limit', 'calls_per_minute=0'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => { daemon.once('exit', resolve); });
  await new Promise((resolve, reject) => {
    createInterface({ input: daemon.stdout }).once('line', resolve);
    daemon.once('error', reject);
    void ended.then(() => reject(new Error('the daemon has ended')));
  });
  return async () => {
    daemon.kill();
    await ended;
  };
}
