// @ts-check
// Whether a file is of a kind that a field for files asks for.

/**
 * @param {string} accept such as `image/*,.pdf` @param {string} name @param {string} type by the browser, such as `image/png`
 * @returns {boolean}
 */
export function acceptsFile(accept, name, type) {
  const kinds = accept.toLowerCase().split(',').map((kind) => kind.trim()).filter((kind) => kind !== '');
  if (kinds.length === 0) return true;
  const [file, kindOfFile] = [name.toLowerCase(), type.toLowerCase()];
  return kinds.some((kind) => {
    if (kind.startsWith('.')) return file.endsWith(kind);
    if (kind === '*/*' || kind === '*') return true;
    return kind.endsWith('/*') ? kindOfFile.startsWith(kind.slice(0, -1)) : kindOfFile === kind;
  });
}
