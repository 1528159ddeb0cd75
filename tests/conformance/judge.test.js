// Would a run that is not as the baseline says be noticed?
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemsOfBaseline, problemsOfScenario, table } from './judge.js';

const exclusion = { scenario: 's', check: 'b', status: 'FAILURE', reason: 'There is none.' };
const passed = { id: 'a', status: 'SUCCESS' };
const failed = { id: 'b', status: 'FAILURE', errorMessage: 'it broke' };

test('what the baseline excludes may fail, and nothing else', () => {
  assert.deepEqual(problemsOfScenario('s', [passed, failed], [exclusion]), []);
  assert.deepEqual(problemsOfScenario('s', [passed, failed], []), ['s: b ended in FAILURE: it broke']);
  const ofAnother = { ...exclusion, scenario: 't' };
  assert.equal(problemsOfScenario('s', [passed, failed], [ofAnother]).length, 1);
});

test('a warning and a skipped check need a reason as a failure does', () => {
  for (const status of ['WARNING', 'SKIPPED']) {
    const problems = problemsOfScenario('s', [passed, { id: 'b', status }], []);
    assert.deepEqual(problems, [`s: b ended in ${status}: the suite does not say why`]);
  }
});

test('an exclusion does not cover a second check of its name, nor another end of the same one', () => {
  assert.equal(problemsOfScenario('s', [passed, failed, failed], [exclusion]).length, 1);
  assert.equal(problemsOfScenario('s', [passed, { ...failed, status: 'WARNING' }], [exclusion]).length, 2);
});

test('an exclusion that is not needed any more is a failure', () => {
  const [problem] = problemsOfScenario('s', [passed, { ...passed, id: 'b' }], [exclusion]);
  assert.match(problem, /b does not end in FAILURE any more/);
});

test('a scenario that tests nothing does not pass', () => {
  for (const checks of [[], [{ id: 'a', status: 'INFO' }]]) {
    assert.deepEqual(problemsOfScenario('s', checks, []), ['s: it tested nothing, so it must not be run']);
  }
});

test('every scenario of the suite is run or has a reason, once', () => {
  const requirements = {
    server: ['s', 't'],
    not_scored: [{ scenario: 'u', leg: 'server' }, { scenario: 'v', leg: 'client' }],
  };
  const good = {
    run: ['s'],
    excluded_checks: [exclusion],
    not_run: [{ reason: 'There is none.', scenarios: ['t', 'u'] }],
  };
  assert.deepEqual(problemsOfBaseline(good, requirements), []);
  const one = (change) => {
    const problems = problemsOfBaseline({ ...good, ...change }, requirements);
    assert.equal(problems.length, 1, problems.join('\n'));
    return problems[0];
  };
  assert.match(one({ not_run: [{ reason: 'r', scenarios: ['t'] }] }), /^u: the baseline does not name it/);
  assert.match(one({ not_run: [{ reason: 'r', scenarios: ['t', 'u', 'w'] }] }), /^w: the suite has no/);
  assert.match(one({ run: ['s', 't'] }), /^t: the baseline names it twice/);
  assert.match(one({ excluded_checks: [{ ...exclusion, scenario: 't' }] }), /^t: b is not run/);
  assert.match(one({ excluded_checks: [{ ...exclusion, reason: '' }] }), /^no reason/);
});

test('checks are counted, not scenarios', () => {
  const results = new Map([['s', [passed, passed, failed]], ['t', [{ id: 'c', status: 'INFO' }]]]);
  assert.equal(table('1', results), [
    '| 1 | SUCCESS | FAILURE | WARNING | SKIPPED | INFO |',
    '|---|---:|---:|---:|---:|---:|',
    '| `s` | 2 | 1 | 0 | 0 | 0 |',
    '| `t` | 0 | 0 | 0 | 0 | 1 |',
    '| all | 2 | 1 | 0 | 0 | 1 |',
  ].join('\n'));
});
