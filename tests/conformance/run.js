// Runs the official MCP conformance suite against the program that TABWIRE_PROGRAM names, for
// both eras, and holds what comes of it against baseline.yml and docs/protocol.md.
// With UPDATE_DOCS=1 it writes the latter anew.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { problemsOfBaseline, problemsOfScenario, table } from './judge.js';
import { passThrough } from './pass_through.js';

const HERE = import.meta.dirname;
const SUITE = path.join(HERE, 'node_modules/@modelcontextprotocol/conformance');
const DOCS = path.join(HERE, '../../docs/protocol.md');

/** What stands between these lines of the page is written here. */
const IN_DOCS = /(?<=<!-- conformance: generated -->\n\n).*?(?=\n\n<!-- conformance: end -->)/s;

/** All of it takes about 15 s. */
const LONGEST_RUN_MS = 110_000;

/** A daemon that was told to end has so long; it takes 2 s for what runs and as long for what is connected. */
const LONGEST_END_MS = 6_000;

const run = promisify(execFile);

/**
 * Starts a daemon and waits until it listens. One whose parent was killed ends by itself.
 * @param {string} program @param {string} home @param {AbortSignal} signal
 */
async function startDaemon(program, home, signal) {
  const daemon = spawn(program, ['serve', '--port', '0', '--json', '--idle-exit', '60'], {
    env: { TABWIRE_HOME: home, TABWIRE_LOG: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  });
  // `once` tells of one that cannot be started; an abort ends the run anyway.
  daemon.on('error', () => {});
  const lines = createInterface({ input: daemon.stdout });
  const [line] = await Promise.race([once(lines, 'line', { signal }), once(daemon, 'exit')]);
  if (typeof line !== 'string') throw new Error(`the daemon did not start: exit ${line}`);
  return { daemon, port: JSON.parse(line).port };
}

/** @param {import('node:child_process').ChildProcess} child */
async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), LONGEST_END_MS);
  await ended;
  clearTimeout(late);
}

/**
 * The checks of one scenario. That the suite ends with an error is no news: it does for each
 * failed check.
 * @param {string} url @param {string} version @param {string} scenario @param {string} out @param {AbortSignal} signal
 * @returns {Promise<import('./judge.js').Check[]>}
 */
async function checksOf(url, version, scenario, out, signal) {
  const cli = path.join(SUITE, 'dist/index.js');
  // Forced, since scenarios of extensions belong to no version.
  const options = ['--url', url, '--scenario', scenario, '--spec-version', version, '--force', '-o', out];
  const said = await run(process.execPath, [cli, 'server', ...options], { env: {}, signal }).catch((error) => error);
  signal.throwIfAborted();
  const [folder = ''] = await readdir(out).catch(() => []);
  const checks = await readFile(path.join(out, folder, 'checks.json'), 'utf8').catch(() => {
    throw new Error(`${scenario} was not run: ${said.stdout}${said.stderr}`);
  });
  return JSON.parse(checks);
}

/**
 * Runs what the baseline names; the table and the problems of one version.
 * @param {string} version @param {import('./judge.js').Baseline} baseline @param {string} url
 * @param {string} scratch @param {AbortSignal} signal
 */
async function runVersion(version, baseline, url, scratch, signal) {
  const requirements = parse(await readFile(path.join(SUITE, 'requirements', `${version}.yaml`), 'utf8'));
  const problems = problemsOfBaseline(baseline, requirements);
  const results = new Map();
  for (const scenario of baseline.run) {
    const checks = await checksOf(url, version, scenario, path.join(scratch, version, scenario), signal);
    results.set(scenario, checks);
    problems.push(...problemsOfScenario(scenario, checks, baseline.excluded_checks));
  }
  return { table: table(version, results), problems: problems.map((problem) => `${version} ${problem}`) };
}

/** @param {string} tables @returns {Promise<string[]>} what is wrong with the page */
async function checkDocs(tables) {
  const page = await readFile(DOCS, 'utf8');
  const written = page.match(IN_DOCS)?.[0];
  if (written === tables) return [];
  if (written === undefined) return ['docs/protocol.md: there is no place for the counts'];
  if (!process.env.UPDATE_DOCS) return ['docs/protocol.md is stale: UPDATE_DOCS=1 make conformance'];
  await writeFile(DOCS, page.replace(IN_DOCS, () => tables));
  return [];
}

/** @param {string} program @param {string} scratch @param {AbortSignal} signal */
async function runAll(program, scratch, signal) {
  const home = path.join(scratch, 'home');
  const { stdout } = await run(program, ['token', '--home', home], { env: {}, signal });
  const { daemon, port } = await startDaemon(program, home, signal);
  const server = await passThrough(port, stdout.trim()).catch(async (error) => {
    await end(daemon);
    throw error;
  });
  try {
    const url = `http://127.0.0.1:${server.address().port}/mcp`;
    const versions = [];
    for (const [version, baseline] of Object.entries(parse(await readFile(path.join(HERE, 'baseline.yml'), 'utf8')))) {
      versions.push(await runVersion(version, baseline, url, scratch, signal));
    }
    return versions;
  } finally {
    server.close();
    server.closeAllConnections();
    await end(daemon);
  }
}

async function main() {
  const program = process.env.TABWIRE_PROGRAM;
  if (!program) throw new Error('TABWIRE_PROGRAM must name the program');
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => interrupt.abort(new Error(name)));
  const signal = AbortSignal.any([interrupt.signal, AbortSignal.timeout(LONGEST_RUN_MS)]);
  const scratch = await mkdtemp(path.join(tmpdir(), 'tabwire-conformance-'));
  try {
    const versions = await runAll(program, scratch, signal);
    const tables = versions.map((version) => version.table).join('\n\n');
    console.log(tables);
    const problems = versions.flatMap((version) => version.problems);
    if (problems.length === 0) problems.push(...(await checkDocs(tables)));
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) process.exitCode = 1;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

await main();
