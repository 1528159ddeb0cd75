// @ts-check
// The difference of two texts of which nearly every line is there once: each has a ref in it.

/**
 * Lines that are gone begin with "- ", new ones with "+ ", and those of an element that was there before with "~ ".
 * A new line has the unchanged one that it stands under above it, with two spaces.
 * @param {string[]} before @param {string[]} after @param {(line: string) => string | undefined} keyOf the ref in a line
 * @returns {string[]}
 */
export function lineDiff(before, after, keyOf) {
  const left = counts(before);
  const isKept = after.map((line) => take(left, line));
  /** @type {Set<string>} */
  const changed = new Set();
  const gone = new Map(before.filter((line) => take(left, line)).map((line) => [keyOf(line) ?? line, line]));
  /** @type {string[]} */
  const added = [];
  const told = new Set();
  for (const [at, line] of after.entries()) {
    if (isKept[at]) continue;
    const key = keyOf(line);
    const isChange = key !== undefined && gone.has(key);
    if (isChange) changed.add(key);
    const above = parentOf(after, at);
    if (!isChange && above >= 0 && isKept[above] && !told.has(above)) added.push(`  ${after[above]}`);
    told.add(above);
    added.push(`${isChange ? '~' : '+'} ${line}`);
  }
  return [...[...gone].filter(([key]) => !changed.has(key)).map(([, line]) => `- ${line}`), ...added];
}

/** @param {string[]} lines @returns {Map<string, number>} */
function counts(lines) {
  const found = new Map();
  for (const line of lines) found.set(line, (found.get(line) ?? 0) + 1);
  return found;
}

/** @param {Map<string, number>} left @param {string} line @returns {boolean} whether there was one */
function take(left, line) {
  const number = left.get(line) ?? 0;
  if (number > 0) left.set(line, number - 1);
  return number > 0;
}

/** @param {string[]} lines @param {number} at @returns {number} the line that this one stands under; -1: none */
function parentOf(lines, at) {
  const depth = depthOf(lines[at]);
  let above = at - 1;
  while (above >= 0 && depthOf(lines[above]) >= depth) above -= 1;
  return above;
}

/** @param {string} line */
function depthOf(line) {
  return line.length - line.trimStart().length;
}
