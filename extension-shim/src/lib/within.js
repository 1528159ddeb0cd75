// @ts-check
// Limits the wait for a call of the browser: one that never settles must not hold up the next try.

/**
 * @template T @param {number} ms @param {Promise<T>} work @returns {Promise<T>}
 * @throws {Error} it was not done in time; a later outcome is ignored
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
