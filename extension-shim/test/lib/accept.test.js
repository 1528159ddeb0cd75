import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptsFile } from '../../src/lib/accept.js';

test('a field says by endings and kinds which files it asks for', () => {
  for (const [accept, name, type, is] of [
    ['', 'a.exe', '', true],
    [' , ', 'a.exe', '', true],
    ['image/*', 'cat.png', 'image/png', true],
    ['IMAGE/*', 'cat.png', 'image/png', true],
    ['image/*', 'notes.txt', 'text/plain', false],
    ['image/*', 'unknown', '', false],
    ['.pdf, .JPG', 'photo.jpg', '', true],
    ['.pdf', 'pdf', '', false],
    ['application/pdf', 'a.pdf', 'application/pdf', true],
    ['application/pdf', 'a.pdf', '', false],
    ['*/*', 'a', '', true],
  ]) assert.equal(acceptsFile(accept, name, type), is, `${accept}: ${name} ${type}`);
});
