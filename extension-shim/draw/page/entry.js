// @ts-check
// What the worker finds once this folder is injected.

/** @type {DrawWorker} */
const drawWorker = {
  ask: (ask) => chrome.runtime.sendMessage(ask),
  isOurs: () => chrome.runtime?.id !== undefined,
};

/** @type {DrawOverlay | null} */
let drawOpened = null;

/** @param {DrawRequest} ask */
function drawOpen(ask) {
  const was_open = drawOpened?.isOpen === true;
  if (!drawOpened || !was_open) {
    drawOpened = new DrawOverlay(drawWorker);
    drawOpened.open();
  }
  drawOpened.add(ask);
  return { was_open, url: location.href, title: document.title };
}

/** @param {string[]} over waits that have ended */
function drawWithdraw(over) {
  drawOpened?.withdraw(over);
}

/** @type {any} */ (globalThis).tabwireDraw = { open: drawOpen, withdraw: drawWithdraw };
