// @ts-check
// The last acts of agents, which the daemon keeps for the person.

/** @import {HistoryFrame, HistoryWish, PastAct} from '../../types/protocol.js' */

import { AskedView } from './asked_view.js';

/** @typedef {{history_on: boolean | null, past_acts: PastAct[], history_problem: string}} HistoryState `history_on` null: not known yet */

/** @extends {AskedView<HistoryState>} */
export class PastActs extends AskedView {
  constructor() {
    super({ history_on: null, past_acts: [], history_problem: '' }, { type: 'history', wish: 'look' });
  }

  /** @param {HistoryWish} wish @returns {boolean} false: no daemon is connected */
  wish(wish) {
    return this.ask({ type: 'history', wish });
  }

  /** @param {HistoryFrame} frame */
  handleFrame({ on, acts, problem = '' }) {
    this.set({ history_on: problem ? null : on, past_acts: acts, history_problem: problem });
  }
}
