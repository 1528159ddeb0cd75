// @ts-check
// Work that is done once, however often it is asked for, and again only if it failed.

import { BROWSER_CALL_MS } from './limits.js';
import { within } from './within.js';

/** @param {() => Promise<void>} work @returns {() => Promise<void>} */
export function once(work) {
  /** @type {Promise<void> | undefined} */
  let done;
  return () => {
    done ??= within(BROWSER_CALL_MS, work()).catch((error) => {
      // A storage error must not disable the worker for its whole life.
      done = undefined;
      throw error;
    });
    return done;
  };
}
