// @ts-check
// The person's kept words on acts of agents, which the daemon keeps. They are asked for while the popup is open.

/** @import {KeptWord, KeptWordsFrame, WordTakenBack} from '../../types/protocol.js' */

/** How long an answer of the daemon is good, in milliseconds. */
const FRESH_MS = 2_000;

/** @typedef {{kept_words: KeptWord[], more_words: number}} KeptWordsState `more_words`: how many older ones there are */

export class KeptWords {
  /** @type {KeptWordsState} */
  #state = { kept_words: [], more_words: 0 };
  #askedAt = -Infinity;
  /** @type {(text: string) => boolean} false: no daemon is connected */
  send = () => false;

  /** As far as they are known; news are asked for if that is old. @returns {KeptWordsState} */
  view() {
    if (performance.now() - this.#askedAt >= FRESH_MS) this.#ask({});
    return this.#state;
  }

  /** @param {WordTakenBack} word @returns {boolean} false: no daemon is connected */
  takeBack({ owner, client_id, kind, site, at }) {
    return this.#ask({ take_back: { owner, client_id, kind, site, at } });
  }

  /** @param {{take_back?: WordTakenBack}} words */
  #ask(words) {
    const isSent = this.send(JSON.stringify({ type: 'kept_words', ...words }));
    if (isSent) this.#askedAt = performance.now();
    return isSent;
  }

  /** @param {KeptWordsFrame} frame */
  handleFrame({ words, more }) {
    this.#state = { kept_words: words, more_words: more };
  }

  /** The daemon is gone, or another one is there. */
  forget() {
    this.#state = { kept_words: [], more_words: 0 };
    this.#askedAt = -Infinity;
  }
}
