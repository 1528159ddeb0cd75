// Keys by their names, chords, and text as key events.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clipboardChord, parseChord } from '../../src/input/key_table.js';
import { chordEvents, signEvents, signsOf, textEvents } from '../../src/input/keyboard.js';

/** @param {any[]} events */
function inShort(events) {
  return events.map(({ method, type, key, text, modifiers, commands }) => [
    type ?? method.replace('Input.', ''), key ?? text, ...(key === undefined || text === undefined ? [] : [text]), ...(modifiers ? [modifiers] : []), ...(commands ?? []),
  ].join(' '));
}

test('a key has the name, code, number and text that pages see', () => {
  const stroke = (/** @type {string} */ name) => parseChord(name, false).stroke;
  assert.deepEqual(stroke('a'), { key: 'a', code: 'KeyA', keyCode: 65, text: 'a' });
  assert.deepEqual(stroke('A'), { key: 'A', code: 'KeyA', keyCode: 65, text: 'A' });
  assert.deepEqual(stroke('?'), { key: '?', code: 'Slash', keyCode: 191, text: '?' });
  assert.deepEqual(stroke('+'), { key: '+', code: 'Equal', keyCode: 187, text: '+' });
  assert.deepEqual(stroke('Enter'), { key: 'Enter', code: 'Enter', keyCode: 13, text: '\r' });
  assert.deepEqual(stroke('NumpadAdd'), { key: '+', code: 'NumpadAdd', keyCode: 107, location: 3, text: '+' });
  assert.deepEqual(stroke('F12'), { key: 'F12', code: 'F12', keyCode: 123 });
  assert.deepEqual(stroke('é'), { key: 'é', code: '', keyCode: 0, text: 'é' });
});

test('other names of keys are understood', () => {
  for (const [name, key] of [['esc', 'Escape'], ['Return', 'Enter'], ['Space', ' '], ['arrowdown', 'ArrowDown'], ['Left', 'ArrowLeft'], ['KeyQ', 'q'], ['Digit7', '7'], ['Plus', '+'], ['ctrl', 'Control']]) {
    assert.equal(parseChord(name, false).stroke.key, key, name);
  }
});

test('a chord holds its modifiers while its key is pressed', () => {
  assert.deepEqual(inShort(chordEvents(parseChord('Control+Shift+ArrowLeft', false), false)), [
    'rawKeyDown Control 2', 'rawKeyDown Shift 10', 'rawKeyDown ArrowLeft 10', 'keyUp ArrowLeft 10', 'keyUp Shift 2', 'keyUp Control',
  ]);
  assert.deepEqual(inShort(chordEvents(parseChord('Shift+a', false), false)), ['rawKeyDown Shift 8', 'keyDown A A 8', 'keyUp A 8', 'keyUp Shift']);
  assert.deepEqual(inShort(chordEvents(parseChord('Shift', false), false)), ['rawKeyDown Shift 8', 'keyUp Shift']);
  assert.deepEqual(parseChord('Control++', false).stroke.key, '+');
});

test('editing chords carry their command, by the keys of the system', () => {
  assert.deepEqual(inShort(chordEvents(parseChord('ControlOrMeta+a', true), true)), ['rawKeyDown Meta 4', 'rawKeyDown a 4 selectAll', 'keyUp a 4', 'keyUp Meta']);
  assert.deepEqual(inShort(chordEvents(parseChord('ControlOrMeta+a', false), false))[1], 'rawKeyDown a 2 selectAll');
  assert.deepEqual(inShort(chordEvents(parseChord('Control+Shift+z', false), false))[2], 'rawKeyDown Z 10 redo');
  assert.deepEqual(inShort(chordEvents(parseChord('Control+a', true), true))[1], 'rawKeyDown a 2');
});

test('what is no key is refused with the names that there are', () => {
  for (const chord of ['', 'Foo', 'Control+', 'Foo+a', 'Control+Foo', 'ab', 7, null, `${'Shift+'.repeat(30)}a`]) {
    assert.throws(() => parseChord(chord, false), ({ code, more }) => code === 'invalid_params' && more.hint.includes('ArrowDown'), String(chord));
  }
});

test('chords of the clipboard are known in each form', () => {
  for (const [chord, operation] of [
    ['Control+c', 'copy'], ['Meta+x', 'cut'], ['Control+v', 'paste'], ['Control+Shift+v', 'paste'], ['Meta+Alt+Shift+v', 'paste'], ['Control+V', 'paste'], ['Control+Insert', 'copy'],
    ['Shift+Insert', 'paste'], ['Shift+Delete', 'cut'], ['Control+Shift+c', undefined], ['c', undefined], ['Shift+v', undefined], ['Delete', undefined], ['Control+a', undefined],
  ]) assert.equal(clipboardChord(parseChord(chord, false)), operation, chord);
});

test('text is inserted at once, its last sign by a key if one has it', () => {
  assert.deepEqual(inShort(textEvents('Hey')), ['insertText He', 'keyDown y y', 'keyUp y']);
  assert.deepEqual(inShort(textEvents('A')), ['keyDown A A 8', 'keyUp A 8']);
  for (const text of ['two\n', '😀', 'é', 'né', 'שלום', 'a👨‍👩‍👧']) assert.deepEqual(inShort(textEvents(text)), [`insertText ${text}`]);
  assert.deepEqual(textEvents(''), []);
});

test('signs are those that a person sees, and one that no key has is composed', () => {
  assert.deepEqual(signsOf('a👨‍👩‍👧é\r\nb'), ['a', '👨‍👩‍👧', 'é', '\n', 'b']);
  assert.deepEqual(inShort(signEvents('\n')), ['keyDown Enter \r', 'keyUp Enter']);
  assert.deepEqual(inShort(signEvents('\t')), ['rawKeyDown Tab', 'keyUp Tab']);
  assert.deepEqual(inShort(signEvents('ñ')), ['imeSetComposition ñ', 'insertText ñ']);
});
