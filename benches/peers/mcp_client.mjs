// An MCP client of a server that it starts, over the server's standard input and output.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const ANSWER_MS = 60_000;
const END_MS = 10_000;

/** @typedef {{command: string, args: string[], env: NodeJS.ProcessEnv, cwd: string}} ServerCommand */

export class McpClient {
  #server;
  #asked = 0;
  #complaints = '';
  /** @type {Map<number, {resolve: (result: any) => void, reject: (error: Error) => void}>} */
  #open = new Map();

  /** @param {ServerCommand} server */
  constructor({ command, args, env, cwd }) {
    this.#server = spawn(command, args, { env, cwd });
    this.#server.stderr.on('data', (data) => { this.#complaints = `${this.#complaints}${data}`.slice(-2_000); });
    this.#server.on('error', (error) => this.#fail(error));
    this.#server.on('exit', () => this.#fail(new Error(`${command} ${args.join(' ')} has ended: ${this.#complaints}`)));
    createInterface({ input: this.#server.stdout }).on('line', (line) => this.#hear(JSON.parse(line)));
  }

  /** @param {any} message */
  #hear({ id, result, error }) {
    const asked = this.#open.get(id);
    this.#open.delete(id);
    if (error) asked?.reject(new Error(error.message));
    else asked?.resolve(result);
  }

  /** @param {Error} error */
  #fail(error) {
    for (const { reject } of this.#open.values()) reject(error);
  }

  /** @param {object} message */
  #send(message) {
    this.#server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** @param {string} method @param {object} params @returns {Promise<any>} */
  #ask(method, params) {
    this.#asked += 1;
    const id = this.#asked;
    const answered = new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject });
      setTimeout(() => reject(new Error(`${method}: no answer. ${this.#complaints}`)), ANSWER_MS).unref();
    });
    this.#send({ id, method, params });
    return answered;
  }

  async initialize() {
    const clientInfo = { name: 'bench', version: '1' };
    await this.#ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    this.#send({ method: 'notifications/initialized' });
  }

  /** @param {string} tool @param {object} args @returns {Promise<any>} the tool's result */
  async call(tool, args) {
    const result = await this.#ask('tools/call', { name: tool, arguments: args });
    if (result.isError) throw new Error(`${tool} ${JSON.stringify(args)}: ${JSON.stringify(result)}`);
    return result;
  }

  async end() {
    if (this.#server.exitCode !== null || this.#server.signalCode !== null) return;
    const ended = new Promise((resolve) => { this.#server.once('exit', resolve); });
    const impatient = setTimeout(() => this.#server.kill(), END_MS);
    this.#server.stdin.end();
    await ended;
    clearTimeout(impatient);
  }
}

/**
 * What a client shows its model: `content`, or `structuredContent` in its place. The longer of the two.
 *
 * @param {{content: {text?: string}[], structuredContent?: object}} result @returns {string}
 */
export function shown({ content, structuredContent }) {
  const text = content.map((item) => item.text ?? '').join('\n');
  const structured = structuredContent === undefined ? '' : JSON.stringify(structuredContent);
  return Buffer.byteLength(structured) > Buffer.byteLength(text) ? structured : text;
}
