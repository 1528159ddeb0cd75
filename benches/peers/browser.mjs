// A throw-away Chromium without a window, with the extension in it.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

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

/** @param {string} profile folder @param {string} extension folder @returns {() => Promise<void>} what ends it */
export function startBrowser(profile, extension) {
  const browser = spawn(findBrowser(), [
    ...FLAGS, `--user-data-dir=${profile}`, `--load-extension=${extension}`, ...(NEEDS_NO_SANDBOX ? ['--no-sandbox'] : []), 'about:blank',
  ], { stdio: 'ignore', env: { ...process.env, HOME: profile } });
  const ended = new Promise((resolve) => {
    browser.once('exit', resolve);
    browser.once('error', resolve);
  });
  return async () => {
    browser.kill();
    await ended;
  };
}
