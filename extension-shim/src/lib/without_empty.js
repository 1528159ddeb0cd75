// @ts-check
// An answer is read by a model: what says nothing is left out of it.

/**
 * Drops null, false, zero, empty texts and empty lists from an object, not from what is in it.
 * @param {Record<string, any>} value @returns {Record<string, any>}
 */
export function withoutEmpty(value) {
  const says = ([, one] = /** @type {[string, any]} */ (['', null])) => Boolean(one) && !(Array.isArray(one) && one.length === 0);
  return Object.fromEntries(Object.entries(value).filter(says));
}
