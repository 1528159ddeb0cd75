// @ts-check
// Models read the answers: empty fields are left out.

/**
 * Drops null, false, zero, empty texts and empty lists from an object, but not from the objects in it.
 * @param {Record<string, any>} value @returns {Record<string, any>}
 */
export function withoutEmpty(value) {
  const hasContent = ([, one] = /** @type {[string, any]} */ (['', null])) => Boolean(one) && !(Array.isArray(one) && one.length === 0);
  return Object.fromEntries(Object.entries(value).filter(hasContent));
}
