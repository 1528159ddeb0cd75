// How agents name elements.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTarget, queryInWords, selectorSplits } from '../../src/browser/target_query.js';

test('each form of a target is understood', () => {
  for (const [target, parsed] of [
    ['b12', { ref: 'b12' }], ['@aa3', { ref: 'aa3' }], ['ref=b12', { ref: 'b12' }],
    ['h1', { query: { css: 'h1' } }], ['form input[name="q"]', { query: { css: 'form input[name="q"]' } }], ['css=b12', { query: { css: 'b12' } }], ['b0', { query: { css: 'b0' } }],
    ['text=Save all', { query: { text: 'Save all' } }], ['text="Save"', { query: { text: 'Save', exact: true } }],
    ['role=button', { query: { role: 'button' } }], ['role=button[name="Save"]', { query: { role: 'button', name: 'Save' } }],
    ['role=button[name=Save now]', { query: { role: 'button', name: 'Save now' } }], ['role=link[name="a \\"b\\" ]" i]', { query: { role: 'link', name: 'a "b" ]' } }],
    ['role=link[name="A" s]', { query: { role: 'link', name: 'A', exact: true } }],
    ['label=Email', { query: { label: 'Email' } }], ['placeholder=Search', { query: { placeholder: 'Search' } }],
    ['testid=save', { query: { testid: 'save' } }], ['data-testid="save"', { query: { testid: 'save' } }],
  ]) assert.deepEqual(parseTarget(target), parsed, target);
});

test('what is no target is refused with the forms that there are', () => {
  for (const target of [undefined, 7, '', '  ', 'x'.repeat(2_001), 'role=button[name="Save"', 'role=[x]']) {
    assert.throws(() => parseTarget(target), ({ code, more }) => code === 'invalid_params' && more.hint.includes('text=Save'), String(target));
  }
});

test('a query is told in words', () => {
  assert.equal(queryInWords({ role: 'button', name: 'Save' }), 'role button and name "Save"');
  assert.equal(queryInWords({ css: '#a' }), 'the selector "#a"');
});

test('a selector is parted at the spaces between elements only', () => {
  assert.deepEqual(selectorSplits('#a [title="x y"] b'), [['#a', '[title="x y"] b'], ['#a [title="x y"]', 'b']]);
  assert.deepEqual(selectorSplits('a > b, c:is(d e)'), []);
  assert.deepEqual(selectorSplits('a\\ b'), []);
});
