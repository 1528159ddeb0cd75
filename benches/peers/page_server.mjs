// The pages that all servers visit, on a free port of the loopback: those of page/, and those that the tests of actions use.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';

/** @import {IncomingMessage, ServerResponse} from 'node:http' */

const FOLDERS = ['page/', '../../tests/it/browser/actions/pages/', '../../target/editors/'].map((folder) => new URL(folder, import.meta.url));
const TYPES = new Map(Object.entries({
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css', '.json': 'application/json',
  '.svg': 'image/svg+xml', '.png': 'image/png',
}));
/** Files under another address. */
const ALIASES = new Map(Object.entries({ '/cart': 'cart.html', '/api/items': 'items.json' }));
/** The answer to `/late.svg` comes this late. */
export const LATE_MS = 250;

/** @param {string} pathname @returns {Buffer | undefined} */
function contentOf(pathname) {
  const name = ALIASES.get(pathname) ?? pathname.slice(1);
  if (!/^[\w-]+\.\w+$/.test(name)) return undefined;
  for (const folder of FOLDERS) {
    try {
      return readFileSync(new URL(name, folder));
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
    }
  }
  return undefined;
}

/** The headers that a page states at its beginning, and the rest of it. @param {string} text */
function withStatedHeaders(text) {
  /** @type {Record<string, string>} */
  const headers = {};
  let rest = text;
  for (let match; (match = /^<!-- header ([\w-]+): (.*?) -->\s*/.exec(rest)) !== null; rest = rest.slice(match[0].length)) headers[match[1]] = match[2];
  return { headers, rest };
}

/** @param {IncomingMessage} request @param {ServerResponse} response */
function answer({ url = '', headers: { host = '' } }, response) {
  const { pathname, search } = new URL(url, 'http://page');
  if (pathname === '/silent') return;
  if (pathname === '/download') {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': `attachment; filename="${search.slice(1)}"` }).end('a,b\n');
    return;
  }
  const content = contentOf(pathname === '/late.svg' ? '/picture.svg' : pathname);
  if (content === undefined) {
    response.writeHead(404).end();
    return;
  }
  const type = TYPES.get(extname(ALIASES.get(pathname) ?? pathname)) ?? 'application/octet-stream';
  if (!type.startsWith('text/html')) {
    setTimeout(() => response.writeHead(200, { 'content-type': type }).end(content), pathname === '/late.svg' ? LATE_MS : 0);
    return;
  }
  const there = host.startsWith('127.0.0.1') ? host.replace('127.0.0.1', 'localhost') : host.replace('localhost', '127.0.0.1');
  const { headers, rest } = withStatedHeaders(content.toString('utf8').replaceAll('{{here}}', `http://${host}`).replaceAll('{{there}}', `http://${there}`));
  response.writeHead(200, { ...headers, 'content-type': type }).end(rest);
}

/** @typedef {{url: (name: string) => string, end: () => void}} PageServer */

/** @returns {Promise<PageServer>} */
export async function servePages() {
  const server = createServer(answer);
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(null)); });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const end = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: (name) => `http://127.0.0.1:${port}/${name}`, end };
}
