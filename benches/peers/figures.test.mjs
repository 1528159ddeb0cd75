import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { BROWSER_STEPS } from './beside_protocol.mjs';
import { missedBounds, tablesOf, withTables } from './figures.mjs';
import { TASKS } from './tasks.mjs';

/** @param {string} path */
const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
const steps = JSON.parse(read('steps.json'));
const figures = JSON.parse(read('figures.json'));
const page = read('../../docs/performance.md');

test('the tables of the documentation are those of the recorded figures', () => {
  assert.equal(withTables(page, tablesOf(steps, BROWSER_STEPS, TASKS, figures)), page, 'run `make bench-peers WRITE=1`');
});

test('the recorded figures have every server, step and task', () => {
  const { dependencies } = JSON.parse(read('package.json'));
  const plain = figures.servers.filter((/** @type {{options: string[]}} */ { options }) => options.length === 0);
  assert.deepEqual(plain.map((/** @type {{name: string}} */ { name }) => name).sort(), ['tabwire', ...Object.keys(dependencies)].sort());
  for (const { name, version, steps: measured, tasks } of plain) {
    if (name !== 'tabwire') assert.equal(version, dependencies[name]);
    const asked = steps.filter((/** @type {{calls: object}} */ { calls }) => name in calls).map((/** @type {{id: string}} */ { id }) => id);
    assert.deepEqual(Object.keys(measured).sort(), asked.sort(), name);
    assert.deepEqual(Object.keys(tasks).sort(), TASKS.map(({ id }) => id).sort(), name);
  }
  assert.deepEqual(Object.keys(figures.protocol).sort(), BROWSER_STEPS.map(({ id }) => id).sort());
});

test('a missed bound is told', () => {
  const server = (/** @type {string} */ name, /** @type {number} */ ms, /** @type {number} */ bytes, /** @type {object} */ task) =>
    ({ name, version: '1', options: [], steps: { a: { bytes }, b: { ms, bytes } }, tasks: { t: task } });
  const done = { done: true, calls: 3, bytes: 1, ms: 1 };
  const missed = (/** @type {any} */ own, protocol = {}) => missedBounds([{ id: 'a', kind: 'answer' }, { id: 'b', kind: 'act' }], [{ id: 't' }],
    { measured: /** @type {any} */ ({}), servers: [own, server('other', 10, 100, done)], protocol });
  assert.deepEqual(missed(server('own', 5, 100, done), { p: { ms: 11, direct_ms: 10 } }), []);
  assert.equal(missed(server('own', 5.1, 100, done)).length, 1);
  assert.equal(missed(server('own', 5, 101, done)).length, 1);
  assert.equal(missed(server('own', 5, 100, { ...done, calls: 4 })).length, 1);
  assert.equal(missed(server('own', 5, 100, { ...done, done: false })).length, 1);
  assert.equal(missed(server('own', 5, 100, done), { p: { ms: 12, direct_ms: 10 } }).length, 1);
});
