// @ts-check
// What the worker can ask of a document. The last of the classic scripts of the world: it puts them together once.

(() => {
  // An element that the page gives this name shows as an inherited property.
  if (Object.hasOwn(globalThis, 'tabwireWorld')) return;
  const dom = new PageDom();
  const secrets = new Secrets(SECRET_TABLE);
  const accessible = new Accessible(dom, secrets);
  /** @type {RefTable | undefined} */
  let refs;

  /** Its place among the frames of the document around it; -1: it is the page itself. */
  const place = () => {
    for (let at = 0; window !== parent && at < parent.length; at += 1) if (parent[at] === window) return at;
    return -1;
  };
  const calls = {
    /** @param {{prefix: string, first: number}} names */
    begin({ prefix, first }) {
      refs ??= new RefTable(prefix, first);
      return { place: place(), origin: self.origin };
    },
    /** @param {SnapshotOptions} options */
    snapshot(options) {
      if (!refs) return null;
      const lines = new PageSnapshot(dom, accessible, refs, secrets).lines(document.documentElement, options);
      return { lines, next: refs.next };
    },
  };
  Object.defineProperty(globalThis, 'tabwireWorld', { value: calls });
})();
