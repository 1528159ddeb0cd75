// Drives the TypeScript client through the scenario that its argument describes, and tells as
// lines of JSON what the client saw.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/**
 * @typedef {object} Scenario
 * @property {'legacy' | 'modern' | 'auto'} era
 * @property {string[]} steps
 * @property {boolean} [without_version_header]
 * @property {{url: string, token: string}} [http]
 * @property {{command: string, args: string[], env: Record<string, string>}} [stdio]
 */

const NEGOTIATION = { legacy: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } };

/** @param {Record<string, unknown>} event */
const tell = (event) => console.log(JSON.stringify(event));

/** @type {typeof fetch} */
const fetchWithoutVersion = (url, init) => {
  const headers = new Headers(init?.headers);
  headers.delete('mcp-protocol-version');
  return fetch(url, { ...init, headers });
};

/** @param {Scenario} scenario */
function transportOf({ http, stdio, without_version_header }) {
  if (stdio) return new StdioClientTransport(stdio);
  return new StreamableHTTPClientTransport(new URL(http.url), {
    requestInit: { headers: { authorization: `Bearer ${http.token}` } },
    ...(without_version_header && { fetch: fetchWithoutVersion }),
  });
}

/** @param {string} script @param {Record<string, unknown>} more */
const scripted = (script, more) => ({
  name: 'interact',
  arguments: { action: 'execute_js', script, tab_id: 7, timeout_ms: 60_000, ...more },
});

/** The commands of this client that are not over. @param {Client} client */
async function pending(client) {
  const listed = await client.callTool({ name: 'observe', arguments: { what: 'pending_commands' } });
  return listed.structuredContent.pending;
}

const STEPS = {
  /** @param {Client} client */
  async tools(client) {
    const { tools } = await client.listTools();
    tell({ event: 'tools', names: tools.map((tool) => tool.name) });
  },

  /** Submits a command, then waits for it. @param {Client} client */
  async submit(client) {
    const submitted = (await client.callTool(scripted('submitted', {}))).structuredContent;
    tell({ event: 'submitted', result: submitted });
    const wait = { what: 'command_result', correlation_id: submitted.correlation_id, wait_ms: 20_000 };
    const onprogress = (progress) => tell({ event: 'progress', of: 'wait', progress });
    const waited = await client.callTool({ name: 'observe', arguments: wait }, { onprogress });
    tell({ event: 'waited', result: waited.structuredContent });
  },

  /** Gives a call up once its command is known to run. @param {Client} client */
  async cancel(client) {
    const abort = new AbortController();
    const onprogress = (progress) => {
      tell({ event: 'progress', of: 'cancel', progress });
      abort.abort('enough');
    };
    const call = scripted('given up', { wait_ms: 20_000 });
    const given = await client.callTool(call, { signal: abort.signal, onprogress }).catch((error) => error);
    tell({ event: 'gave_up', aborted: abort.signal.aborted, error: String(given) });
    // To close at once would break off the notification, which nobody waits for.
    while ((await pending(client)).length > 0);
    tell({ event: 'nothing_pending' });
  },
};

/** @param {Scenario} scenario */
async function play(scenario) {
  const versionNegotiation = { mode: NEGOTIATION[scenario.era] };
  const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation });
  await client.connect(transportOf(scenario));
  tell({ event: 'connected', version: client.getNegotiatedProtocolVersion(), server: client.getServerVersion() });
  for (const step of scenario.steps) await STEPS[step](client);
  await client.close();
  tell({ event: 'closed' });
}

await play(JSON.parse(process.argv[2]));
