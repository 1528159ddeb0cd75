// What tells one run of the browser from the next.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { browserSession } = await import('../../src/connection/identity.js');

test('a session outlives the worker and ends with the browser', async () => {
  const { session } = installChrome();
  const first = await browserSession();
  assert.match(first, /^run_[0-9a-f]{32}$/);
  assert.equal(await browserSession(), first);
  session.data = {}; // As the browser leaves it when it ends.
  assert.notEqual(await browserSession(), first);
});
