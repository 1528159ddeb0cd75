// @ts-check
// The lines of snapshots and of `find`: role, level, name in quotes, ref. Texts of the page stand behind a dash, which begins
// no role, so that a page cannot write such a line.

const REF_LINE = /^(?:[+~] )? *([a-z]\S*)(?: \d+)?(?: ("(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-f]{4}))*"))? ([a-z]{1,3}[1-9]\d*)(?![\w-])/;

/** @param {string} line @returns {{role: string, name: string, ref: string} | null} null: it is of no element */
export function readRefLine(line) {
  const [, role, name, ref] = REF_LINE.exec(line) ?? [];
  return ref === undefined ? null : { role, name: name ? JSON.parse(name) : '', ref };
}
