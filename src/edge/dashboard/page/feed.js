// @ts-check
// The one stream of the daemon: read line by line, and taken up again where it broke off.

const [RETRY_MIN_MS, RETRY_MAX_MS] = [300, 5_000];
/** The daemon sends a line every second. */
const SILENCE_MS = 10_000;

export class Feed {
  #token;
  #take;
  #tell;
  /** Where the stream was last: the daemon goes on from there. */
  #place = '';
  /** Where it was among the recorded entries. */
  #entriesPlace = '';
  #hasEntries = false;
  /** The stream is to be opened anew at once. */
  #isTurned = false;
  /** @type {AbortController | null} */
  #open = null;

  /**
   * @param {string} token @param {(event: any) => void} take a line
   * @param {(state: 'live' | 'connecting' | 'ended') => void} tell how the stream is
   */
  constructor(token, take, tell) {
    this.#token = token;
    this.#take = take;
    this.#tell = tell;
  }

  /** Whether the recorded entries come, too. The daemon makes them for those who show them only. @param {boolean} isOn */
  followEntries(isOn) {
    if (isOn === this.#hasEntries) return;
    this.#hasEntries = isOn;
    this.#isTurned = true;
    this.#open?.abort();
  }

  async run() {
    let wait = RETRY_MIN_MS;
    for (;;) {
      try {
        const isOpen = await this.#read();
        if (!isOpen) return this.#tell('ended');
        wait = RETRY_MIN_MS;
      } catch (error) {
        if (this.#isTurned) continue;
        console.debug(error);
        wait = Math.min(wait * 2, RETRY_MAX_MS);
      }
      this.#tell('connecting');
      await new Promise((resolve) => { setTimeout(resolve, wait); });
    }
  }

  /** @returns {Promise<boolean>} false: the daemon does not know the token any more */
  async #read() {
    const stop = new AbortController();
    this.#open = stop;
    this.#isTurned = false;
    const entries = this.#hasEntries ? `&entries=${this.#entriesPlace}` : '';
    const response = await ask(`/dashboard/feed?after=${this.#place}${entries}`, this.#token, { signal: stop.signal });
    if (response.status === 401) return false;
    if (!response.ok || !response.body) throw new Error(`the daemon answers ${response.status}`);
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    let timer = setTimeout(() => stop.abort(), SILENCE_MS);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return true;
        clearTimeout(timer);
        timer = setTimeout(() => stop.abort(), SILENCE_MS);
        const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          const event = JSON.parse(line);
          this.#place = event.place;
          this.#entriesPlace = event.entries_place ?? this.#entriesPlace;
          this.#take(event);
        }
        this.#tell('live');
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * What the person does. @param {string} path @param {string} token @param {object} [body]
 * @returns {Promise<any>} null: the daemon did not do it
 */
export async function act(path, token, body) {
  const sent = { method: 'POST', ...(body && { body: JSON.stringify(body) }) };
  const response = await ask(path, token, sent).catch(() => null);
  return response?.ok ? response.json().catch(() => null) : null;
}

/** @param {string} path @param {string} token @param {RequestInit} [init] */
export function ask(path, token, init = {}) {
  return fetch(path, { ...init, cache: 'no-store', credentials: 'omit', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' } });
}
