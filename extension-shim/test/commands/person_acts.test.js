// What a person does, as steps: nothing that they type is in them, and what a document tells is checked first.
import assert from 'node:assert/strict';
import { test } from 'node:test';

const { checkedAct, PersonSteps } = await import('../../src/commands/person_acts.js');

const NAME = { target: 'role=textbox[name="Name"s]', isSecret: false, called: 'Name', kind: 'textbox' };
const SAVE = { target: 'role=button[name="Save"s]', isSecret: false, called: 'Save', kind: 'textbox' };
const LIST = { target: 'label="Card"', isSecret: true, called: 'Card', kind: 'combobox' };

function shown(...acts) {
  const recording = { client: 'c', steps: [], params: [], left_out: [] };
  const steps = new PersonSteps(recording, () => false);
  for (const act of acts) typeof act === 'function' ? act(steps) : steps.add(act[0], act[1]);
  return recording;
}

test('typing is one step with a parameter, also after a click into its field; typed again it is another one', () => {
  const { steps, params } = shown([{ kind: 'click' }, NAME], [{ kind: 'type' }, NAME], [{ kind: 'type' }, NAME], [{ kind: 'key', key: 'Enter' }, NAME], [{ kind: 'type' }, NAME], [{ kind: 'fill' }, NAME]);
  assert.deepEqual(steps.map(({ action, text }) => text ?? action), ['{{param.name}}', 'press_key', '{{param.name_2}}', 'fill_form']);
  assert.equal(steps[3].fields[0].value, '{{param.name_3}}');
  assert.deepEqual(params, ['name', 'name_2', 'name_3']);
});

test('two clicks are a double one, a choice is the last one, and that of a secret list a parameter', () => {
  const { steps } = shown([{ kind: 'click' }, SAVE], [{ kind: 'double' }, SAVE], [{ kind: 'select', values: ['a'] }, NAME], [{ kind: 'select', values: ['b'] }, NAME], [{ kind: 'select', values: [''] }, LIST], [{ kind: 'check', on: false }, SAVE]);
  assert.deepEqual(steps, [
    { action: 'click', target: SAVE.target, doubleClick: true }, { action: 'select_option', target: NAME.target, values: ['b'] },
    { action: 'select_option', target: LIST.target, values: ['{{param.card}}'] }, { action: 'uncheck', target: SAVE.target },
  ]);
});

test('an element without lasting words, files and new tabs are left out with the reason, and pages have to come again', () => {
  const { steps, left_out: leftOut } = shown(
    [{ kind: 'click' }, { ...SAVE, target: null }], [{ kind: 'file' }, SAVE], [{ kind: 'key', key: 'Escape' }, { ...NAME, target: null, isPage: true }],
    (all) => all.open('https://a.example/?q=1'), (all) => all.reload(), (all) => all.expect('https://a.example/b?q=1#x'), (all) => all.expect('about:blank'), (all) => all.leaveOut('the rest'),
  );
  assert.deepEqual(steps, [{ action: 'press_key', key: 'Escape' }, { action: 'navigate', url: 'https://a.example/?q=1' }, { action: 'refresh' }, { action: 'wait_for', url: 'https://a.example/b' }]);
  assert.deepEqual(leftOut, ['click after step 0: nothing that lasts names Save', 'after step 0: choosing files', 'after step 4: the rest']);
});

test('only acts that there are count, without anything else that a message may hold', () => {
  const words = { names: ['text="a"'], isSecret: false, called: 'a', field: 'textbox' };
  assert.deepEqual(checkedAct({ kind: 'type', text: 'typed', value: 'typed', ...words }), { act: { kind: 'type' }, names: ['text="a"'], isSecret: false, called: 'a', kind: 'textbox', isPage: false });
  assert.equal(checkedAct({ kind: 'click', ...words, isSecret: undefined, field: 'other' })?.isSecret, true);
  for (const wrong of [null, 7, { kind: 'script', ...words }, { kind: 'click' }, { kind: 'click', ...words, names: ['a', 'b', 'c', 'd'] }, { kind: 'click', ...words, names: ['x'.repeat(2_001)] }, { kind: 'click', ...words, called: 'x'.repeat(201) },
    { kind: 'key', ...words, key: 'a' }, { kind: 'key', ...words }, { kind: 'check', ...words }, { kind: 'select', ...words, values: [7] }]) assert.equal(checkedAct(wrong), null, JSON.stringify(wrong));
});
