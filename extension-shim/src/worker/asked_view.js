// @ts-check
// Something that the daemon keeps for the person, as far as the worker knows it: asked for while the popup is open.

/** How long an answer of the daemon is good, in milliseconds. */
const FRESH_MS = 2_000;

/** @template State */
export class AskedView {
  #unknown;
  #state;
  #look;
  #askedAt = -Infinity;
  /** @type {(text: string) => boolean} false: no daemon is connected */
  send = () => false;

  /** @param {State} unknown the state while no daemon has told another @param {object} look the frame that asks for it */
  constructor(unknown, look) {
    this.#unknown = unknown;
    this.#state = unknown;
    this.#look = look;
  }

  /** As far as it is known; news are asked for if that is old. @returns {State} */
  view() {
    if (performance.now() - this.#askedAt >= FRESH_MS) this.ask(this.#look);
    return this.#state;
  }

  /** @param {object} frame which the daemon answers with the state @returns {boolean} false: no daemon is connected */
  ask(frame) {
    const isSent = this.send(JSON.stringify(frame));
    if (isSent) this.#askedAt = performance.now();
    return isSent;
  }

  /** @param {State} state as the daemon has told it */
  set(state) {
    this.#state = state;
  }

  /** The daemon is gone, or another one is there. */
  forget() {
    this.#state = this.#unknown;
    this.#askedAt = -Infinity;
  }
}
