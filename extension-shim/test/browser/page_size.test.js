// @ts-check
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { hasSize } from '../../src/browser/page_size.js';
import { SIZE_MS } from '../../src/browser/limits.js';

const WINDOW = { width: 1_000, height: 700 };
const layout = (/** @type {number} */ clientWidth, /** @type {number} */ clientHeight, more = {}) => ({ cssVisualViewport: { clientWidth, clientHeight, scale: 1, zoom: 1, ...more } });

/** Measures that come one after the other; the last one stays. @param {object[]} measures */
function measuring(...measures) {
  let asked = 0;
  return Object.assign(async () => measures[Math.min(asked++, measures.length - 1)], { asked: () => asked });
}

let now = 0;
beforeEach(({ mock }) => {
  now = 0;
  mock.method(performance, 'now', () => now);
  mock.method(globalThis, 'setTimeout', (/** @type {() => void} */ done, /** @type {number} */ ms) => {
    now += ms;
    queueMicrotask(done);
  });
});

test('a page that is told its size late is waited for', async () => {
  const measure = measuring(layout(390, 844), layout(390, 844), layout(1_000, 700));
  assert.equal(await hasSize(measure, async () => WINDOW), true);
  assert.equal(measure.asked(), 3);
});

test('scrollbars, the zoom of the page and of a narrow screen are part of a size', async () => {
  for (const metrics of [layout(985, 685), layout(500, 350, { zoom: 2 }), layout(2_500, 1_750, { scale: 0.4 })]) {
    const measure = measuring(metrics);
    assert.equal(await hasSize(measure, async () => WINDOW), true);
    assert.equal(measure.asked(), 1);
  }
});

test('the height counts too, and a view whose size is not known is not waited for', async () => {
  assert.equal(await hasSize(measuring(layout(1_000, 844)), async () => WINDOW), false);
  assert.equal(await hasSize(measuring(layout(390, 844)), async () => ({ width: 0, height: 0 })), true);
});

test('a page that is never told its size is given up, and the window may be resized meanwhile', async () => {
  assert.equal(await hasSize(measuring(layout(390, 844)), async () => WINDOW), false);
  assert.ok(now > SIZE_MS && now < SIZE_MS * 1.2, `${now} ms`);
  const sizes = measuring(WINDOW, { width: 390, height: 844 });
  assert.equal(await hasSize(measuring(layout(390, 844)), /** @type {any} */ (sizes)), true);
});
