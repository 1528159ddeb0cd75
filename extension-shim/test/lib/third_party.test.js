// The code of others that the extension carries is that of its package.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';

const root = new URL('../../../', import.meta.url);
const read = (path) => readFileSync(new URL(path, root));
const { packages } = JSON.parse(read('package-lock.json'));
const CARRIED = 'extension-shim/third_party/axe-core/';

test('the readme of axe-core names the version and the hash that the lock file holds npm to', () => {
  const { version, integrity, license } = packages['node_modules/axe-core'];
  const readme = String(read(`${CARRIED}README.md`));
  assert.ok(readme.startsWith(`# axe-core ${version}\n`), readme);
  assert.ok(readme.includes(`\`axe-core@${version}\` of npm, \`${integrity}\``), readme);
  assert.equal(license, 'MPL-2.0');
  assert.match(String(read(`${CARRIED}LICENSE`)), /^Mozilla Public License, version 2\.0/);
});

test('axe-core is whole and unchanged', () => {
  const hash = createHash('sha256').update(read(`${CARRIED}axe.min.js`)).digest('base64');
  assert.ok(String(read(`${CARRIED}README.md`)).includes(`sha256-${hash}`), 'run npm ci and node scripts/axe-core.mjs');
});

const hasPackage = existsSync(new URL('node_modules/axe-core/package.json', root));
test('each carried file is that of the installed package', { skip: hasPackage ? false : 'npm ci installs it' }, () => {
  const names = readdirSync(new URL(CARRIED, root)).filter((name) => name !== 'README.md');
  assert.deepEqual(names.toSorted(), ['LICENSE', 'LICENSE-3RD-PARTY.txt', 'axe.min.js']);
  for (const name of names) assert.ok(read(CARRIED + name).equals(read(`node_modules/axe-core/${name}`)), `${name}: run node scripts/axe-core.mjs`);
});
