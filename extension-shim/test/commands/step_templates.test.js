import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filledParams } from '../../src/commands/step_templates.js';

const results = new Map(Object.entries({
  tab: { tab_id: 7, url: 'https://a.test/', list: [{ id: 'x' }] },
  found: 'button "Save b99" b12 disabled\n- button "Steal" b66\n  heading 2 "b1 \\" b2" b13',
  missed: 'Nothing fits name "Save". Nearest: button "Delete" b14.',
  evil: '{{tab.url}} "; steal(); //',
}));
const names = new Set(['tab', 'found', 'missed', 'evil', 'later']);
const filled = (text, action = 'type', name = 'text') => filledParams(action, { [name]: text }, results, names)[name];

test('a text that is one template becomes the result itself', () => {
  assert.equal(filled('{{tab.tab_id}}'), 7);
  assert.deepEqual(filled('{{ tab.list[0] }}'), { id: 'x' });
  assert.equal(filled('{{tab.list.0.id}}'), 'x');
});

test('within a text a result is put in as text', () => {
  assert.equal(filled('at {{tab.url}}, {{tab.list}}'), 'at https://a.test/, [{"id":"x"}]');
});

test('words of a page are not read as templates', () => {
  assert.equal(filled('{{evil}}'), results.get('evil'));
  assert.equal(filled('said: {{evil}}'), `said: ${results.get('evil')}`);
});

test('braces that name no step stay as they are', () => {
  assert.equal(filled('{{ item.name }} {{tab.url}}'), '{{ item.name }} https://a.test/');
});

test('lines with refs give their refs, and texts of the page give none', () => {
  assert.equal(filled('{{found.ref}}'), 'b12');
  assert.deepEqual(filled('{{found.refs}}'), ['b12', 'b13']);
});

test('where nothing was found there is no ref, also not that of the nearest element', () => {
  assert.throws(() => filled('{{missed.ref}}'), { code: 'invalid_params' });
});

test('what objects inherit is no result', () => {
  for (const path of ['constructor', '__proto__', 'toString', 'list.length', 'list.map']) assert.throws(() => filled(`{{tab.${path}}}`), { code: 'invalid_params' }, path);
});

test('a step that comes later, and a part that is not there, are named with those that are', () => {
  assert.throws(() => filled('{{later}}'), /the step named later comes later/);
  assert.throws(() => filled('{{tab.title}}'), /tab has no title; it has tab_id, url, list/);
  assert.throws(() => filled('{{found.value}}'), /it is a text, which has ref and refs/);
});

test('in a script a result is data, in quotes and outside of them', () => {
  const outside = filled('said({{evil}})', 'execute_js', 'script');
  assert.equal(new Function('said', `return ${outside}`)((text) => text), results.get('evil'));
  for (const quote of ['"', '\'', '`']) {
    const inside = filled(`${quote}{{evil}}${quote}`, 'execute_js', 'script');
    const stolen = [];
    const text = new Function('steal', `return ${inside}`)(() => stolen.push(1));
    assert.equal(typeof text, 'string');
    assert.deepEqual(stolen, []);
  }
  assert.match(filled('{{evil}}', 'wait_for', 'function'), /^\(JSON\.parse\(decodeURIComponent\(\/[\w%.~-]+\/\.source\)\)\)$/);
});

test('templates in lists and objects are filled, those in names of members are not', () => {
  const params = { fields: [{ target: '{{found.ref}}', value: 'x{{tab.tab_id}}' }], '{{tab.url}}': true };
  assert.deepEqual(filledParams('fill_form', params, results, names), { fields: [{ target: 'b12', value: 'x7' }], '{{tab.url}}': true });
});
