// Whether a run of the suite is as the baseline says. Ticks of the suite do not count, only its
// checks: a scenario that skips all of them gets a tick, too.

/**
 * @typedef {'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'} Status
 * @typedef {{id: string, status: Status, errorMessage?: string}} Check
 * @typedef {{scenario: string, check: string, status: Status, reason: string}} Exclusion
 * @typedef {{run: string[], excluded_checks: Exclusion[], not_run: {reason: string, scenarios: string[]}[]}} Baseline
 *   of one version of the protocol
 * @typedef {{server: string[], not_scored: {scenario: string, leg: string}[]}} Requirements
 *   what the suite has for that version
 */

/** @type {Status[]} */
export const STATUSES = ['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO'];

/** These need no explanation. */
const FINE = ['SUCCESS', 'INFO'];

/**
 * What is wrong with a scenario's checks. An exclusion stands for one check: a second one of
 * the same name needs its own.
 * @param {string} scenario @param {Check[]} checks @param {Exclusion[]} excluded
 * @returns {string[]}
 */
export function problemsOfScenario(scenario, checks, excluded) {
  const unused = excluded.filter((exclusion) => exclusion.scenario === scenario);
  const problems = [];
  for (const { id, status, errorMessage } of checks) {
    if (FINE.includes(status)) continue;
    const match = unused.findIndex((exclusion) => exclusion.check === id && exclusion.status === status);
    if (match >= 0) unused.splice(match, 1);
    else problems.push(`${scenario}: ${id} ended in ${status}: ${errorMessage ?? 'the suite does not say why'}`);
  }
  for (const { check, status } of unused) {
    problems.push(`${scenario}: ${check} does not end in ${status} any more; take it out of the baseline`);
  }
  if (!checks.some(({ status }) => status === 'SUCCESS' || status === 'FAILURE')) {
    problems.push(`${scenario}: it tested nothing, so it must not be run`);
  }
  return problems;
}

/**
 * What is wrong with the baseline itself: every scenario of the suite stands in it once, and
 * every exclusion has a reason and belongs to a scenario that is run.
 * @param {Baseline} baseline @param {Requirements} requirements
 * @returns {string[]}
 */
export function problemsOfBaseline(baseline, requirements) {
  const { run, excluded_checks: excluded, not_run: notRun } = baseline;
  const unscored = requirements.not_scored.filter(({ leg }) => leg === 'server');
  const there = [...requirements.server, ...unscored.map(({ scenario }) => scenario)];
  const named = [...run, ...notRun.flatMap(({ scenarios }) => scenarios)];
  const twice = named.filter((scenario, at) => named.indexOf(scenario) !== at);
  return [
    ...there.filter((scenario) => !named.includes(scenario)).map((s) => `${s}: the baseline does not name it`),
    ...named.filter((scenario) => !there.includes(scenario)).map((s) => `${s}: the suite has no such scenario`),
    ...twice.map((scenario) => `${scenario}: the baseline names it twice`),
    ...excluded.filter(({ scenario }) => !run.includes(scenario)).map((e) => `${e.scenario}: ${e.check} is not run`),
    ...[...excluded, ...notRun].filter(({ reason }) => !reason).map((e) => `no reason: ${JSON.stringify(e)}`),
  ];
}

/**
 * How the checks of each scenario ended, in numbers: a table in Markdown.
 * @param {string} version @param {Map<string, Check[]>} results by scenario
 */
export function table(version, results) {
  /** @param {string} name @param {Check[]} checks */
  const row = (name, checks) => {
    const counts = STATUSES.map((wanted) => checks.filter(({ status }) => status === wanted).length);
    return `| ${name} | ${counts.join(' | ')} |`;
  };
  return [
    `| ${version} | ${STATUSES.join(' | ')} |`,
    `|---|${'---:|'.repeat(STATUSES.length)}`,
    ...[...results].map(([scenario, checks]) => row(`\`${scenario}\``, checks)),
    row('all', [...results.values()].flat()),
  ].join('\n');
}
