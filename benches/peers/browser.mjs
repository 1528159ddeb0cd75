// Throw-away Chromiums without a window: with the extension in it, or driven by the bare protocol.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { DevtoolsPipe, PIPE_STDIO } from '../../scripts/devtools_pipe.mjs';

/** Programs that load an unpacked extension from the command line. */
const PROGRAMS = ['chromium', 'chromium-browser', 'chrome-for-testing'];

const FLAGS = [
  '--headless=new', '--disable-gpu', '--disable-quic', '--no-first-run', '--no-default-browser-check', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--window-size=1000,700',
];

/** Chromium refuses to run as root with its sandbox. */
export const NEEDS_NO_SANDBOX = process.getuid?.() === 0;

/** @returns {string} the whole path of a browser: `TABWIRE_BROWSER`, else a Chromium on the path */
export function findBrowser() {
  if (process.env.TABWIRE_BROWSER) return process.env.TABWIRE_BROWSER;
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = PROGRAMS.flatMap((program) => folders.map((folder) => join(folder, program))).find((path) => existsSync(path));
  if (found === undefined) throw new Error('no Chromium found: install one, or name one in TABWIRE_BROWSER');
  return found;
}

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/** @param {string} profile folder @param {string[]} flags @param {('ignore' | 'pipe')[]} more of its `stdio` @returns {{child: ChildProcess, end: () => Promise<void>}} */
function launch(profile, flags, more) {
  const child = spawn(findBrowser(), [
    ...FLAGS, `--user-data-dir=${profile}`, ...flags, ...(NEEDS_NO_SANDBOX ? ['--no-sandbox'] : []), 'about:blank',
  ], { stdio: ['ignore', 'ignore', 'ignore', ...more], env: { ...process.env, HOME: profile } });
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
    child.once('error', resolve);
  });
  const end = async () => {
    child.kill();
    await ended;
  };
  return { child, end };
}

/** @param {string} profile folder @param {string} extension folder @returns {() => Promise<void>} what ends it */
export function startBrowser(profile, extension) {
  return launch(profile, [`--load-extension=${extension}`], []).end;
}

/** @returns {string} name and version of the browser */
export function browserVersion() {
  return execFileSync(findBrowser(), ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim().split(' ').slice(0, 2).join(' ');
}

/** The page of a browser of its own, driven by the bare protocol: the least that anything in a browser can take. */
export class DirectPage {
  #pipe;
  #sessionId;
  end;

  /** @param {DevtoolsPipe} pipe @param {string} sessionId @param {() => Promise<void>} end */
  constructor(pipe, sessionId, end) {
    this.#pipe = pipe;
    this.#sessionId = sessionId;
    this.end = end;
  }

  /** @param {string} profile folder */
  static async open(profile) {
    const { child, end } = launch(profile, ['--remote-debugging-pipe'], [...PIPE_STDIO]);
    try {
      const pipe = new DevtoolsPipe(child);
      const { targetInfos } = await pipe.ask('Target.getTargets');
      const { targetId } = targetInfos.find((/** @type {{type: string}} */ { type }) => type === 'page');
      const { sessionId } = await pipe.ask('Target.attachToTarget', { targetId, flatten: true });
      await pipe.ask('Page.enable', {}, sessionId);
      return new DirectPage(pipe, sessionId, end);
    } catch (error) {
      await end();
      throw error;
    }
  }

  /** @param {string} method @param {object} [params] */
  ask(method, params) {
    return this.#pipe.ask(method, params, this.#sessionId);
  }

  /** @param {string} method of an event */
  next(method) {
    return this.#pipe.next(method, this.#sessionId);
  }

  /** @param {string} url returns once the page has loaded */
  async go(url) {
    const loaded = this.next('Page.loadEventFired');
    await this.ask('Page.navigate', { url });
    await loaded;
  }

  /** @param {string} expression whose promise is waited for @returns {Promise<any>} its value */
  async read(expression) {
    const { result, exceptionDetails } = await this.ask('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
}
