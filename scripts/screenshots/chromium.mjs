// A throw-away Chromium with a window that no screen shows, driven through a pipe.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DevtoolsPipe, PIPE_STDIO } from '../devtools_pipe.mjs';

/** A site that is on no network. */
export const SHOP = 'http://shop.localhost/';

/** Room for the popup below the toolbar, and for a page beside it. */
const WINDOW = { width: 860, height: 560 };

export class Chromium {
  #child;
  #folder;
  #pipe;

  /** @param {string} extension folder of the extension to load @param {{isDark: boolean, shopPort: number}} more `isDark`: the browser's own window, too; `shopPort` of the site `SHOP` */
  constructor(extension, { isDark, shopPort }) {
    this.#folder = mkdtempSync(join(tmpdir(), 'tabwire-screenshots-'));
    mkdirSync(join(this.#folder, 'Default'));
    mkdirSync(this.#dumps);
    writeFileSync(join(this.#folder, 'Default', 'Preferences'), JSON.stringify({
      browser: { theme: { color_scheme2: isDark ? 2 : 1 } },
      extensions: { ui: { developer_mode: true }, pinned_extensions: ['cojpnlnglaiojkhnmkknknhgnedlcmlg'] },
    }));
    this.#child = spawn(process.env.TABWIRE_BROWSER ?? 'chromium', [
      // Chromium writes what its windows show to files. A browser that is `--headless` has no toolbar to show.
      '--ozone-platform=headless', '--ozone-override-screen-size=1600,1200', `--ozone-dump-file=${this.#dumps}`, '--remote-debugging-pipe', `--user-data-dir=${this.#folder}`,
      `--load-extension=${extension}`, '--disable-features=DisableLoadExtensionCommandLineSwitch', '--no-first-run', '--no-default-browser-check', '--disable-gpu',
      '--disable-background-networking', '--disable-component-update', '--disable-sync', `--window-size=${WINDOW.width},${WINDOW.height}`, `--host-resolver-rules=MAP ${new URL(SHOP).host} 127.0.0.1:${shopPort}`,
      ...(isDark ? ['--force-dark-mode'] : []), ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), 'about:blank',
    ], { stdio: ['ignore', 'ignore', 'ignore', ...PIPE_STDIO], env: { ...process.env, HOME: this.#folder } });
    this.#pipe = new DevtoolsPipe(this.#child);
  }

  /** The folder with a PNG file of each window. */
  get #dumps() {
    return join(this.#folder, 'dumps');
  }

  /** @param {string} method of the DevTools protocol @param {object} [params] @param {string} [sessionId] @returns {Promise<any>} */
  ask(method, params = {}, sessionId) {
    return this.#pipe.ask(method, params, sessionId);
  }

  /** @param {string} url @returns {Promise<ChromiumPage>} a new tab, about to show it */
  async open(url) {
    const { targetId } = await this.ask('Target.createTarget', { url: 'about:blank' });
    return this.#attach(targetId, url);
  }

  /** @returns {Promise<ChromiumPage>} the worker of the extension */
  async worker() {
    for (;;) {
      const { targetInfos } = await this.ask('Target.getTargets');
      const worker = targetInfos.find(({ type }) => type === 'service_worker');
      if (worker) return this.#attach(worker.targetId, worker.url);
      await pause(50);
    }
  }

  /** @returns {Promise<ChromiumPage>} the popup, as it hangs from the toolbar */
  async popup() {
    const worker = await this.worker();
    await worker.read('chrome.action.openPopup()');
    const { targetInfos } = await this.ask('Target.getTargets');
    const { targetId, url } = targetInfos.find((/** @type {{url: string}} */ target) => target.url.endsWith('/popup.html'));
    return this.#attach(targetId, url);
  }

  /** @returns {Buffer} a PNG file of the window, as it was drawn last */
  window() {
    const [first] = readdirSync(this.#dumps).sort();
    return readFileSync(join(this.#dumps, first));
  }

  /** @param {string} targetId @param {string} url */
  async #attach(targetId, url) {
    const { sessionId } = await this.ask('Target.attachToTarget', { targetId, flatten: true });
    return new ChromiumPage(this, { targetId, sessionId, url });
  }

  async end() {
    const ended = new Promise((resolve) => { this.#child.once('exit', resolve); });
    await this.ask('Browser.close').catch(() => this.#child.kill());
    await ended;
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

export class ChromiumPage {
  #browser;
  #names;

  /** @param {Chromium} browser @param {{targetId: string, sessionId: string, url: string}} names */
  constructor(browser, names) {
    this.#browser = browser;
    this.#names = names;
  }

  /** @param {string} method @param {object} [params] */
  ask(method, params) {
    return this.#browser.ask(method, params, this.#names.sessionId);
  }

  /** Goes to its address. @param {string} before a script that runs before those of the page */
  async load(before) {
    await this.ask('Page.enable');
    await this.ask('Page.addScriptToEvaluateOnNewDocument', { source: before });
    await this.ask('Page.navigate', { url: this.#names.url });
    while (!await this.read(`location.href === ${JSON.stringify(this.#names.url)} && document.readyState === 'complete'`)) await pause(20);
  }

  /** @param {string} expression @returns {Promise<any>} */
  async read(expression) {
    const { result, exceptionDetails } = await this.ask('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** @param {{width: number, height: number, isDark: boolean}} look */
  async emulate({ width, height, isDark }) {
    await this.ask('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 2, mobile: false });
    await this.ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: isDark ? 'dark' : 'light' }] });
  }

  /** @returns {Promise<Buffer>} a PNG file */
  async picture() {
    const { data } = await this.ask('Page.captureScreenshot', { format: 'png' });
    return Buffer.from(data, 'base64');
  }

  async close() {
    await this.#browser.ask('Target.closeTarget', { targetId: this.#names.targetId });
  }
}

/** @param {number} ms */
export function pause(ms) {
  return new Promise((resolve) => { setTimeout(resolve, ms); });
}
