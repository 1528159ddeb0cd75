// @ts-check
// Keeps a drawing until the daemon has it. The worker may be killed and the daemon may be away: then the
// same drawing is sent again, under the same id.

/**
 * @typedef {{state: 'kept'} | {state: 'waiting'} | {state: 'refused', error: {code: string, message: string}}} DrawAnswer
 * @typedef {'sending' | 'waiting' | 'full'} DrawProgress
 * @typedef {{state: 'kept'} | {state: 'stopped'} | {state: 'refused', code: string, message: string}} DrawEnd
 *
 * @typedef {object} DrawWorker
 * @property {(ask: object) => Promise<any>} ask rejects if the worker ended meanwhile
 * @property {() => boolean} isOurs false: the extension was reloaded, and no worker will ever answer
 */

/** A worker that was killed is back within a second. */
const DRAW_AGAIN_MS = 250;
/** A disk that is full is not empty a moment later. */
const DRAW_FULL_MS = 5_000;
/** Before this nobody wonders. */
const DRAW_SLOW_MS = 1_500;

class DrawSender {
  #worker;
  #show;
  #isStopped = false;

  /** @param {DrawWorker} worker @param {(progress: DrawProgress) => void} show */
  constructor(worker, show) {
    this.#worker = worker;
    this.#show = show;
  }

  /** Nobody wants it sent any more. */
  stop() {
    this.#isStopped = true;
  }

  /** @param {object} drawing @param {object[]} asks who waits for it; may grow @returns {Promise<DrawEnd>} */
  async send(drawing, asks) {
    this.#show('sending');
    const slow = setTimeout(() => this.#show('waiting'), DRAW_SLOW_MS);
    try {
      for (;;) {
        const told = asks.length;
        const answer = await this.#once({ draw: 'send', drawing, asks });
        if (this.#isStopped) return { state: 'stopped' };
        if (answer.state === 'refused' && answer.error.code !== 'storage_unavailable') return { state: 'refused', ...answer.error };
        // Whoever asked meanwhile gets it, too.
        if (answer.state === 'kept' && asks.length === told) return { state: 'kept' };
        if (answer.state === 'refused') {
          clearTimeout(slow);
          this.#show('full');
        }
        await drawPause(answer.state === 'refused' ? DRAW_FULL_MS : DRAW_AGAIN_MS);
        if (this.#isStopped) return { state: 'stopped' };
      }
    } finally {
      clearTimeout(slow);
    }
  }

  /** Asks until there is an answer. @param {object} ask @returns {Promise<any>} */
  async ask(ask) {
    for (;;) {
      const answer = await this.#once(ask);
      if (answer.state !== 'waiting' || this.#isStopped) return answer;
      await drawPause(DRAW_AGAIN_MS);
    }
  }

  /** @param {object} ask @returns {Promise<any>} */
  async #once(ask) {
    if (!this.#worker.isOurs()) return { state: 'refused', error: { code: 'reloaded', message: '' } };
    const answer = await this.#worker.ask(ask).catch(() => null) ?? { state: 'waiting' };
    return answer.error ? { state: 'refused', ...answer } : answer;
  }
}

/** @param {number} ms */
function drawPause(ms) {
  return new Promise((resolve) => { setTimeout(resolve, ms); });
}

/** What a person is told when a drawing is not taken, and what to do. @param {{code: string, message: string}} error */
function drawTrouble({ code, message }) {
  switch (code) {
    case 'reloaded': return 'The Tabwire extension was reloaded, so this drawing cannot be sent. Press Escape, reload the page and draw again.';
    case 'too_large': return 'The drawing is too large. Undo some marks or make the window smaller, then press Done again.';
    case 'debugger_unavailable': return 'No picture of the page could be taken. Click the Tabwire icon in the browser’s toolbar, then press Done again.';
    case 'malformed': return `Tabwire did not take the drawing (${message}). Change it and press Done again, or press Escape.`;
    default: return `The drawing could not be sent (${message}). Press Done to try again, or Escape to cancel.`;
  }
}
