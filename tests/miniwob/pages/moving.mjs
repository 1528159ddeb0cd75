// Pages where time counts, things move, or somebody plays against one.
import { setTimeout as pause } from 'node:timers/promises';

/** @import {Hands} from '../hands.mjs' */

/** @param {Hands} hands */
function isOver(hands) {
  return hands.look(() => globalThis.WOB_DONE_GLOBAL);
}

/** @param {Hands} hands */
async function waitBetween(hands) {
  const seconds = Number((await hands.task()).match(/wait (\d)/)[1]);
  await hands.click('#subbtn');
  await pause(seconds * 1_000);
  await hands.click('#subbtn2');
}

/** @param {Hands} hands */
async function followCircle(hands) {
  while (!await isOver(hands)) await hands.hover(await hands.look((eyes) => eyes.center(document.querySelector('#circ'))));
}

/** @param {Hands} hands */
async function stayOnSquare(hands) {
  while (!await isOver(hands)) await hands.hover(await hands.look((eyes) => eyes.center(document.querySelector('#highlight'))));
}

/** @param {Hands} hands */
async function clickMoving(hands) {
  while (!await isOver(hands)) {
    const place = await hands.look((eyes) => eyes.all('#area_svg .item').map((item) => eyes.center(item))
      .find(([x, y]) => x > 10 && x < 150 && y > 60 && y < 200));
    if (place) await hands.click(place, { wait: 'none' });
    else await pause(20);
  }
}

/** @param {Hands} hands */
async function ascending(hands) {
  const places = await hands.look((eyes) => eyes.all('#area_svg text')
    .sort((one, other) => Number(one.textContent) - Number(other.textContent)).map((text) => eyes.center(text)));
  for (const place of places) await hands.click(place);
}

/** @param {Hands} hands */
async function repeatButtons(hands) {
  const sequence = await hands.look(() => new Promise((resolve) => {
    const seen = [];
    let ended = setTimeout(resolve, 2_000, seen);
    new MutationObserver((changes) => {
      for (const { target } of changes) if (target.classList.contains('push')) seen.push(target.id);
      clearTimeout(ended);
      ended = setTimeout(resolve, 1_200, seen);
    }).observe(document.querySelector('#area'), { subtree: true, attributeFilter: ['class'] });
  }));
  for (const button of sequence) await hands.click(`#${button}`);
}

/** @param {Hands} hands */
async function buyLow(hands) {
  await hands.look((eyes) => new Promise((resolve) => {
    const limit = parseFloat(eyes.text('#query').split('$')[1]);
    const price = document.querySelector('#stock-price');
    new MutationObserver((_, observer) => {
      if (parseFloat(price.textContent.slice(1)) > limit) return;
      observer.disconnect();
      resolve(true);
    }).observe(price, { childList: true });
  }));
  await hands.click('#buy', { wait: 'none' });
}

/** Each look leaves the points that fit to all that the page has said. @param {Hands} hands */
async function findHot(hands) {
  const area = await hands.look(() => {
    const { left, top, right, bottom } = document.querySelector('#touch-area').getBoundingClientRect();
    return [left + 1, top + 1, right - 2, bottom - 2].map(Math.round);
  });
  let points = [];
  for (let x = area[0]; x <= area[2]; x += 1) for (let y = area[1]; y <= area[3]; y += 1) points.push([x, y]);
  const bands = { HOT: [0, 5], WARM: [5, 10], COLD: [10, 40], 'ICE COLD': [40, Infinity] };
  for (;;) {
    const mean = [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length);
    const far = (point, from) => Math.hypot(point[0] - from[0], point[1] - from[1]);
    const next = points.reduce((best, point) => (far(point, mean) < far(best, mean) ? point : best));
    await hands.hover(next);
    const said = await hands.look((eyes) => eyes.text('#signal'));
    if (said === 'HOT') return hands.click(next);
    const [least, most] = bands[said];
    points = points.filter((point) => point !== next && far(point, next) >= least && far(point, next) < most);
  }
}

const LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];

/** @typedef {('x' | 'o' | '')[]} Board */

/** @param {Board} board @param {'x' | 'o'} mark */
const hasWon = (board, mark) => LINES.some((line) => line.every((place) => board[place] === mark));
/** @param {Board} board */
const free = (board) => board.flatMap((mark, place) => (mark === '' ? [place] : []));
/** @param {Board} board @param {number} place @param {'x' | 'o'} mark @returns {Board} */
const marked = (board, place, mark) => Object.assign([...board], { [place]: mark });

/** The place that ends a line for this mark. @param {Board} board @param {'x' | 'o'} mark */
function ending(board, mark) {
  return free(board).find((place) => hasWon(marked(board, place, mark), mark));
}

/** How likely X wins when O plays: about every second time at random, else to end a line or to hinder one. @param {Board} board @returns {number} */
function chanceAfter(board) {
  if (hasWon(board, 'x')) return 1;
  const places = free(board);
  if (places.length === 0) return 0;
  const chance = (place) => (hasWon(marked(board, place, 'o'), 'o') ? 0 : bestMove(marked(board, place, 'o')).chance);
  const random = places.reduce((sum, place) => sum + chance(place), 0) / places.length;
  const wise = ending(board, 'o') ?? ending(board, 'x');
  return wise === undefined ? random : 0.55 * random + 0.45 * chance(wise);
}

/** @param {Board} board */
function bestMove(board) {
  const moves = free(board).map((place) => ({ place, chance: chanceAfter(marked(board, place, 'x')) }));
  return moves.reduce((best, move) => (move.chance > best.chance ? move : best), { place: -1, chance: 0, ...moves[0] });
}

/** @param {Hands} hands */
async function playTicTacToe(hands) {
  while (!await isOver(hands)) {
    const board = await hands.look((eyes) => eyes.all('.ttt-row span').map((field) => (field.className === '' ? '' : field.className.at(-1))));
    await hands.click(`#ttt-${bestMove(board).place}`);
  }
}

export default {
  'button-delay': waitBetween,
  'chase-circle': followCircle,
  'hover-shape': stayOnSquare,
  'moving-items': clickMoving,
  'ascending-numbers': ascending,
  'simon-says': repeatButtons,
  'stock-market': buyLow,
  'hot-cold': findHot,
  'tic-tac-toe': playTicTacToe,
};
