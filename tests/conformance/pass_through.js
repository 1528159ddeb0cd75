// Stands between the suite and the daemon. The suite can send no token, and names the port that
// it talks to in `Host` and `Origin`, where the daemon wants its own. Nothing else is changed.

import { once } from 'node:events';
import http from 'node:http';

/**
 * Listens on a free port of the loopback.
 * @param {number} daemonPort @param {string} token
 */
export async function passThrough(daemonPort, token) {
  const server = http.createServer((request, response) => {
    const ownPort = request.socket.localPort;
    const onward = http.request({
      host: '127.0.0.1',
      port: daemonPort,
      method: request.method,
      path: request.url,
      headers: [...withPort(request.rawHeaders, ownPort, daemonPort), 'Authorization', `Bearer ${token}`],
      setHost: false,
      agent: false,
    });
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode, answer.rawHeaders);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    // To close a connection is to cancel.
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/**
 * Headers in which the daemon's port stands for that of the pass-through.
 * @param {string[]} headers names and values by turns @param {number} ownPort @param {number} daemonPort
 */
function withPort(headers, ownPort, daemonPort) {
  const own = `:${ownPort}`;
  return headers.map((value, at) => {
    const isAddress = at % 2 === 1 && /^(host|origin)$/i.test(headers[at - 1]);
    return isAddress && value.endsWith(own) ? value.slice(0, -own.length) + `:${daemonPort}` : value;
  });
}
