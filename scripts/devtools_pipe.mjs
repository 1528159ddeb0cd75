// The DevTools protocol with a Chromium that was started with `--remote-debugging-pipe`.

const PATIENCE_MS = 60_000;

/** The places of the pipe's two ends in the `stdio` of the browser, after those of the standard streams. */
export const PIPE_STDIO = /** @type {const} */ (['pipe', 'pipe']);

export class DevtoolsPipe {
  #child;
  #asked = 0;
  /** @type {Map<number, {resolve: (answer: any) => void, reject: (error: Error) => void}>} */
  #open = new Map();
  /** @type {{method: string, sessionId: string | undefined, resolve: (params: any) => void}[]} */
  #awaited = [];

  /** @param {import('node:child_process').ChildProcess} child whose `stdio` ends in `PIPE_STDIO` */
  constructor(child) {
    this.#child = child;
    this.#listen();
  }

  #listen() {
    let rest = Buffer.alloc(0);
    /** @type {import('node:stream').Readable} */ (this.#child.stdio[4]).on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
        this.#handle(JSON.parse(rest.toString('utf8', 0, end)));
        rest = rest.subarray(end + 1);
      }
    });
    this.#child.on('error', (error) => { for (const { reject } of this.#open.values()) reject(error); });
  }

  /** @param {any} message an answer or an event */
  #handle({ id, result, error, method, params, sessionId }) {
    if (method !== undefined) {
      const isMeant = (/** @type {{method: string, sessionId: string | undefined}} */ wanted) => wanted.method === method && wanted.sessionId === sessionId;
      for (const { resolve } of this.#awaited.filter(isMeant)) resolve(params);
      this.#awaited = this.#awaited.filter((wanted) => !isMeant(wanted));
      return;
    }
    const asked = this.#open.get(id);
    this.#open.delete(id);
    if (error) asked?.reject(new Error(error.message));
    else asked?.resolve(result);
  }

  /** @param {string} method of the DevTools protocol @param {object} [params] @param {string} [sessionId] @returns {Promise<any>} */
  ask(method, params = {}, sessionId) {
    this.#asked += 1;
    const id = this.#asked;
    const answered = new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject });
      setTimeout(() => reject(new Error(`${method}: the browser does not answer`)), PATIENCE_MS).unref();
    });
    /** @type {import('node:stream').Writable} */ (this.#child.stdio[3]).write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return answered;
  }

  /** @param {string} method of an event @param {string} [sessionId] @returns {Promise<any>} the parameters of the next one */
  next(method, sessionId) {
    return new Promise((resolve) => { this.#awaited.push({ method, sessionId, resolve }); });
  }
}
