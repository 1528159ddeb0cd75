// @ts-check
// Stands in the page's own world before `navigator.clipboard`: asks the guard of our world at each call whether an agent
// acts here now. Sent to the page by itself, so it names nothing from outside.

/**
 * @param {string} channel the type of the events by which it asks
 */
export function replaceClipboard(channel) {
  const { prototype } = globalThis.Clipboard ?? {};
  if (!prototype) return;
  /** @param {string | null} detail @returns {boolean} whether an agent acts here */
  const ask = (detail) => !document.dispatchEvent(new CustomEvent(channel, { detail, cancelable: true }));
  const refuse = () => Promise.reject(new DOMException('Read permission denied.', 'NotAllowedError'));
  /** @param {any} items @returns {Promise<void>} */
  const keep = async (items) => {
    /** @type {Record<string, string>} */
    const data = {};
    for (const item of items) {
      for (const type of item.types) {
        const content = type.startsWith('text/') ? await item.getType(type) : undefined;
        if (content !== undefined) data[type] = await content.text();
      }
    }
    ask(JSON.stringify(data));
  };
  /** @type {Record<string, (original: Function, self: unknown, given: any[]) => unknown>} */
  const inPlaceOf = {
    writeText: (original, self, given) => (ask(JSON.stringify({ 'text/plain': String(given[0]) })) ? Promise.resolve() : Reflect.apply(original, self, given)),
    write: (original, self, given) => (ask(null) ? keep(given[0]) : Reflect.apply(original, self, given)),
    readText: (original, self, given) => (ask(null) ? refuse() : Reflect.apply(original, self, given)),
    read: (original, self, given) => (ask(null) ? refuse() : Reflect.apply(original, self, given)),
  };
  for (const [name, replaced] of Object.entries(inPlaceOf)) {
    const known = Object.getOwnPropertyDescriptor(prototype, name);
    if (typeof known?.value !== 'function' || !known.configurable) continue;
    // A proxy of the browser's function has its name, its length and its text.
    Object.defineProperty(prototype, name, { ...known, value: new Proxy(known.value, { apply: replaced }) });
  }
}
