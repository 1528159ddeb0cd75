// The pure parts of the page that a person draws in.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { beforeEach, mock, test } from 'node:test';
import { goldenFrames, installChrome, settled } from '../support/fakes.js';

installChrome();
const names = ['geometry', 'drawing_model', 'keys', 'waits', 'sender', 'painter', 'grace'];
const modules = await Promise.all(names.map((name) => import(`../../src/draw/page/${name}.js`)));
const page = Object.assign({}, ...modules);

// ── Geometry ──

test('a box is told by its upper left corner, whichever way it was drawn', () => {
  assert.deepEqual(page.drawBoxOf([[30, 5], [10, 25]]), { x: 10, y: 5, width: 20, height: 20 });
});

test('what is drawn stays within the page', () => {
  const size = { width: 100, height: 50 };
  assert.deepEqual([page.drawWithin([-3, 70.4], size), page.drawWithin([12.6, 4], size)], [[0, 49], [13, 4]]);
});

test('a line of any length has 500 points at most, its ends among them', () => {
  let points = [[0, 0]];
  for (let x = 3; x < 9_000; x += 3) points = page.drawOn(points, [x, 0]);
  assert.ok(points.length <= 500, `${points.length}`);
  assert.deepEqual([points[0], points.at(-1)], [[0, 0], [8_997, 0]]);
  assert.equal(page.drawOn(points, [8_998, 0]), points, 'a pixel is no way');
});

test('an arrow is about its tip, a rectangle about its area', () => {
  const points = [[10, 10], [50, 40]];
  assert.deepEqual(page.drawTarget({ id: 1, kind: 'arrow', points }), { id: 1, box: { x: 50, y: 40, width: 0, height: 0 } });
  assert.deepEqual(page.drawTarget({ id: 1, kind: 'rectangle', points }).box, { x: 10, y: 10, width: 40, height: 30 });
  assert.deepEqual(page.drawArrowHead(points)[1], [50, 40]);
});

test('marks are told as the golden frame has them', () => {
  const marks = [
    { id: 1, kind: 'rectangle', points: [[110, 60.5], [10, 20.5]] },
    { id: 2, kind: 'arrow', points: [[0, 0], [30, 40]], text: 'this one' },
  ];
  const told = marks.map((mark, at) => page.drawAnnotation(mark, ['e1', undefined][at], [['e2'], []][at]));
  assert.deepEqual(told, goldenFrames('from_extension').annotations.annotations);
});

// ── The model ──

/** A model with a mark of this kind, drawn from corner to corner. */
function drawn(kind, model = new page.DrawingModel()) {
  model.tool = kind;
  model.begin([10, 10]);
  model.extend([60, 40]);
  return { model, mark: model.end(kind === 'note' ? ' look ' : undefined) };
}

test('marks are numbered as they come, and undo takes back the last', () => {
  const { model } = drawn('rectangle');
  drawn('note', model);
  assert.deepEqual(model.marks.map(({ id, kind, text }) => [id, kind, text]), [[1, 'rectangle', undefined], [2, 'note', 'look']]);
  assert.equal(model.undo().id, 2);
  assert.equal(drawn('arrow', model).mark.id, 2);
  model.begin([0, 0]);
  model.undo();
  assert.equal(model.marks.length, 2, 'what was begun goes first');
});

test('a shaky click is no mark, and neither is a note without words', () => {
  const model = new page.DrawingModel();
  model.begin([10, 10]);
  model.extend([12, 12]);
  assert.equal(model.end(), null);
  model.tool = 'note';
  model.begin([10, 10]);
  assert.equal(model.end('  '), null);
  assert.deepEqual(model.marks, []);
});

test('there is an end to marks', () => {
  const model = new page.DrawingModel();
  for (let n = 0; n < page.DRAW_MARKS_MAX; n += 1) drawn('rectangle', model);
  assert.equal(model.begin([0, 0]), false);
});

test('a screen reader hears of every kind of mark', () => {
  const words = ['rectangle', 'arrow', 'freehand', 'note'].map((kind) => page.drawDescription(drawn(kind).mark));
  assert.deepEqual(words, ['Rectangle 1 drawn, 50 by 30 pixels.', 'Arrow 1 drawn to 60, 40.', 'Line 1 drawn around 35, 25.', 'Note 1 placed: look']);
});

// ── Keys ──

const key = (key, focus, held = {}) => page.drawKey({ key, ...held }, focus);
for (const [name, focus, held, meaning] of [
  ['Escape', 'surface', {}, 'cancel'], ['Escape', 'note', {}, 'cancel'], ['Escape', 'button', {}, 'cancel'],
  ['Enter', 'surface', {}, 'done'], ['Enter', 'note', {}, 'done'], ['Enter', 'note', { shiftKey: true }, null], ['Enter', 'button', {}, null],
  [' ', 'surface', {}, 'mark'], [' ', 'button', {}, null], [' ', 'note', {}, null],
  ['2', 'surface', {}, { tool: 'arrow' }], ['4', 'button', {}, { tool: 'note' }], ['2', 'note', {}, null], ['5', 'surface', {}, null],
  ['z', 'surface', { ctrlKey: true }, 'undo'], ['z', 'button', { metaKey: true }, 'undo'], ['z', 'note', { ctrlKey: true }, null],
  ['ArrowUp', 'surface', {}, { move: [0, -8] }], ['ArrowRight', 'surface', { shiftKey: true }, { move: [64, 0] }],
  ['ArrowUp', 'button', {}, 'ignore'], ['PageDown', 'surface', {}, 'ignore'], ['Tab', 'surface', {}, null],
  ['r', 'surface', { ctrlKey: true }, null], ['Enter', 'note', { isComposing: true }, null],
]) {
  test(`${JSON.stringify(held)} ${name} on the ${focus} means ${JSON.stringify(meaning)}`, () => assert.deepEqual(key(name, focus, held), meaning));
}

// ── Keeping until it is acknowledged ──

let asked;
let answers;
let shown;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  [asked, answers, shown] = [[], [], []];
});

/** A sender whose worker gives these answers, one after the other; `dead` is none. */
function sender(...given) {
  answers = given;
  return new page.DrawSender(async (ask) => {
    asked.push(structuredClone(ask));
    const answer = answers.shift();
    if (answer === 'dead') throw new Error('The message port closed before a response was received.');
    return answer ?? new Promise(() => {});
  }, (progress) => shown.push(progress));
}

const DRAWING = { drawing_id: 'd', annotations: [] };
const pass = async (ms) => {
  await settled();
  mock.timers.tick(ms);
  await settled();
};

test('a killed worker and a daemon that is away cost nothing: the same drawing is sent until it is kept', async () => {
  const sent = sender('dead', { state: 'waiting' }, { state: 'kept' }).send(DRAWING, []);
  await pass(page.DRAW_AGAIN_MS);
  await pass(page.DRAW_AGAIN_MS);
  assert.deepEqual(await sent, { state: 'kept' });
  assert.deepEqual(asked, Array(3).fill({ draw: 'send', drawing: DRAWING, asks: [] }));
});

test('a full disk is tried again, and said', async () => {
  const sent = sender({ state: 'refused', error: { code: 'storage_unavailable', message: '' } }, { state: 'kept' }).send(DRAWING, []);
  await pass(page.DRAW_FULL_MS - 1);
  assert.equal(asked.length, 1);
  await pass(1);
  assert.deepEqual(await sent, { state: 'kept' });
  assert.deepEqual(shown, ['sending', 'full']);
});

test('what will never be taken is told at once, and every reason says what to do', async () => {
  for (const code of ['too_large', 'malformed', 'blocked_by_policy', 'internal']) {
    const end = await sender({ state: 'refused', error: { code, message: 'why' } }).send(DRAWING, []);
    assert.deepEqual(end, { state: 'refused', code, message: 'why' });
    assert.match(page.drawTrouble(end), /Send|Escape/);
  }
});

test('without an answer it says after a while that it waits', async () => {
  sender().send(DRAWING, []);
  await pass(page.DRAW_SLOW_MS - 1);
  assert.deepEqual(shown, ['sending']);
  await pass(1);
  assert.deepEqual(shown, ['sending', 'waiting']);
});

test('whoever asks while it is on its way gets it, too', async () => {
  const asks = [{ correlation_id: 'ann_1' }];
  const sent = sender({ state: 'kept' }, { state: 'kept' }).send(DRAWING, asks);
  asks.push({ correlation_id: 'ann_2', session: 'other' });
  await pass(page.DRAW_AGAIN_MS);
  assert.deepEqual(await sent, { state: 'kept' });
  assert.deepEqual(asked.map((ask) => ask.asks.length), [1, 2]);
});

test('a person who gives it up is not kept waiting', async () => {
  const one = sender({ state: 'waiting' }, { state: 'kept' });
  const sent = one.send(DRAWING, []);
  await settled();
  one.stop();
  await pass(page.DRAW_AGAIN_MS);
  assert.deepEqual([await sent, asked.length], [{ state: 'stopped' }, 1]);
});

test('a question is asked until a worker lives to answer it, and a failure is an answer', async () => {
  const answer = sender('dead', { asks: [] }).ask({ draw: 'load' });
  await pass(page.DRAW_AGAIN_MS);
  assert.deepEqual(await answer, { asks: [] });
  const failed = await sender({ error: { code: 'internal', message: 'x' } }).ask({ draw: 'load' });
  assert.deepEqual(failed.error, { code: 'internal', message: 'x' });
});

// ── The picture ──

const eight = (line) => line.length * 8;

test('a note is broken at its line ends, between words and in words that are too long, never in a letter', () => {
  assert.deepEqual(page.wrapText('make this\nmuch smaller please', 100, eight), ['make this', 'much smaller', 'please']);
  assert.deepEqual(page.wrapText('aaaaaaaaaaaaaaaaaaaa', 80, eight), ['aaaaaaaaaa', 'aaaaaaaaaa']);
  const broken = page.wrapText('\u{1F469}\u200D\u{1F680}'.repeat(9), 80, eight);
  assert.equal(broken.join(''), '\u{1F469}\u200D\u{1F680}'.repeat(9));
  assert.ok(broken.length > 1 && broken.every((line) => line.length % 5 === 0), JSON.stringify(broken));
  assert.deepEqual(page.wrapText('a\n\nb', 80, eight), ['a', '', 'b']);
});

test('the words of a note stay in the picture, wherever it is', () => {
  const size = { width: 400, height: 300 };
  for (const at of [[0, 0], [399, 299], [200, 0], [399, 0], [0, 299]]) {
    const { x, y, width, height } = page.labelBox(at, { width: 200, height: 60 }, size);
    assert.ok(x >= 0 && y >= 0 && x + width <= size.width && y + height <= size.height, `${at}: ${x}, ${y}`);
  }
});

test('a picture is shown as large as there is room for, and never larger than the page', () => {
  assert.equal(page.drawScale({ width: 1000, height: 700 }, { width: 500, height: 600 }), 0.5);
  assert.equal(page.drawScale({ width: 1000, height: 700 }, { width: 3000, height: 2000 }), 1);
  assert.ok(page.drawScale({ width: 1000, height: 700 }, { width: 0, height: 0 }) > 0);
});

test('what a person types on into a drawing that comes up is not taken before they pause', () => {
  const grace = new page.DrawGrace(1_000);
  const times = [1_100, 1_300, 1_690, 2_089, 2_489, 2_490];
  assert.deepEqual(times.map((now) => grace.takes(now)), [false, false, false, false, true, true]);
  assert.equal(new page.DrawGrace(0).takes(page.DRAW_GRACE_MS), true, 'who waits is heard at once');
});

test('a note that is cut at its greatest length ends with a whole letter', () => {
  const model = new page.DrawingModel();
  model.tool = 'note';
  model.begin([1, 1]);
  const { text } = model.end(`${'a'.repeat(page.DRAW_TEXT_MAX - 1)}\u{1F600}`);
  assert.equal(text, 'a'.repeat(page.DRAW_TEXT_MAX - 1));
});

test('the page runs no script but its own files, and no markup comes from a picture\'s page', () => {
  const folder = new URL('../../src/draw/page/', import.meta.url);
  for (const name of [...names, 'main', 'drawing_editor', 'stage', 'toolbar']) {
    assert.doesNotMatch(readFileSync(new URL(`${name}.js`, folder), 'utf8'), /innerHTML|insertAdjacentHTML|setHTML|\beval\(|document\.write/);
  }
  const html = readFileSync(new URL('draw.html', folder), 'utf8');
  assert.deepEqual([...html.matchAll(/<script[^>]*>[^<]*/g)].map(([script]) => script), ['<script type="module" src="main.js">']);
  const { web_accessible_resources } = JSON.parse(readFileSync(new URL('../../manifest.json', import.meta.url), 'utf8'));
  assert.equal(web_accessible_resources, undefined, 'no web page can frame, open or read it');
});

// ── Whoever waits no more ──

const A = { correlation_id: 'ann_a', session: 'checkout' };
const B = { correlation_id: 'ann_b', session: 'cart' };
const PERSONS = {};

for (const [what, asks, over, isDrawn, fate, left] of [
  ['nothing drawn and nobody left', [A], ['ann_a'], false, 'close', [A]],
  ['something drawn and nobody left', [A], ['ann_a'], true, 'keep', [A]],
  ['somebody else left', [A, B], ['ann_a'], false, 'stay', [B]],
  ['somebody else left, for a drawing', [A, B], ['ann_b'], true, 'stay', [A]],
  ['all gone at once', [A, B], ['ann_b', 'ann_a'], false, 'close', [A, B]],
  ['a wait of another drawing gone', [A], ['ann_x'], false, 'stay', [A]],
  ['a person who draws unasked', [PERSONS, A], ['ann_a'], false, 'stay', []],
  ['a person who has drawn unasked', [A, PERSONS], ['ann_a'], true, 'keep', [A]],
]) {
  test(`with ${what} the drawing is to ${fate}`, () => {
    const waits = new page.DrawWaits();
    for (const ask of asks) waits.add(ask);
    assert.equal(waits.end(over, isDrawn), fate);
    assert.deepEqual(waits.asks, left);
  });
}

test('who asks, and in which words, is told while they wait, each for themselves', () => {
  const waits = new page.DrawWaits();
  assert.deepEqual(waits.requests, []);
  waits.add({ ...A, client: 'Claude Code', prompt: 'Circle it' });
  waits.add({ ...B, client: 'Codex' });
  assert.deepEqual([waits.why, waits.requests], ['2 agents ask you to draw on this page',
    [{ client: 'Claude Code', prompt: 'Circle it' }, { client: 'Codex', prompt: '' }]]);
  waits.end([A.correlation_id], false);
  assert.deepEqual(waits.requests, [{ client: 'Codex', prompt: '' }]);
});

test('a drawing that nobody waits for keeps its session, and can be asked for again', () => {
  const waits = new page.DrawWaits();
  waits.add(A);
  waits.end(['ann_a'], true);
  assert.deepEqual([waits.why, waits.session], ['The agent does not wait for this drawing any more', 'checkout']);
  waits.add(B);
  assert.deepEqual([waits.why, waits.session], ['An agent asks you to draw on this page', 'cart']);
  assert.deepEqual(waits.asks, [A, B], 'it is for both');
  assert.equal(waits.end(['ann_b'], false), 'close');
});

test('what was so is so again for a page that takes the place of one', () => {
  const waits = new page.DrawWaits();
  waits.add(A);
  waits.add(B);
  waits.end(['ann_a'], true);
  const again = new page.DrawWaits(structuredClone(waits.record));
  assert.deepEqual(again.record, waits.record);
  assert.equal(again.end(['ann_b'], true), 'keep');
});
