// @ts-check
// Whether a URL is the one that an agent waits for: a part of it, or a pattern with asterisks. Pure.

/**
 * @param {string} pattern without an asterisk a part of the URL; else all of it: * stands for anything but a slash, ** for
 *   anything at all
 * @returns {(url: string) => boolean}
 */
export function urlMatcher(pattern) {
  if (!pattern.includes('*')) return (url) => url.includes(pattern);
  const parts = pattern.split(/(\*+)/).filter((part) => part !== '');
  return (url) => fits(parts, url);
}

/**
 * Goes along the URL with all places of the pattern that it may be at: no pattern takes long.
 * @param {string[]} parts texts, and runs of asterisks between them @param {string} url
 */
function fits(parts, url) {
  /** Places of the URL that the parts so far can end at. */
  let ends = new Set([0]);
  for (const part of parts) {
    /** @type {Set<number>} */
    const next = new Set();
    for (const at of ends) {
      if (!part.startsWith('*')) {
        if (url.startsWith(part, at)) next.add(at + part.length);
        continue;
      }
      // Further on, another place adds the same.
      for (let to = at; to <= url.length && !next.has(to); to += 1) {
        next.add(to);
        if (part.length === 1 && url[to] === '/') break;
      }
    }
    ends = next;
  }
  return ends.has(url.length);
}
