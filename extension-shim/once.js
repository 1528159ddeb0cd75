// @ts-check
// Work that is done once, however often it is asked for, and again only if it failed.

/** @param {() => Promise<void>} work @returns {() => Promise<void>} */
export function once(work) {
  /** @type {Promise<void> | undefined} */
  let done;
  return () => {
    done ??= work().catch((error) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}
