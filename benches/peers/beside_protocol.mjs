// What the browser itself takes, through Tabwire and by the same protocol calls made directly: round by round, each with a browser
// of its own, both with one tab in front and started with the same options.
import { join } from 'node:path';
import { DirectPage } from './browser.mjs';
import { median } from './figures.mjs';
import { LATE_MS } from './page_server.mjs';
import { shown } from './mcp_client.mjs';
import { inFolder, startTabwire } from './servers.mjs';

/** @import {McpClient} from './mcp_client.mjs' */
/** @import {PageServer} from './page_server.mjs' */

const WARM_UP = 3;
/** How long after its beginning the text comes that is waited for. */
const SAID_MS = 100;
const SAY = `sayLater(${SAID_MS})`;
const SAID = "said.textContent === 'Here it is.'";
const PAPER = { printBackground: true, preferCSSPageSize: true };

/**
 * @typedef {object} BrowserStep
 * @property {string} id
 * @property {string} what
 * @property {string} page
 * @property {boolean} [isOpened] it opens the page itself
 * @property {(url: string) => string} [before] a script that begins the thing that is waited for: its call is part of the time
 * @property {(url: string) => [string, object]} call of Tabwire
 * @property {(page: DirectPage, url: string) => Promise<unknown>} direct
 */

/** @type {BrowserStep[]} */
export const BROWSER_STEPS = [
  {
    id: 'navigate_small', what: 'go to a page of a form', page: 'order.html', isOpened: true,
    call: (url) => ['navigate', { url }], direct: (page, url) => page.go(url),
  },
  {
    id: 'navigate_large', what: 'go to a page of 24 articles with pictures', page: 'catalogue.html', isOpened: true,
    call: (url) => ['navigate', { url }], direct: (page, url) => page.go(url),
  },
  {
    id: 'navigate_late', what: `go to a page with a picture that comes after ${LATE_MS} ms`, page: 'late.html', isOpened: true,
    call: (url) => ['navigate', { url }], direct: (page, url) => page.go(url),
  },
  {
    id: 'screenshot', what: 'picture of the view, PNG', page: 'catalogue.html',
    call: () => ['screenshot', {}], direct: (page) => page.ask('Page.captureScreenshot', { format: 'png' }),
  },
  {
    id: 'screenshot_jpeg', what: 'picture of the view, JPEG', page: 'catalogue.html',
    call: () => ['screenshot', { format: 'jpeg' }], direct: (page) => page.ask('Page.captureScreenshot', { format: 'jpeg' }),
  },
  {
    id: 'screenshot_whole', what: 'picture of the whole page, PNG', page: 'catalogue.html',
    call: () => ['screenshot', { full_page: true, max_side: 8_192 }], direct: wholePicture,
  },
  {
    id: 'pdf', what: 'the page as PDF', page: 'catalogue.html',
    call: (url) => ['pdf', { path: `${url.split('?').at(-1)}.pdf` }], direct: (page) => page.ask('Page.printToPDF', PAPER),
  },
  {
    id: 'wait_text', what: `wait for a text that comes after ${SAID_MS} ms`, page: 'late.html', before: () => SAY,
    call: () => ['wait_for', { text: 'Here it is.' }], direct: (page) => page.read(whenChanged(SAID)),
  },
  {
    id: 'wait_function', what: `wait for a condition that holds after ${SAID_MS} ms`, page: 'late.html', before: () => SAY,
    call: () => ['interact', { action: 'wait_for', function: SAID, wait_ms: 20_000 }], direct: (page) => page.read(whenChanged(SAID)),
  },
  {
    id: 'wait_load', what: `wait for a load that takes ${LATE_MS} ms`, page: 'late.html', before: (url) => `setTimeout(() => location.assign(${JSON.stringify(url)}))`,
    call: (url) => ['wait_for', { url, state: 'load' }], direct: (page) => page.next('Page.loadEventFired'),
  },
];

/** @param {DirectPage} page */
async function wholePicture(page) {
  const { cssContentSize: { x, y, width, height } } = await page.ask('Page.getLayoutMetrics');
  return page.ask('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip: { x, y, width, height, scale: 1 } });
}

/** @param {string} condition @returns {string} an expression whose promise resolves at the change that makes it true */
function whenChanged(condition) {
  return `new Promise((resolve) => {
    const look = () => { if (!(${condition})) return; observer.disconnect(); resolve(true); };
    const observer = new MutationObserver(look);
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
    look();
  })`;
}

/** @typedef {{own: number[], direct: number[]}} BesideTimes in ms */

/** @param {BrowserStep} step @param {number} rounds @param {{client: McpClient, page: DirectPage, url: (name: string) => string, show: boolean}} stage @returns {Promise<BesideTimes>} */
async function compare(step, rounds, { client, page, url, show }) {
  /** @type {BesideTimes} */
  const times = { own: [], direct: [] };
  if (!step.isOpened) {
    await page.go(url(step.page));
    await client.call('navigate', { url: url(step.page) });
  }
  for (let round = 0; round < WARM_UP + rounds; round += 1) {
    const address = url(`${step.page}?${round}`);
    let began = performance.now();
    if (step.before) await page.read(`${step.before(address)}, 1`);
    await step.direct(page, address);
    const direct = performance.now() - began;
    began = performance.now();
    if (step.before) await client.call('execute_js', { script: `${step.before(address)}, 1` });
    const answer = await client.call(...step.call(address));
    const own = performance.now() - began;
    if (show && round === 0) console.log(`--- tabwire: ${step.id}\n${shown(answer).slice(0, 300)}\n`);
    if (round < WARM_UP) continue;
    times.direct.push(direct);
    times.own.push(own);
  }
  return times;
}

/** @param {PageServer} pages @param {{rounds: number, show: boolean}} options @returns {Promise<Record<string, {ms: number, direct_ms: number}>>} */
export async function besideProtocol(pages, { rounds, show }) {
  return inFolder(async (folder) => {
    const { client, end } = await startTabwire(folder, ['--tools', 'split,files']);
    try {
      const page = await DirectPage.open(join(folder, 'direct'));
      try {
        /** @type {Record<string, {ms: number, direct_ms: number}>} */
        const figures = {};
        for (const step of BROWSER_STEPS) {
          const { own, direct } = await compare(step, rounds, { client, page, url: pages.url, show });
          figures[step.id] = { ms: median(own), direct_ms: median(direct) };
        }
        return figures;
      } finally {
        await page.end();
      }
    } finally {
      await end();
    }
  });
}
