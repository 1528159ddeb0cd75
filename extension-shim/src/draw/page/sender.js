// @ts-check
// Keeps a drawing until the daemon has it. The worker may be killed and the daemon may be away: then the
// same drawing is sent again, under the same id.

/**
 * @typedef {{state: 'kept'} | {state: 'waiting'} | {state: 'refused', error: {code: string, message: string}}} DrawAnswer
 * @typedef {'sending' | 'waiting' | 'full'} DrawProgress
 * @typedef {{state: 'kept'} | {state: 'stopped'} | {state: 'refused', code: string, message: string}} DrawEnd
 *
 * @typedef {(ask: object) => Promise<any>} DrawWorker asks the worker; rejects if that ended meanwhile
 */

/** A worker that was killed is back within a second. */
export const DRAW_AGAIN_MS = 250;
/** A disk that is full is not empty a moment later. */
export const DRAW_FULL_MS = 5_000;
/** A wait shorter than this needs no explanation. */
export const DRAW_SLOW_MS = 1_500;

export class DrawSender {
  #worker;
  #show;
  #isStopped = false;

  /** @param {DrawWorker} worker @param {(progress: DrawProgress) => void} show */
  constructor(worker, show) {
    this.#worker = worker;
    this.#show = show;
  }

  /** The drawing is not wanted any more. */
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
        // Agents that asked meanwhile get the drawing, too.
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
    const answer = await this.#worker(ask).catch(() => null) ?? { state: 'waiting' };
    return answer.error ? { state: 'refused', ...answer } : answer;
  }
}

/** @param {number} ms */
function drawPause(ms) {
  return new Promise((resolve) => { setTimeout(resolve, ms); });
}

/** Explains to the person why a drawing was refused, and the next step. @param {{code: string, message: string}} error */
export function drawTrouble({ code, message }) {
  switch (code) {
    case 'too_large': return 'The drawing is too large. Undo some marks, then press Send again.';
    case 'blocked_by_policy': return `The drawing was not sent: ${message}. Allow the site in the Tabwire popup and press Send again, or press Escape.`;
    case 'malformed': return `Tabwire did not take the drawing (${message}). Change it and press Send again, or press Escape.`;
    default: return `The drawing could not be sent (${message}). Press Send to try again, or Escape to cancel.`;
  }
}
