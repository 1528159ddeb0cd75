// Takes pictures of all that a person sees of the extension: `make screenshots`. Real pages in a real Chromium; only the
// worker's answers to the popup and to the page to draw in are made up (states.mjs). The badge is the browser's own window.
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cropped, decodePng, encodePng, magnified } from '../png.mjs';
import { Chromium, pause, SHOP } from './chromium.mjs';
import { BADGE_SCENES, DRAW_SCENES, NO_BADGE, popupScenes, SHOP_PAGE, WINDOW_SCENES } from './states.mjs';

const EXTENSION = fileURLToPath(new URL('../../extension-shim', import.meta.url));
const ORIGIN = 'chrome-extension://cojpnlnglaiojkhnmkknknhgnedlcmlg';
const OUT = process.argv[2] ?? fileURLToPath(new URL('../../target/screenshots', import.meta.url));
const POPUP_WIDTH = 360;
const DRAW_SIZE = { width: 1000, height: 640 };
const NARROW_DRAW_SIZE = { width: 360, height: 640 };
/** The browser draws its window some frames after it was told to. */
const DRAWN_MS = 500;

/** What the worker imports of the badge. */
const BADGE_IMPORT = /^import \{ ([^}]+) \} from '\.\/badge\.js';$/m;

/** The extension, with a way to its badge. @param {string} folder */
function copyOfExtension(folder) {
  const copy = join(folder, 'extension');
  cpSync(EXTENSION, copy, { recursive: true, filter: (path) => path !== join(EXTENSION, 'test') && path !== join(EXTENSION, 'config.json') });
  // Its own word on the connection would come in between.
  appendFileSync(join(copy, 'src/worker/background.js'), `\nimport * as face from './badge.js';\nObject.assign(self, { ...face });\n`);
  const before = readFileSync(join(copy, 'src/worker/main.js'), 'utf8');
  const [line, names] = before.match(BADGE_IMPORT) ?? [];
  if (!line) throw new Error('main.js imports the badge in another way: BADGE_IMPORT has to follow');
  const nothing = names.split(', ').map(() => '() => {}').join(', ');
  const main = before.replace(line, `const [${names}] = [${nothing}];`);
  writeFileSync(join(copy, 'src/worker/main.js'), main);
  return copy;
}

/** @param {string} name @param {boolean} isDark @param {Buffer} file */
function save(name, isDark, file) {
  writeFileSync(join(OUT, `${name}-${isDark ? 'dark' : 'light'}.png`), file);
}

/** A question that is settled takes clicks, and looks so. */
const SETTLED_MS = 750;

/** @param {Chromium} browser @param {boolean} isDark */
async function takePopups(browser, isDark) {
  for (const { name, state, here, isOpen, click, trouble } of popupScenes()) {
    const page = await browser.open(`${ORIGIN}/popup/popup.html`);
    await page.emulate({ width: POPUP_WIDTH, height: 600, isDark });
    await page.load(`chrome.runtime.sendMessage = async ({ ask }) => (
        ['state', 'opened'].includes(ask) ? ${JSON.stringify(state)} : ${JSON.stringify({ trouble })});
      chrome.tabs.query = async () => [${JSON.stringify(here)}];`);
    while (await page.read("document.getElementById('versions').textContent") === '') await pause(20);
    if (isOpen) await page.read("for (const part of document.querySelectorAll('details')) part.open = true; 1");
    if (state.asks.length > 0) await pause(SETTLED_MS);
    if (click) await page.read(`document.querySelector(${JSON.stringify(click)}).click(); 1`);
    const size = await page.read("({ width: document.documentElement.scrollWidth, height: Math.ceil(document.querySelector('main').getBoundingClientRect().height) })");
    if (size.width > POPUP_WIDTH) throw new Error(`${name}: the popup is ${size.width} px wide`);
    await page.emulate({ width: POPUP_WIDTH, height: size.height, isDark });
    save(`popup-${name}`, isDark, await page.picture());
    await page.close();
  }
}

/** @param {Chromium} browser @param {boolean} isDark */
async function takeDrawings(browser, isDark) {
  const picture = `data:image/png;base64,${await pictureOfPage(browser)}`;
  for (const [name, { asks, is_persons }] of Object.entries(DRAW_SCENES)) {
    const answer = { asks, over: [], is_persons, page_url: 'https://shop.example/cart', page_title: 'Cart – Shop' };
    const page = await browser.open(`${ORIGIN}/src/draw/page/draw.html?tab=7`);
    await page.load(`chrome.runtime.sendMessage = async () => (${JSON.stringify(answer)});
      chrome.storage.session.get = async (key) => (key === 'draw:picture:7' ? { [key]: { picture: ${JSON.stringify(picture)}, width: 900, height: 560 } } : {});
      chrome.storage.session.set = async () => {};`);
    while (await page.read('document.body.ariaBusy') !== 'false') await pause(20);
    for (const [suffix, size] of /** @type {const} */ ([['', DRAW_SIZE], ['-narrow', NARROW_DRAW_SIZE]])) {
      await page.emulate({ ...size, isDark });
      await pause(DRAWN_MS);
      save(name + suffix, isDark, await page.picture());
    }
    await page.close();
  }
}

/** Something to draw on. @param {Chromium} browser @returns {Promise<string>} in base64 */
async function pictureOfPage(browser) {
  const page = await browser.open(SHOP);
  await page.emulate({ width: 900, height: 560, isDark: false });
  await page.load('');
  const file = await page.picture();
  await page.close();
  return file.toString('base64');
}

/** @param {Chromium} browser @param {boolean} isDark */
async function takeBadges(browser, isDark) {
  const worker = await browser.worker();
  while (await worker.read('typeof showStatus') !== 'function') await pause(20);
  for (const [name, script] of Object.entries(BADGE_SCENES)) {
    await worker.read(script);
    await pause(DRAWN_MS);
    const image = decodePng(browser.window());
    const toolbar = cropped(image, { x: image.width - 190, y: 40, width: 100, height: 46 });
    save(name, isDark, encodePng(magnified(toolbar, 4)));
  }
}

/** The browser's own window: the debugging bar, and the popup under it. @param {Chromium} browser @param {boolean} isDark */
async function takeWindows(browser, isDark) {
  const page = await browser.open(SHOP);
  await page.load('');
  const worker = await browser.worker();
  await worker.read(NO_BADGE);
  await worker.read('chrome.tabs.query({ active: false }).then((others) => chrome.tabs.remove(others.map(({ id }) => id)))');
  await worker.read("chrome.tabs.query({ active: true }).then(([{ id }]) => chrome.debugger.attach({ tabId: id }, '1.3'))");
  await pause(DRAWN_MS);
  save('window-bar', isDark, browser.window());
  for (const [name, state] of Object.entries(WINDOW_SCENES)) {
    const popup = await browser.popup();
    await popup.read(`chrome.runtime.sendMessage = async () => (${JSON.stringify(state)}); 1`);
    await pause(2 * DRAWN_MS);
    const width = await popup.read('innerWidth');
    if (width !== POPUP_WIDTH) throw new Error(`${name}: the popup is ${width} px wide`);
    save(name, isDark, browser.window());
    await popup.read('window.close(); 1');
  }
}

/** @returns {Promise<import('node:http').Server>} listening */
async function openShop() {
  const shop = createServer((_request, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end(SHOP_PAGE));
  await new Promise((resolve) => { shop.listen(0, '127.0.0.1', () => resolve(undefined)); });
  return shop;
}

async function main() {
  mkdirSync(OUT, { recursive: true });
  // Pictures of scenes that are no more would be looked at for nothing.
  for (const name of readdirSync(OUT)) if (/-(light|dark)\.png$/.test(name)) rmSync(join(OUT, name));
  const shop = await openShop();
  const folder = mkdtempSync(join(tmpdir(), 'tabwire-screenshots-'));
  try {
    const extension = copyOfExtension(folder);
    for (const isDark of [false, true]) {
      const browser = new Chromium(extension, { isDark, shopPort: shop.address().port });
      try {
        await takeBadges(browser, isDark);
        await takePopups(browser, isDark);
        await takeDrawings(browser, isDark);
        await takeWindows(browser, isDark);
      } finally {
        await browser.end();
      }
    }
  } finally {
    shop.close();
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`${readdirSync(OUT).length} pictures in ${OUT}`);
}

await main();
