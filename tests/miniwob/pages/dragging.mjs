// Pages where something is dragged, sorted, resized or marked.
import { setTimeout as pause } from 'node:timers/promises';

/** @import {Hands} from '../hands.mjs' */

const WAYS = { left: [-30, 0], right: [30, 0], up: [0, -30], down: [0, 30] };

/** @param {Hands} hands @param {string} target @returns {Promise<[number, number]>} */
function centerOf(hands, target) {
  return hands.look((eyes, chosen) => eyes.center(document.querySelector(chosen)), target);
}

/** @param {Hands} hands @param {[number, number]} start @param {number[]} by */
function dragBy(hands, start, by) {
  return hands.drag(start, [start[0] + by[0], start[1] + by[1]]);
}

/** @param {Hands} hands */
async function dragShape(hands) {
  const [way] = (await hands.task()).match(/left|right|up|down/);
  await dragBy(hands, await centerOf(hands, '#area svg > *'), WAYS[way]);
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
async function boxIntoBox(hands) {
  const { start, by } = await hands.look((eyes) => {
    const [small, large] = ['#draggableSmall', '#draggableLarge'].map((id) => document.querySelector(id).getBoundingClientRect());
    return { start: eyes.center(document.querySelector('#draggableSmall')), by: [large.left + 15 - small.left, large.top + 15 - small.top] };
  });
  await dragBy(hands, start, by);
  await hands.click('#subbtn');
}

/** The inner points of each shape that is asked for, and of each other. @param {Hands} hands @param {string} asked */
function shapesFor(hands, asked) {
  return hands.look((eyes, wanted) => {
    const kinds = { rectangles: 'rect', circles: 'circle', triangles: 'polygon' };
    const all = eyes.all('#area_svg :is(rect, circle, polygon)').filter((shape) => shape.getAttribute('fill') !== 'none');
    const fits = (shape) => (kinds[wanted] ? shape.localName === kinds[wanted] : shape.getAttribute('fill') === wanted);
    const places = (shapes) => shapes.map((shape) => eyes.center(shape));
    return {
      asked: places(all.filter(fits)),
      others: places(all.filter((shape) => !fits(shape))),
      boxes: eyes.all('#area_svg rect[fill=none]').map((box) => eyes.center(box)),
    };
  }, asked);
}

/** @param {Hands} hands */
async function shapesIntoBoxes(hands) {
  const task = await hands.task();
  const [, name] = task.match(/Drag all (\w+)/);
  const { asked, others, boxes: [left, right] } = await shapesFor(hands, name);
  for (const start of asked) await hands.drag(start, left);
  if (task.includes('right box')) for (const start of others) await hands.drag(start, right);
  await hands.click('#subbtn');
}

/** @param {Hands} hands @param {number} from @param {number} to */
async function moveItem(hands, from, to) {
  const item = (index) => `#sortable > li:nth-child(${index + 1})`;
  await hands.drag(await centerOf(hands, item(from)), await centerOf(hands, item(to)));
}

/** @param {Hands} hands @param {(task: string, from: number, count: number) => number} target */
async function sortItem(hands, target) {
  const task = await hands.task();
  const names = await hands.look((eyes) => eyes.all('#sortable li').map((item) => eyes.text(item)));
  const from = names.findIndex((name) => task.startsWith(`Drag ${name} `));
  await moveItem(hands, from, target(task, from, names.length));
}

/** @param {string} task @param {number} from @param {number} count */
function placeInList(task, from, count) {
  if (task.includes('to the top')) return 0;
  if (task.includes('to the bottom')) return count - 1;
  if (task.includes('up by one')) return from - 1;
  if (task.includes('down by one')) return from + 1;
  return parseInt(task.match(/to the (\d+)/)[1], 10) - 1;
}

/** @param {string} task @param {number} from */
function placeInGrid(task, from) {
  const [, way] = task.match(/(up|down|left|right) by one/) ?? [];
  if (way) return from + { up: -3, down: 3, left: -1, right: 1 }[way];
  const row = task.includes('top') ? 0 : task.includes('bottom') ? 2 : 1;
  const column = task.includes('left') ? 0 : task.includes('right') ? 2 : 1;
  return row * 3 + column;
}

/** @param {Hands} hands */
async function sortNumbers(hands) {
  for (;;) {
    const numbers = await hands.look((eyes) => eyes.all('#sortable li').map((item) => Number(eyes.text(item))));
    const sorted = [...numbers].sort((one, other) => one - other);
    const place = numbers.findIndex((number, index) => number !== sorted[index]);
    if (place < 0) return hands.click('#subbtn');
    await moveItem(hands, numbers.lastIndexOf(sorted[place]), place);
  }
}

/** @param {Hands} hands */
async function resize(hands) {
  const [, side, way] = (await hands.task()).match(/the (width|height) is (smaller|larger)/);
  const by = way === 'larger' ? 15 : -15;
  await dragBy(hands, await centerOf(hands, '.ui-resizable-se'), side === 'width' ? [by, 0] : [0, by]);
  await hands.click('#submit');
}

/** @param {Hands} hands */
async function highlight(hands) {
  const position = Number((await hands.task()).match(/the (\d)/)?.[1] ?? 1);
  const [start, end] = await hands.look((eyes, index) => {
    const text = document.querySelectorAll('#randomText p')[index - 1] ?? document.querySelector('#randomText');
    const node = text.firstChild;
    return eyes.ends(node, 0, node.data.trimEnd().length);
  }, position);
  await hands.drag(start, [end[0] + 2, end[1]]);
  await hands.click('#subbtn');
}

/** Turns it until the side is in front: its angles stand in its style. @param {Hands} hands */
async function turnCube(hands) {
  const side = (await hands.task()).match(/"(\d)"/)[1];
  const tilt = { 1: 264, 6: 88 }[side];
  for (let push = 0; push < 30; push += 1) {
    const { active, up, around } = await hands.look(async (eyes) => {
      const cube = document.querySelector('.cube');
      const turned = () => cube.style.transform || getComputedStyle(cube).transform;
      for (let before = ''; before !== turned();) {
        before = turned();
        await new Promise((resolve) => { setTimeout(resolve, 60); });
      }
      const [vertical, horizontal] = cube.style.transform.match(/-?[\d.]+(?=deg)/g)?.map(Number) ?? [136, 1122];
      return { active: eyes.text('.cube-image.active'), up: vertical, around: horizontal };
    });
    if (active === side) return hands.click('#subbtn');
    const level = up < 44 || up > 310;
    if (tilt !== undefined) await turn(hands, [0, up - tilt]);
    else if (!level) await turn(hands, [0, up > 180 ? up - 360 : up]);
    else await turn(hands, [(86 * [0, 3, 2, 1][side - 2] - around + 540) % 360 - 180, 0]);
  }
  throw new Error(`side ${side} never came to the front`);
}

/** The page looks fifty times a second how far the pointer has come and whether its button is down: it is moved, pressed at
 * once, and held for some of these looks. @param {Hands} hands @param {number[]} degrees */
async function turn(hands, degrees) {
  const pixels = degrees.map((angle) => Math.sign(angle) * (Math.abs(angle) + 14) / 2.2);
  await hands.hover([400, 350]);
  await pause(60);
  await hands.click([400 + pixels[0], 350 + pixels[1]], { hold_ms: 60, wait: 'none' });
}

/** The middles of the first and the last of some half hours in a row that nothing covers.
 * @param {Hands} hands @param {number} start @param {number} end @param {number} count @returns {Promise<[number, number][]>} */
async function freeRows(hands, start, end, count) {
  for (let first = start; first + count <= end; first += 1) {
    for (const row of [first + count - 1, first]) await hands.scroll(`#hh-${row}`);
    const centers = await hands.look((eyes, from, many) => {
      const rows = Array.from({ length: many }, (_, index) => document.querySelector(`#hh-${from + index}`));
      const isFree = (row) => document.elementFromPoint(...eyes.center(row)) === row;
      return rows.every(isFree) && [eyes.center(rows[0]), eyes.center(rows.at(-1))];
    }, first, count);
    if (centers) return centers;
  }
  throw new Error(`no ${count} free half hours`);
}

/** @param {Hands} hands */
async function createEvent(hands) {
  const task = await hands.task();
  const [, length, unit, name, first, half, last] = task.match(/Create a ([\d.]+) (hours?|mins) event named "(.*)", between (\d+)([AP])M and (\d+)/);
  const count = unit === 'mins' ? length / 30 : length * 2;
  const start = ((Number(first) % 12) + (half === 'P' ? 12 : 0)) * 2;
  const end = start + (((Number(last) - Number(first) + 12) % 12) * 2);
  const [[x, top], [, bottom]] = await freeRows(hands, start, end, count);
  await hands.drag([x, top - 3], [x, bottom + 4]);
  // The page may draw the event beside the rows that it was dragged over, and waits until it is released there.
  if (await hands.look(() => document.querySelector('#event-name') === null)) await hands.click('#newEvent');
  await hands.type('#event-name', name);
  await hands.click('#controls .create');
}

export default {
  'drag-circle': dragShape,
  'drag-single-shape': dragShape,
  'drag-box': boxIntoBox,
  'drag-shapes': shapesIntoBoxes,
  'drag-shapes-2': shapesIntoBoxes,
  'drag-items': (hands) => sortItem(hands, placeInList),
  'drag-items-grid': (hands) => sortItem(hands, placeInGrid),
  'drag-sort-numbers': sortNumbers,
  'drag-cube': turnCube,
  'resize-textarea': resize,
  'highlight-text': highlight,
  'highlight-text-2': highlight,
  'daily-calendar': createEvent,
};
