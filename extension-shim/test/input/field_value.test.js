// Values of fields without text, as agents write them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldValue, formOfValue } from '../../src/input/field_value.js';

test('each kind of field takes its value in the ways in which agents write it', () => {
  for (const [type, text, value] of [
    ['date', '2026-11-23', '2026-11-23'], ['date', '2026/1/2', '2026-01-02'], ['date', '2026-11-23T10:00', '2026-11-23'], ['date', '', ''],
    ['time', '14:30', '14:30'], ['time', '9:05', '09:05'], ['time', '2:30 PM', '14:30'], ['time', '12:00 am', '00:00'], ['time', '12:15 p.m.', '12:15'], ['time', '10:00:30', '10:00:30'],
    ['datetime-local', '2026-11-23T14:30', '2026-11-23T14:30'], ['datetime-local', '2026-1-2 9:00', '2026-01-02T09:00'],
    ['month', '2026-11', '2026-11'], ['month', '2026/3', '2026-03'], ['week', '2026-W05', '2026-W05'], ['week', '2026W5', '2026-W05'],
    ['color', '#F80', '#ff8800'], ['color', '#FF8800', '#ff8800'], ['color', 'rgb(255, 136, 0)', '#ff8800'], ['range', '7', '7'], ['range', '0.50', '0.5'], ['text', 'as it is ', 'as it is '],
  ]) assert.equal(fieldValue(type, text), value, `${type} ${text}`);
});

test('a value that is read in two ways, or in none, is refused', () => {
  for (const [type, text] of [
    ['date', '11/23/2026'], ['date', 'tomorrow'], ['time', '25'], ['time', '13:00 pm'], ['datetime-local', '2026-11-23'], ['month', 'November'], ['week', '5'],
    ['color', ''], ['color', '#12'], ['color', 'rgb(300, 0, 0)'], ['range', ''], ['range', 'high'],
  ]) assert.equal(fieldValue(type, text), undefined, `${type} ${text}`);
  assert.match(formOfValue('date'), /2026-11-23/);
});
