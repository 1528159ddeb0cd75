// Bundles each page's script in `src/` into `target/editors/`, from where the tests serve it.

import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));

await build({
  entryPoints: readdirSync(`${here}src`).map((name) => `${here}src/${name}`),
  outdir: `${here}../../target/editors`,
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'chrome125',
  loader: { '.ttf': 'empty', '.css': 'empty' },
  define: { 'process.env.NODE_ENV': '"production"' },
  logLevel: 'warning',
});
