// @ts-check
// The owners on other machines, which the daemon lists. They are asked for while the popup is open; the person disconnects
// one there, or lets it in again.

/** @import {FarOwner, FarOwnerChange, FarOwnersFrame} from '../../types/protocol.js' */

/** How long an answer of the daemon is good, in milliseconds. */
const FRESH_MS = 2_000;

/** @typedef {{far_owners: FarOwner[], far_problem: string}} FarOwnersState `far_problem`: why the person's last change does not count */

export class FarOwners {
  /** @type {FarOwnersState} */
  #state = { far_owners: [], far_problem: '' };
  #askedAt = -Infinity;
  /** @type {(text: string) => boolean} false: no daemon is connected */
  send = () => false;

  /** As far as they are known; news are asked for if that is old. @returns {FarOwnersState} */
  view() {
    if (performance.now() - this.#askedAt >= FRESH_MS) this.#ask({});
    return this.#state;
  }

  /** @param {FarOwnerChange} change @returns {boolean} false: no daemon is connected */
  change({ owner, allowed }) {
    return this.#ask({ change: { owner, allowed } });
  }

  /** @param {{change?: FarOwnerChange}} wish */
  #ask(wish) {
    const isSent = this.send(JSON.stringify({ type: 'far_owners', ...wish }));
    if (isSent) this.#askedAt = performance.now();
    return isSent;
  }

  /** @param {FarOwnersFrame} frame */
  handleFrame({ owners, problem }) {
    // A look has no problem of its own, and the person is to read that of their change.
    this.#state = { far_owners: owners, far_problem: problem ?? '' };
  }

  /** The daemon is gone, or another one is there. */
  forget() {
    this.#state = { far_owners: [], far_problem: '' };
    this.#askedAt = -Infinity;
  }
}
