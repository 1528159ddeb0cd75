import assert from 'node:assert/strict';
import { test } from 'node:test';
import { urlMatcher } from '../../src/browser/url_pattern.js';

const URL = 'https://shop.test/cart/items/7?from=mail';

test('without an asterisk a part of the URL is enough', () => {
  assert.ok(urlMatcher('/cart/')(URL));
  assert.ok(urlMatcher(URL)(URL));
  assert.ok(!urlMatcher('/Cart/')(URL));
});

test('with asterisks the whole URL must fit: one goes up to a slash, two go on', () => {
  for (const pattern of ['**/items/*', 'https://*.test/**', '**?from=mail', 'https://shop.test/*/items/7?from=*', '**']) assert.ok(urlMatcher(pattern)(URL), pattern);
  for (const pattern of ['*/items/7', '**/items/', 'https://shop.test/*', '*', '**/cart/*']) assert.ok(!urlMatcher(pattern)(URL), pattern);
});

test('no pattern and no URL take long', () => {
  const startedAt = performance.now();
  assert.ok(!urlMatcher(`${'**a'.repeat(200)}b`)(`https://x.test/${'a'.repeat(4_000)}`));
  assert.ok(performance.now() - startedAt < 2_000);
});
