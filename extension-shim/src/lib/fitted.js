// @ts-check
// Answers have a size: how much of a list fits into one.

/** For the brackets around a list, and the note that says how to go on. */
const NOTE_BYTES = 200;

/**
 * The first groups with the first of their items that fit into so many bytes of JSON.
 * @template {Record<string, any>} T @param {T[]} groups @param {string} key of the list of items in each @param {number} maxBytes
 * @returns {{told: T[], items: number}} `items`: how many are told
 */
export function fittedGroups(groups, key, maxBytes) {
  const heads = groups.map((group) => ({ ...group, [key]: [] }));
  const parts = groups.flatMap((group, at) => [{ at, isHead: true, value: heads[at] }, ...group[key].map((/** @type {unknown} */ value) => ({ at, isHead: false, value }))]);
  const kept = parts.slice(0, fitted(parts.map(({ value }) => value), maxBytes));
  for (const { at, isHead, value } of kept) if (!isHead) heads[at][key].push(value);
  const told = heads.slice(0, kept.filter(({ isHead }) => isHead).length);
  return { told, items: kept.length - told.length };
}

/**
 * How many of the first values fit into so many bytes of JSON; at least one, since nothing helps nobody.
 * @param {unknown[]} values @param {number} maxBytes
 */
export function fitted(values, maxBytes) {
  const encoder = new TextEncoder();
  let bytes = NOTE_BYTES;
  const over = values.findIndex((value) => {
    bytes += encoder.encode(JSON.stringify(value)).length + 1;
    return bytes > maxBytes;
  });
  return over < 0 ? values.length : Math.max(1, over);
}
