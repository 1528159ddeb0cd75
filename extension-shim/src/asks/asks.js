// @ts-check
// The questions of agents that wait for the person, as the daemon reports them. The daemon keeps them and checks
// every answer; this list goes with the connection.

/** @import {AskAnswer, AsksFrame, OpenAsk} from '../../types/protocol.js' */

export class Asks {
  /** @type {OpenAsk[]} */
  #open = [];
  /** @type {(text: string) => boolean} false: no daemon is connected */
  send = () => false;
  /** Others are open now. @type {(asks: OpenAsk[]) => void} */
  onChange = () => {};

  /** Oldest first. */
  get open() {
    return this.#open;
  }

  /** @param {AsksFrame} frame */
  handleFrame({ asks }) {
    this.#set(asks);
  }

  /** Without the daemon none can be answered. It sends them again after `ready`. */
  forget() {
    if (this.#open.length > 0) this.#set([]);
  }

  /** @param {string} correlation_id @param {AskAnswer} answer @returns {boolean} false: no daemon is connected */
  answer(correlation_id, answer) {
    return this.send(JSON.stringify({ type: 'ask_answer', correlation_id, answer }));
  }

  /** @param {OpenAsk[]} asks */
  #set(asks) {
    this.#open = asks;
    this.onChange(asks);
  }
}
