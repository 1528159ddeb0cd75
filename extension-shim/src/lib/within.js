// @ts-check
// A browser's call that never settles must not hold up what can be tried again.

/**
 * @template T @param {number} ms @param {Promise<T>} work @returns {Promise<T>}
 * @throws {Error} it was not done in time; what becomes of it does not count any more
 */
export async function within(ms, work) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the browser did not answer within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, /** @type {Promise<never>} */ (late)]);
  } finally {
    clearTimeout(timer);
  }
}
