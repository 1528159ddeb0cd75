// Copies axe-core into the extension, from the package that `npm ci` has installed and checked by the hash in
// package-lock.json. Run it after each change of its version: node scripts/axe-core.mjs

import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const from = `${root}node_modules/axe-core/`;
const to = `${root}extension-shim/third_party/axe-core/`;

const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8'));
const { version, integrity } = packages['node_modules/axe-core'];
const installed = JSON.parse(readFileSync(`${from}package.json`, 'utf8')).version;
if (installed !== version) throw new Error(`axe-core ${installed} is installed, and package-lock.json has ${version}: run npm ci`);

mkdirSync(to, { recursive: true });
for (const name of ['axe.min.js', 'LICENSE', 'LICENSE-3RD-PARTY.txt']) copyFileSync(from + name, to + name);
const hash = createHash('sha256').update(readFileSync(`${to}axe.min.js`)).digest('base64');
writeFileSync(`${to}README.md`, `# axe-core ${version}

Finds barriers for people with disabilities; the action \`audit\` loads it into a page on request. The files are those of
the npm package, unchanged:

- package: \`axe-core@${version}\` of npm, \`${integrity}\`
- \`axe.min.js\`: \`sha256-${hash}\`
- licence: MPL-2.0 (\`LICENSE\`); code of others in it: \`LICENSE-3RD-PARTY.txt\`
- source code: <https://github.com/dequelabs/axe-core/tree/v${version}>, also in the package as \`axe.js\`

\`node scripts/axe-core.mjs\` writes this folder anew.
`);
