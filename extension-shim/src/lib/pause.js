// @ts-check
// A pause that ends early when nobody waits any more.

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} rejects with the signal's reason */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return void reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
