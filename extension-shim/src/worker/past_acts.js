// @ts-check
// The last acts of agents, which the daemon keeps for the person. They are asked for while the popup is open.

/** @import {HistoryFrame, HistoryWish, PastAct} from '../../types/protocol.js' */

/** How long an answer of the daemon is good, in milliseconds. */
const FRESH_MS = 2_000;

/** @typedef {{history_on: boolean | null, past_acts: PastAct[], history_problem: string}} HistoryState `history_on` null: not known yet */

export class PastActs {
  /** @type {HistoryState} */
  #state = { history_on: null, past_acts: [], history_problem: '' };
  #askedAt = -Infinity;
  /** @type {(text: string) => boolean} false: no daemon is connected */
  send = () => false;

  /** As far as it is known; news are asked for if that is old. @returns {HistoryState} */
  view() {
    if (performance.now() - this.#askedAt >= FRESH_MS) this.wish('look');
    return this.#state;
  }

  /** @param {HistoryWish} wish @returns {boolean} false: no daemon is connected */
  wish(wish) {
    const isSent = this.send(JSON.stringify({ type: 'history', wish }));
    if (isSent) this.#askedAt = performance.now();
    return isSent;
  }

  /** @param {HistoryFrame} frame */
  handleFrame({ on, acts, problem = '' }) {
    this.#state = { history_on: problem ? null : on, past_acts: acts, history_problem: problem };
  }

  /** The daemon is gone, or another one is there. */
  forget() {
    this.#state = { history_on: null, past_acts: [], history_problem: '' };
    this.#askedAt = -Infinity;
  }
}
