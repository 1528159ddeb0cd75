// The page that all servers visit, on a free port of the loopback.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

/** @type {Record<string, [string, string]>} */
const FILES = {
  '/cart': ['cart.html', 'text/html'],
  '/form': ['form.html', 'text/html'],
  '/cart.css': ['cart.css', 'text/css'],
  '/cart.js': ['cart.js', 'text/javascript'],
  '/api/items?page=1': ['items.json', 'application/json'],
};

/** @returns {Promise<{url: string, end: () => void}>} */
export async function servePage() {
  const server = createServer(({ url = '' }, response) => {
    const [name, type] = FILES[url] ?? [];
    if (name === undefined) return response.writeHead(404).end();
    return response.writeHead(200, { 'content-type': type }).end(readFileSync(new URL(`page/${name}`, import.meta.url)));
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(null)); });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const end = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/cart`, end };
}
