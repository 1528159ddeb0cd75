// @ts-check
// Wakes those that wait for something in a tab: they look again at each event, and poll for none.

export class TabEvents {
  /** @type {Set<{tabId: number | undefined, wake: () => void}>} */
  #listeners = new Set();

  /** @param {number | undefined} tabId @param {() => void} wake called at each event @returns {() => void} ends it */
  listen(tabId, wake) {
    const listener = { tabId, wake };
    this.#listeners.add(listener);
    return () => { this.#listeners.delete(listener); };
  }

  /** @param {() => void} wake called at each event of any tab @returns {() => void} ends it */
  listenToAll(wake) {
    return this.listen(undefined, wake);
  }

  /** @param {number} [tabId] absent: an event whose tab the browser does not name */
  handle(tabId) {
    for (const listener of this.#listeners) if (tabId === undefined || listener.tabId === undefined || listener.tabId === tabId) listener.wake();
  }
}

/** One wait, woken by anything. A wake-up that comes before `next` counts for it. */
export class WaitBell {
  #isDue = false;
  #resolve = () => {};

  wake() {
    this.#isDue = true;
    this.#resolve();
  }

  /** @param {number} ms at most @returns {Promise<void>} */
  async next(ms) {
    if (!this.#isDue) {
      /** @type {ReturnType<typeof setTimeout> | undefined} */
      let timer;
      await new Promise((resolve) => {
        this.#resolve = () => resolve(undefined);
        timer = setTimeout(resolve, ms);
      });
      clearTimeout(timer);
    }
    this.#isDue = false;
  }
}
