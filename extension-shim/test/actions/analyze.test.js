// The parts of analyses that need no page: the lines of an accessibility tree, sums of timings, refusals.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { AxTree } from '../../src/analysis/ax_tree.js';
import { summarizeTimings } from '../../src/analysis/timings.js';
import { withoutEmpty } from '../../src/lib/without_empty.js';
import { installChrome } from '../support/fakes.js';

installChrome();
const { actions } = await import('../../src/actions/index.js');

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
});

const BOUNDS = { depth: 100, lines: 1_000, text: 100 };

/** Nodes of a tree that is written as nested arrays: role, name, more, children. */
function nodes([role, name, more = {}, ...children], list = []) {
  const node = { nodeId: String(list.length), ignored: false, role: { value: role }, name: { value: name }, childIds: [], ...more };
  list.push(node);
  for (const child of children) {
    node.childIds.push(String(list.length));
    nodes(child, list);
  }
  return list;
}

const lines = (tree, bounds) => new AxTree(nodes(tree)).render({ ...BOUNDS, ...bounds }).tree.split('\n');
const states = (...pairs) => ({ properties: pairs.map(([name, value]) => ({ name, value: { value } })) });

test('what says nothing is left out and what is in it moves up', () => {
  const tree = ['RootWebArea', 'Page', {},
    ['generic', '', {}, ['button', 'Go', { ignored: true }, ['StaticText', 'inside']]],
    ['none', '', {}, ['link', 'Away', {}, ['StaticText', 'Away'], ['InlineTextBox', 'Away']]],
    ['generic', 'Named', {}]];
  assert.deepEqual(lines(tree), ['document "Page"', '  text "inside"', '  link "Away"', '  generic "Named"']);
});

test('a form without a name is no line, and a label that a control is called by is not said twice', () => {
  const field = (label, name) => [['LabelText', '', {}, ['StaticText', label], ['LineBreak', '']], ['textbox', name, {}]];
  const tree = ['RootWebArea', 'Page', {},
    ['form', '', {}, ...field(' E-mail ', 'E-mail'), ...field('Choose well', 'Password'), ['StaticText', 'E-mail']],
    ['form', 'Search', {}, ['LabelText', '', {}, ['StaticText', 'Words'], ['searchbox', 'Words']]]];
  assert.deepEqual(lines(tree), ['document "Page"',
    '  textbox "E-mail"', '  text "Choose well"', '  textbox "Password"', '  text "E-mail"',
    '  form "Search"', '    searchbox "Words"']);
});

test('a label of several parts is not said twice either, and what else is in it is told', () => {
  const tree = ['RootWebArea', 'Page', {},
    ['LabelText', '', {}, ['generic', '', {}, ['StaticText', 'E-mail']], ['generic', '', {}, ['StaticText', ' *']], ['link', 'Why?']],
    ['textbox', 'E-mail * Why?', {}],
    ['LabelText', '', {}, ['LabelText', '', {}, ['StaticText', 'I agree']], ['checkbox', 'I agree']]];
  assert.deepEqual(lines(tree), ['document "Page"', '  text "E-mail"', '  text "*"', '  link "Why?"', '  textbox "E-mail * Why?"', '  checkbox "I agree"']);
  tree[4][1] = 'E-mail *';
  assert.deepEqual(lines(tree).slice(1, 3), ['  link "Why?"', '  textbox "E-mail *"']);
});

test('labels that nest without end are told as far as the stack goes', () => {
  const list = [];
  for (let i = 0; i < 50_000; i += 1) list.push({ nodeId: `${i}`, ignored: false, role: { value: 'LabelText' }, childIds: [`${i + 1}`] });
  assert.doesNotThrow(() => new AxTree(list).render(BOUNDS));
});

test('text that is all there is stands on its line, and a name is not said twice', () => {
  const tree = ['list', '', {},
    ['listitem', '', states(['level', 1]), ['StaticText', 'one'], ['StaticText', ' two ']],
    ['listitem', '', {}, ['StaticText', 'see'], ['link', 'this', {}, ['StaticText', 'this']]],
    ['button', 'More', {}, ['StaticText', '…']]];
  assert.deepEqual(lines(tree), ['list', '  listitem: "one two"', '  listitem', '    text "see"', '    link "this"', '  button "More"']);
});

test('states are told that say something', () => {
  const tree = ['checkbox', 'A', { ...states(['checked', 'mixed'], ['focusable', true], ['disabled', true], ['required', false], ['invalid', 'false']), value: { value: 'on' }, description: { value: 'why' } }];
  assert.deepEqual(lines(tree), ['checkbox "A" [disabled, checked=mixed] value="on" description="why"']);
});

test('no name can pass for a line of its own, and long ones are cut', () => {
  const tree = ['link', 'a\n  button "Pay"', {}, ['heading', 'x'.repeat(120), states(['level', 2])]];
  assert.deepEqual(lines(tree), ['link "a button \\"Pay\\""', `  heading "${'x'.repeat(100)}…" [level=2]`]);
});

test('depth and lines are bounded, and what is left out is counted', () => {
  const row = ['row', 'r', {}, ['cell', 'c']];
  const tree = ['table', 't', {}, row, row, row];
  const render = (bounds) => new AxTree(nodes(tree)).render({ ...BOUNDS, ...bounds });
  assert.deepEqual(render({ depth: 2 }), { tree: 'table "t"\n  row "r"\n  row "r"\n  row "r"', nodes: 4, not_shown: 3 });
  assert.equal(render({ lines: 3 }).nodes, 3);
  assert.equal('not_shown' in render({}), false);
});

test('a page that nests without end is told as far as the stack goes', () => {
  const list = [];
  for (let i = 0; i < 50_000; i += 1) list.push({ nodeId: `${i}`, ignored: true, childIds: [`${i + 1}`] });
  assert.doesNotThrow(() => new AxTree(list).render(BOUNDS));
});

test('what was entered in a field with a secret is not told, and that something was is', () => {
  const more = { backendDOMNodeId: 7, value: { value: '123456' }, properties: [{ name: 'valuetext', value: { value: '123456' } }] };
  const list = nodes(['RootWebArea', 'Page', {},
    ['textbox', 'Code', more, ['generic', '', {}, ['StaticText', '123456']]],
    ['generic', '', { backendDOMNodeId: 8 }, ['StaticText', '9876']],
    ['textbox', 'Name', { backendDOMNodeId: 9, value: { value: 'Ann' } }]]);
  const { tree } = new AxTree(list, new Set([7, 8])).render(BOUNDS);
  assert.equal(tree, 'document "Page"\n  textbox "Code" value="(not shown)"\n  textbox "Name" value="Ann"');
});

test('what is in a frame stands in its place', () => {
  const page = new AxTree(nodes(['RootWebArea', 'Page', {}, ['Iframe', 'Inner', { backendDOMNodeId: 7 }]]));
  assert.deepEqual(page.frames(), [7]);
  page.fill(7, new AxTree(nodes(['RootWebArea', '', {}, ['button', 'Go']])));
  assert.equal(page.render(BOUNDS).tree, 'document "Page"\n  frame "Inner"\n    document\n      button "Go"');
});

const NOTED = {
  url: 'http://a/', now: 1_000.06, visibility: 'visible', navigation: [], paint: [{ name: 'first-paint', startTime: 12.34 }],
  resource: [], 'largest-contentful-paint': [], 'layout-shift': [], longtask: [],
  event: [], 'first-input': [], 'long-animation-frame': [], interactions: 0,
};
const summary = (noted) => summarizeTimings({ ...NOTED, ...noted }, [{ name: 'JSHeapUsedSize', value: 5 }]);

test('resources are summed by type and the slowest are named', () => {
  const of = (name, initiatorType, duration, transferSize, responseStatus = 200) =>
    ({ name, initiatorType, startTime: 1, duration, transferSize, decodedBodySize: transferSize * 2, responseStatus });
  const resource = [of('http://a/1.js', 'script', 10, 100), of('http://a/2.js', 'script', 30, 50), of('http://a/x', '', 20, 0, 404)];
  const { resources } = summary({ resource });
  assert.deepEqual(resources.by_type.script, { count: 2, transfer_bytes: 150, decoded_bytes: 300 });
  assert.equal(resources.by_type.other.count, 1);
  assert.deepEqual(resources.slowest.map(({ url }) => url), ['http://a/2.js', 'http://a/x', 'http://a/1.js']);
  assert.equal(resources.failed, 1);
  assert.equal('incomplete' in resources, false);
  assert.equal(summary({ resource: Array(250).fill(resource[0]) }).resources.incomplete, true);
});

test('the layout shift is that of the worst burst, without what a person caused', () => {
  const shift = (startTime, value, hadRecentInput = false) => ({ startTime, value, hadRecentInput });
  const shifts = [shift(0, 0.1), shift(500, 0.1), shift(700, 5, true), shift(3_000, 0.15), shift(3_900, 0.02)];
  assert.deepEqual(summary({ 'layout-shift': shifts }).cumulative_layout_shift, { score: 0.2, shifts: 4 });
  const steady = Array.from({ length: 12 }, (_, i) => shift(i * 900, 0.1));
  assert.equal(summary({ 'layout-shift': steady }).cumulative_layout_shift.score, 0.6);
});

test('long tasks are summed, the longest are named with their scripts, and what was not measured is left out', () => {
  const scripts = [{ startTime: 510, duration: 140, sourceURL: 'http://a/1.js', sourceFunctionName: 'draw', invoker: 'TimerHandler:setTimeout' }];
  const told = summary({ longtask: [{ startTime: 5, duration: 60 }, { startTime: 500, duration: 150 }], 'long-animation-frame': [{ startTime: 480, scripts }] });
  const { longest, ...sums } = told.long_tasks;
  assert.deepEqual(sums, { count: 2, total_ms: 210, longest_ms: 150, blocking_ms: 110 });
  assert.deepEqual(longest, [
    { start_ms: 500, ms: 150, scripts: [{ url: 'http://a/1.js', function: 'draw', invoker: 'TimerHandler:setTimeout', ms: 140 }] },
    { start_ms: 5, ms: 60 },
  ]);
  assert.deepEqual(told.paint, { first_paint_ms: 12.3 });
  assert.equal('largest_contentful_paint' in told, false);
  assert.equal('interaction_to_next_paint' in told, false);
  assert.match(summary({ visibility: 'hidden' }).note, /background/);
});

test('the slowest interaction is told with its parts, and of many the slowest but for one in fifty', () => {
  const of = (interactionId, name, startTime, duration, from, to) => ({ interactionId, name, startTime, duration, processingStart: from, processingEnd: to });
  const click = [of(7, 'pointerdown', 100, 224, 101, 102), { ...of(7, 'click', 110, 224, 112, 300), element: 'button#b' }, of(0, 'mousedown', 100, 900, 0, 0)];
  assert.deepEqual(summary({ event: click, interactions: 1 }).interaction_to_next_paint,
    { ms: 224, event: 'click', element: 'button#b', at_ms: 100, input_delay_ms: 1, processing_ms: 199, presentation_ms: 24, interactions: 1 });
  const two = [...click, of(8, 'keydown', 900, 120, 901, 902)];
  assert.equal(summary({ event: two, interactions: 49 }).interaction_to_next_paint.ms, 224);
  assert.equal(summary({ event: two, interactions: 60 }).interaction_to_next_paint.ms, 120);
  const unpainted = summary({ interactions: 3 }).interaction_to_next_paint;
  assert.equal(unpainted.interactions, 3);
  assert.match(unpainted.note, /tab_activate/);
});

test('what says nothing is left out of an answer', () => {
  assert.deepEqual(withoutEmpty({ a: null, b: [], c: '', d: false, e: 0, f: [0], g: { h: null } }), { f: [0], g: { h: null } });
});

const context = { tab_id: 7, timeout_ms: 1_000, seesAll: true, sees: () => true, hides: () => false, noteOpened: () => {}, signal: new AbortController().signal, begin: () => {}, admitAct: () => {}, onStop: () => {} };

for (const [name, params] of [
  ['dom', {}], ['dom', { selector: '' }], ['dom', { selector: 1 }], ['dom', { selector: 'a', limit: 0 }], ['dom', { selector: 'a', limit: 201 }],
  ['accessibility', { selector: 1 }], ['accessibility', { depth: 0 }], ['accessibility', { depth: 1.5 }],
]) {
  test(`${name} refuses ${JSON.stringify(params)} before anything happens`, () =>
    assert.rejects(actions[name](params, context), { code: 'invalid_params' }));
}
