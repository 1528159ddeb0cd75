// Stored values: which uses are taken, before anybody is asked about one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { checkedUse } = await import('../../src/actions/storage.js');

for (const [wrong, says] of [
  [{ operation: 'get' }, /^area must be one of cookies, local, session, indexed_db/],
  [{ area: 'files', operation: 'get' }, /^area must/],
  [{ area: 'local', operation: 'clear' }, /^operation must be one of get, set, delete/],
  [{ area: 'indexed_db', operation: 'delete', name: 'shop/items' }, /read only/],
  [{ area: 'local', operation: 'delete' }, /^name must say which value to delete/],
  [{ area: 'local', operation: 'set', value: 'a' }, /^name must say which value to set/],
  [{ area: 'local', operation: 'set', name: 'a' }, /^value must be a text/],
  [{ area: 'local', operation: 'set', name: 'a', value: 7 }, /^value must be a text/],
  [{ area: 'local', operation: 'set', name: 'a', value: 'a'.repeat(100_001) }, /at most 100000/],
  [{ area: 'local', operation: 'get', name: '' }, /^name must be a text/],
  [{ area: 'local', operation: 'get', name: 'a'.repeat(1_001) }, /^name has 1001 characters/],
  [{ area: 'local', operation: 'get', name: 'a', value: 'b' }, /^value is for operation set/],
]) {
  test(`no use is ${JSON.stringify(wrong).slice(0, 90)}`, () => {
    assert.throws(() => checkedUse(wrong), { code: 'invalid_params', message: says });
  });
}

test('a value may be empty, and of all that is there only what is read', () => {
  assert.deepEqual(checkedUse({ area: 'local', operation: 'set', name: 'a', value: '' }), { area: 'local', operation: 'set', name: 'a', value: '' });
  assert.deepEqual(checkedUse({ area: 'cookies', operation: 'get' }), { area: 'cookies', operation: 'get', name: undefined, value: undefined });
});
