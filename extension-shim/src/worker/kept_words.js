// @ts-check
// The person's kept words on acts of agents, which the daemon keeps.

/** @import {KeptWord, KeptWordsFrame, WordTakenBack} from '../../types/protocol.js' */

import { AskedView } from './asked_view.js';

/** @typedef {{kept_words: KeptWord[], more_words: number}} KeptWordsState `more_words`: how many older ones there are */

/** @extends {AskedView<KeptWordsState>} */
export class KeptWords extends AskedView {
  constructor() {
    super({ kept_words: [], more_words: 0 }, { type: 'kept_words' });
  }

  /** @param {WordTakenBack} word @returns {boolean} false: no daemon is connected */
  takeBack({ owner, client_id, kind, site, at }) {
    return this.ask({ type: 'kept_words', take_back: { owner, client_id, kind, site, at } });
  }

  /** @param {KeptWordsFrame} frame */
  handleFrame({ words, more }) {
    this.set({ kept_words: words, more_words: more });
  }
}
