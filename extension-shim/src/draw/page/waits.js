// @ts-check
// The agents that wait for the drawing, and the fate of the drawing when no agent waits any more. Pure.

/**
 * @typedef {'stay' | 'keep' | 'close'} DrawFate `keep`: the person decides
 * @typedef {{correlation_id?: string, session?: string, styles?: boolean, client?: string, prompt?: string}} DrawRequest
 * @typedef {{asks: DrawRequest[], over: string[], is_persons: boolean}} DrawWaitsRecord
 */

export class DrawWaits {
  /** Whom the drawing is for, oldest first. Waits that are over are among them if it was made for them. @type {DrawRequest[]} */
  asks;
  /** @type {Set<string>} waits that are over */
  #over;
  /** Whether the person has opened it, or come upon it, to draw of their own accord. */
  #isPersons;

  /** @param {DrawWaitsRecord} [before] the state of the page before its last reload */
  constructor({ asks, over, is_persons } = { asks: [], over: [], is_persons: false }) {
    this.asks = asks;
    this.#over = new Set(over);
    this.#isPersons = is_persons;
  }

  /** @returns {DrawWaitsRecord} */
  get record() {
    return { asks: this.asks, over: [...this.#over], is_persons: this.#isPersons };
  }

  /** @param {DrawRequest} ask one without a wait is the person's own */
  add(ask) {
    if (ask.correlation_id === undefined) this.#isPersons = true;
    else if (!this.asks.some(({ correlation_id }) => correlation_id === ask.correlation_id)) this.asks.push(ask);
  }

  /** Why the person is asked. */
  get why() {
    if (this.#open.length > 1) return `${this.#open.length} agents ask you to draw on this page`;
    if (this.#open.length === 1) return 'An agent asks you to draw on this page';
    return this.asks.length > 0 ? 'The agent does not wait for this drawing any more' : 'Draw on this page for your agent';
  }

  /** Who waits for it, and the words in which they ask: the agents' words. @returns {{client: string, prompt: string}[]} */
  get requests() {
    const named = this.#open.map(({ client = '', prompt = '' }) => ({ client, prompt }));
    return named.filter(({ client, prompt }) => client !== '' || prompt !== '');
  }

  /** The session that it is for, or nothing. */
  get session() {
    return (this.#open.at(-1) ?? this.asks.at(-1))?.session ?? '';
  }

  /** @param {string[]} over waits that have ended @param {boolean} isDrawn whether there is work to lose @returns {DrawFate} */
  end(over, isDrawn) {
    for (const wait of over) this.#over.add(wait);
    const open = this.#open;
    if (open.length === this.asks.length) return 'stay';
    if (open.length > 0 || (this.#isPersons && !isDrawn)) {
      this.asks = open;
      return 'stay';
    }
    return isDrawn ? 'keep' : 'close';
  }

  get #open() {
    return this.asks.filter(({ correlation_id }) => !this.#over.has(correlation_id ?? ''));
  }
}
