// Pages of shapes, angles and drawings, where points count.

/** @import {Hands} from '../hands.mjs' */
/** @typedef {{x: number, y: number}} Point */

/** @param {Hands} hands */
async function clickShape(hands) {
  const [found] = await shapesLike(hands, (await hands.task()).match(/^Click on a (.*)$/)[1]);
  await hands.click(found);
}

/** @param {Hands} hands @param {string} description such as `large red digit` @returns {Promise<[number, number][]>} */
function shapesLike(hands, description) {
  return hands.look((eyes, wanted) => {
    const words = wanted.split(' ');
    const kinds = { circle: 'circle', rect: 'rectangle', polygon: 'triangle' };
    const said = (shape) => {
      const name = kinds[shape.localName] ?? shape.textContent;
      const type = shape.localName === 'text' ? (/\d/.test(name) ? 'digit' : 'letter') : 'shape';
      const height = shape.localName === 'text' ? parseFloat(shape.getAttribute('font-size')) : shape.getBBox().height;
      return { size: height > 15 ? 'large' : 'small', color: shape.getAttribute('fill'), names: [name, type, 'item'] };
    };
    return eyes.all('#area_svg > *').filter((shape) => {
      const { size, color, names } = said(shape);
      return words.every((word, index) => (index === words.length - 1 ? names.includes(word) : word === size || word === color));
    }).map((shape) => eyes.center(shape));
  }, description);
}

/** @param {Hands} hands */
async function countShapes(hands) {
  const found = await shapesLike(hands, (await hands.task()).match(/How many (.*)s are there/)[1]);
  await hands.clickNamed('#count-buttons button', String(found.length));
}

/** @param {Hands} hands */
async function nameShape(hands) {
  const name = await hands.look(() => {
    const [shape] = document.querySelector('#area_svg').children;
    if (shape.localName === 'text') return /\d/.test(shape.textContent) ? 'Number' : 'Letter';
    return { circle: 'Circle', rect: 'Rectangle', polygon: 'Triangle' }[shape.localName];
  });
  await hands.clickNamed('#area-buttons button', name);
}

/** The line's distance from the middle swings as often as there are corners. @param {Hands} hands */
async function countSides(hands) {
  const sides = await hands.look(() => {
    const canvas = document.querySelector('#c');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const distances = Array.from({ length: 360 }, (_, degree) => {
      const [cos, sin] = [Math.cos(degree * Math.PI / 180), Math.sin(degree * Math.PI / 180)];
      let distance = 45;
      while (distance > 0 && data[(Math.round(50 + distance * sin) * canvas.width + Math.round(75 + distance * cos)) * 4 + 3] < 128) distance -= 0.5;
      return distance;
    });
    const strength = (times) => Math.hypot(...[Math.cos, Math.sin].map((wave) => distances
      .reduce((sum, distance, degree) => sum + distance * wave(times * degree * Math.PI / 180), 0)));
    return [3, 4, 5, 6, 7].sort((one, other) => strength(other) - strength(one))[0];
  });
  await hands.clickNamed('#form button', String(sides));
}

/** @param {Hands} hands */
async function gridPoint(hands) {
  const [, x, y] = (await hands.task()).match(/\((-?\d),(-?\d)\)/).map(Number);
  await hands.click(await hands.look((eyes, column, row) => {
    const centers = eyes.all('#area svg circle').map((circle) => eyes.center(circle));
    const [left, top] = [0, 1].map((axis) => Math.min(...centers.map((center) => center[axis])));
    return [left + (column + 2) * 30, top + (2 - row) * 30];
  }, x, y));
}

/** The circles' centres in the picture's own units: the page draws a click at its place in the view less 50 px from the top.
 * @param {Hands} hands @param {string} selector @returns {Promise<Point[]>} */
function centers(hands, selector) {
  return hands.look((eyes, chosen) => eyes.all(chosen).map((circle) => ({ x: circle.cx.baseVal.value, y: circle.cy.baseVal.value })), selector);
}

/** Clicks the pixel that misses by least. @param {Hands} hands @param {(point: Point) => number} miss */
async function clickBest(hands, miss) {
  const points = [];
  for (let x = 4; x < 148; x += 1) for (let y = 4; y < 126; y += 1) points.push({ x, y, miss: miss({ x, y }) });
  const best = points.filter((point) => Number.isFinite(point.miss)).sort((one, other) => one.miss - other.miss)[0];
  await hands.click([best.x, best.y + 50]);
  await hands.click('#subbtn');
}

/** @param {Point} one @param {Point} other */
const distance = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);

/** In degrees. @param {Point} one @param {Point} corner @param {Point} other */
function angle(one, corner, other) {
  const between = Math.abs(Math.atan2(one.y - corner.y, one.x - corner.x) - Math.atan2(other.y - corner.y, other.x - corner.x)) * 180 / Math.PI;
  return between > 180 ? 360 - between : between;
}

/** @param {Hands} hands */
async function bisect(hands) {
  const [[corner], [one, other]] = [await centers(hands, '.init-blue'), await centers(hands, '.init-black')];
  const whole = angle(one, corner, other);
  await clickBest(hands, (point) => {
    if (distance(point, corner) < 15) return Infinity;
    return Math.max(angle(one, corner, point), angle(other, corner, point)) - whole / 2;
  });
}

/** @param {Hands} hands */
async function rightAngle(hands) {
  const [[corner], [one]] = [await centers(hands, '#init-blue'), await centers(hands, '#init-black')];
  await clickBest(hands, (point) => (distance(point, corner) < 15 ? Infinity : Math.abs(90 - angle(one, corner, point))));
}

/** @param {Hands} hands @param {string} selector of circles whose common middle is wanted */
async function middle(hands, selector) {
  const all = await centers(hands, selector);
  const mean = { x: all.reduce((sum, { x }) => sum + x, 0) / all.length, y: all.reduce((sum, { y }) => sum + y, 0) / all.length };
  await clickBest(hands, (point) => distance(point, mean));
}

/** @param {Hands} hands @param {(center: [number, number]) => [number, number][]} line */
async function drawAround(hands, line) {
  await hands.draw(line(await hands.look((eyes) => eyes.center(document.querySelector('#circ')))));
  await hands.click('#controls button');
}

/** @param {[number, number]} center @returns {[number, number][]} */
function circleAround([x, y]) {
  return Array.from({ length: 25 }, (_, index) => [x + 20 * Math.cos(index * Math.PI / 12), y + 20 * Math.sin(index * Math.PI / 12)]);
}

/** @param {Hands} hands */
async function drawLine(hands) {
  const across = (await hands.task()).includes('horizontal');
  await drawAround(hands, ([x, y]) => [-2, -1, 0, 1, 2].map((step) => (across ? [x + step * 11, y] : [x, y + step * 11])));
}

/** @param {Hands} hands */
async function pie(hands) {
  const name = (await hands.task()).match(/labeled "(.*)"/)[1];
  await hands.click('#wheelnav-divWheel-spreader');
  // The slices fly to their places.
  const place = await hands.until(async (eyes, wanted) => {
    const find = () => eyes.all('#divWheel text').find((text) => eyes.text(text) === wanted && text.getBoundingClientRect().height > 20);
    const places = [];
    for (let look = 0; look < 2; look += 1) {
      const found = find();
      if (!found) return undefined;
      places.push(eyes.center(found).join());
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
    return places[0] === places[1] ? eyes.center(find()) : undefined;
  }, name);
  // A slice comes to the front when the pointer does.
  await hands.hover(place);
  await hands.click(place);
}

export default {
  'click-shape': clickShape,
  'count-shape': countShapes,
  'identify-shape': nameShape,
  'count-sides': countSides,
  'grid-coordinate': gridPoint,
  'bisect-angle': bisect,
  'right-angle': rightAngle,
  'find-midpoint': (hands) => middle(hands, '.black-circle'),
  'circle-center': (hands) => middle(hands, '.black-circle'),
  'draw-circle': (hands) => drawAround(hands, circleAround),
  'draw-line': drawLine,
  'click-pie': pie,
  'click-pie-nodelay': pie,
};
