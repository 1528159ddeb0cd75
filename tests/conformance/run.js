// Runs the official MCP conformance suite for both eras against two builds, the program that
// TABWIRE_PROGRAM names and the one with the suite's fixtures that TABWIRE_FIXTURES names, and
// holds what comes of it against the baseline of each and docs/protocol.md. With UPDATE_DOCS=1
// it writes the latter anew.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
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

/**
 * What is run. They are scored separately.
 * @typedef {{title: string, variable: string, baseline: string}} Build
 * @type {Build[]}
 */
const BUILDS = [
  { title: 'The program as it ships', variable: 'TABWIRE_PROGRAM', baseline: 'baseline.yml' },
  { title: "With the suite's fixtures", variable: 'TABWIRE_FIXTURES', baseline: 'baseline-fixtures.yml' },
];

/** All of it takes about 25 s, most of which the suite waits; longer where much else is going on. */
const LONGEST_RUN_MS = 180_000;

/** A daemon that was told to end has so long; it takes 2 s for what runs and as long for what is connected. */
const LONGEST_END_MS = 6_000;

/** What the suite says of a run, in bytes. */
const LONGEST_REPORT = 16 * 1024 * 1024;

/** What the suite writes of a scenario is in a folder with the time in its name. */
const RUN_AT = /-\d{4}-\d\d-\d\dT[-\d]+Z$/;

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
  child.kill('SIGINT');
  const late = setTimeout(() => child.kill('SIGKILL'), LONGEST_END_MS);
  await ended;
  clearTimeout(late);
}

/**
 * Runs all that the suite has for a version, in one process, which takes much less time than one
 * each; what gives the checks of a scenario. That the suite ends with an error is no news: it
 * does for each failed check.
 * @param {string} url @param {string} version @param {string} out @param {AbortSignal} signal
 * @returns {Promise<(scenario: string) => Promise<import('./judge.js').Check[]>>}
 */
async function runSuite(url, version, out, signal) {
  const cli = path.join(SUITE, 'dist/index.js');
  const options = ['--url', url, '--requirements', version, '-o', out];
  const limits = { env: {}, maxBuffer: LONGEST_REPORT, signal };
  const said = await run(process.execPath, [cli, 'server', ...options], limits).catch((error) => error);
  signal.throwIfAborted();
  const folders = await readdir(out).catch(() => []);
  return async (scenario) => {
    const folder = folders.find((name) => name.replace(RUN_AT, '') === `server-${scenario}`) ?? '';
    const checks = await readFile(path.join(out, folder, 'checks.json'), 'utf8').catch(() => {
      throw new Error(`${scenario} was not run: ${said.stdout}${said.stderr}`);
    });
    return JSON.parse(checks);
  };
}

/**
 * Runs the suite and counts what the baseline names; the table and the problems of one version.
 * @param {string} version @param {import('./judge.js').Baseline} baseline @param {string} url
 * @param {string} scratch @param {AbortSignal} signal
 */
async function runVersion(version, baseline, url, scratch, signal) {
  const requirements = parse(await readFile(path.join(SUITE, 'requirements', `${version}.yaml`), 'utf8'));
  const problems = problemsOfBaseline(baseline, requirements);
  const results = new Map();
  const checksOf = await runSuite(url, version, path.join(scratch, version), signal);
  for (const scenario of baseline.run) {
    const checks = await checksOf(scenario);
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

/**
 * Runs a build; its tables and its problems.
 * @param {Build} build @param {string} scratch @param {AbortSignal} signal
 */
async function runBuild({ title, variable, baseline }, scratch, signal) {
  const program = named(variable);
  const home = path.join(scratch, 'home');
  await mkdir(scratch);
  const { stdout } = await run(named('TABWIRE_PROGRAM'), ['token', '--home', home], { env: {}, signal });
  const { daemon, port } = await startDaemon(program, home, signal);
  const server = await passThrough(port, stdout.trim()).catch(async (error) => {
    await end(daemon);
    throw error;
  });
  try {
    const url = `http://127.0.0.1:${server.address().port}/mcp`;
    const versions = [];
    for (const [version, expected] of Object.entries(parse(await readFile(path.join(HERE, baseline), 'utf8')))) {
      versions.push(await runVersion(version, expected, url, scratch, signal));
    }
    return {
      tables: [`**${title}**`, ...versions.map((version) => version.table)].join('\n\n'),
      problems: versions.flatMap((version) => version.problems.map((problem) => `${baseline}: ${problem}`)),
    };
  } finally {
    server.close();
    server.closeAllConnections();
    await end(daemon);
  }
}

/** @param {string} variable of the environment */
function named(variable) {
  const program = process.env[variable];
  if (!program) throw new Error(`${variable} must name a program`);
  return program;
}

async function main() {
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => interrupt.abort(new Error(name)));
  const signal = AbortSignal.any([interrupt.signal, AbortSignal.timeout(LONGEST_RUN_MS)]);
  const scratch = await mkdtemp(path.join(tmpdir(), 'tabwire-conformance-'));
  try {
    const runs = BUILDS.map((build) => runBuild(build, path.join(scratch, build.variable), signal));
    // If one breaks off, the other must not lose its files under its hands.
    await Promise.allSettled(runs);
    const builds = await Promise.all(runs);
    const tables = builds.map((build) => build.tables).join('\n\n');
    console.log(tables);
    const problems = builds.flatMap((build) => build.problems);
    if (problems.length === 0) problems.push(...(await checkDocs(tables)));
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) process.exitCode = 1;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

await main();
