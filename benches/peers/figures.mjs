// The figures of a run, and the tables that are made of them.

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}

/** @param {number} ms */
const inMs = (ms) => ms.toFixed(1);
/** @param {(string | number)[]} cells */
const row = (cells) => `| ${cells.join(' | ')} |`;
/** @param {string[]} heads @param {(string | number)[][]} rows */
const table = (heads, rows) => [row(heads), `|---|${heads.slice(1).map(() => '---:|').join('')}`, ...rows.map(row)].join('\n');

/**
 * @typedef {{ms?: number, bytes?: number}} StepFigures of the median
 * @typedef {{done: boolean, calls: number, bytes: number, ms: number, why?: string}} TaskFigures
 * @typedef {{name: string, version: string, options: string[], steps: Record<string, StepFigures>, tasks: Record<string, TaskFigures>}} ServerFigures
 *
 * @typedef {object} Figures all of one run
 * @property {{command: string, browser: string, node: string, processors: number}} measured
 * @property {ServerFigures[]} servers Tabwire first
 * @property {Record<string, {ms: number, direct_ms: number}>} protocol
 */

/** @param {ServerFigures} server */
const headOf = ({ name, version, options }) => [name, version, ...options].join(' ');

/** @param {{id: string, kind: string, what: string}[]} steps @param {{id: string, what: string}[]} browserSteps @param {{id: string, what: string}[]} tasks @param {Figures} figures @returns {Record<string, string>} by the name of its place in docs/performance.md */
export function tablesOf(steps, browserSteps, tasks, { measured, servers, protocol }) {
  const plain = servers.filter(({ options }) => options.length === 0);
  const heads = plain.map(headOf);
  const of = (/** @type {string} */ kind) => steps.filter((step) => step.kind === kind);
  const timed = (/** @type {StepFigures | undefined} */ figure) => (figure?.ms === undefined ? '–' : `${inMs(figure.ms)} / ${figure.bytes}`);
  const done = (/** @type {TaskFigures | undefined} */ task) => (task?.done ? `${task.calls} / ${task.bytes} / ${Math.round(task.ms)}` : 'no');
  return {
    versions: `\`${measured.command}\`: ${heads.join(', ')}; ${measured.browser}, Node ${measured.node}, ${measured.processors} processors.`,
    answers: table(['Bytes', ...heads], of('answer').map(({ id, what }) => [what, ...plain.map((server) => server.steps[id]?.bytes ?? '–')])),
    acts: table(['ms / bytes', ...heads], [...of('act'), ...of('browser')].map(({ id, what }) => [what, ...plain.map((server) => timed(server.steps[id]))])),
    protocol: table(['ms', 'Tabwire', 'the protocol alone', 'ratio'], browserSteps.filter(({ id }) => id in protocol).map(({ id, what }) => {
      const { ms, direct_ms: direct } = protocol[id];
      return [what, inMs(ms), inMs(direct), (ms / direct).toFixed(2)];
    })),
    tasks: table(['calls / bytes / ms', ...heads], tasks.map(({ id, what }) => [what, ...plain.map((server) => done(server.tasks[id]))])),
  };
}

/** Puts each table into its place. @param {string} page @param {Record<string, string>} tables */
export function withTables(page, tables) {
  return Object.entries(tables).reduce((text, [name, content]) => {
    const [start, end] = [`<!-- peers: ${name} -->\n`, `\n<!-- end of ${name} -->`];
    const [from, to] = [text.indexOf(start), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`the page has no place for ${name}`);
    return `${text.slice(0, from + start.length)}${content}${text.slice(to)}`;
  }, page);
}

/** The part of the time of the fastest other that an act may take. */
const HALF = 1 / 2;
/** How much longer than the protocol alone. */
const BESIDE = 1.1;

/** @param {{id: string, kind: string}[]} steps @param {{id: string}[]} tasks @param {Figures} figures @returns {string[]} each bound that Tabwire misses */
export function missedBounds(steps, tasks, { servers, protocol }) {
  const [own, ...others] = servers.filter(({ options }) => options.length === 0);
  const least = (/** @type {(server: ServerFigures) => number | undefined} */ of) => Math.min(...others.map((server) => of(server) ?? Infinity));
  const missed = [];
  for (const { id, kind } of steps) {
    const [{ ms = 0, bytes = 0 }, fastest, leanest] = [own.steps[id], least((server) => server.steps[id]?.ms), least((server) => server.steps[id]?.bytes)];
    if (kind === 'answer' && bytes > leanest) missed.push(`${id}: ${bytes} bytes, the leanest other ${leanest}`);
    if (kind === 'act' && ms > fastest * HALF) missed.push(`${id}: ${inMs(ms)} ms, more than half of the fastest other's ${inMs(fastest)}`);
  }
  for (const [id, { ms, direct_ms: direct }] of Object.entries(protocol)) {
    if (ms > direct * BESIDE) missed.push(`${id}: ${inMs(ms)} ms, more than ${BESIDE} times the ${inMs(direct)} of the protocol alone`);
  }
  for (const { id } of tasks) {
    const fewest = least((server) => (server.tasks[id]?.done ? server.tasks[id].calls : undefined));
    const { done, calls, why } = own.tasks[id];
    if (!done && fewest < Infinity) missed.push(`${id}: another does it, Tabwire does not: ${why}`);
    if (done && calls > fewest) missed.push(`${id}: ${calls} calls, another needs ${fewest}`);
  }
  return missed;
}
