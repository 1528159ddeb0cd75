import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The folders, bottom up. Those of one line do not import each other. */
const LAYERS = [['src/lib'], ['src/connection', 'src/commands', 'src/policy', 'src/injected'], ['src/browser'],
  ['src/analysis', 'src/scripts', 'src/capture'], ['src/asks', 'src/draw', 'src/input'], ['src/actions'], ['src/worker'], ['popup', '.']];

const files = readdirSync(ROOT, { recursive: true }).filter((file) => file.endsWith('.js') && !file.startsWith('test'));
const folderOf = (file) => LAYERS.flat().find((folder) => file.startsWith(`${folder}/`)) ?? '.';
const rankOf = (folder) => LAYERS.findIndex((layer) => layer.includes(folder));
const importsOf = (file) => [...readFileSync(resolve(ROOT, file), 'utf8').matchAll(/^(?:import|\}) .*?'(\.[^']+)';$/gm)]
  .map(([, path]) => relative(ROOT, resolve(ROOT, dirname(file), path)));

test('a folder imports only from itself and from folders below it', () => {
  for (const file of files) {
    for (const imported of importsOf(file)) {
      const [from, to] = [folderOf(file), folderOf(imported)];
      assert.ok(from === to || rankOf(to) < rankOf(from), `${file} imports ${imported}`);
    }
  }
});

test('every file that is imported is there, and every file is imported or is loaded by name', () => {
  const imported = new Set(files.flatMap(importsOf));
  for (const file of imported) assert.ok(files.includes(file), file);
  const world = files.filter((file) => file.startsWith('src/injected/world/') && !imported.has(file));
  const byName = readFileSync(resolve(ROOT, 'src/browser/page_world.js'), 'utf8');
  for (const file of world) assert.ok(byName.includes(`'${basename(file, '.js')}'`), `${file} is not put into pages`);
  const loadedByName = ['background.js', 'popup/popup.js', 'src/draw/page/main.js', 'third_party/axe-core/axe.min.js', ...world];
  assert.deepEqual(files.filter((file) => !imported.has(file)).sort(), loadedByName.sort());
});
