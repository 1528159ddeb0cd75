// @ts-check
// Uses the values that a page keeps in the browser. Runs in the document, in a world that shares no script with it, and
// uses nothing from outside of the function.

/**
 * @typedef {{area: 'local' | 'session' | 'indexed_db', operation: 'get' | 'set' | 'delete', name?: string, value?: string, chars: number, entries: number}} StoredWish
 *   `chars`, `entries`: how much of them the answer may have
 * @param {StoredWish} wish @returns {Promise<any>} its value, or `error`: a sentence, with `code`
 */
export async function useStoredValues({ area, operation, name, value, chars, entries }) {
  /** @param {any} request of the database */
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error('the page keeps the database busy'));
  });
  /** What JSON cannot say is told by its kind. @param {string} _ @param {any} part */
  const plain = (_, part) => {
    if (part instanceof Blob || part instanceof ArrayBuffer || ArrayBuffer.isView(part)) return `[${part.constructor.name}]`;
    if (part instanceof Map || part instanceof Set) return [...part];
    return typeof part === 'bigint' ? String(part) : part;
  };
  /** @param {string} database @param {string} store */
  const read = async (database, store) => {
    const open = await done(indexedDB.open(database));
    try {
      if (store === '') return { stores: [...open.objectStoreNames] };
      if (!open.objectStoreNames.contains(store)) return { error: `${database} has no store ${store}; it has: ${[...open.objectStoreNames].join(', ')}` };
      const all = open.transaction(store).objectStore(store);
      const [keys, values, count] = await Promise.all([done(all.getAllKeys(null, entries)), done(all.getAll(null, entries)), done(all.count())]);
      let left = chars;
      const told = [];
      for (const [index, key] of keys.entries()) {
        const text = JSON.stringify({ key, value: values[index] }, plain);
        left -= text.length;
        if (left < 0) break;
        told.push(JSON.parse(text));
      }
      return { entries: told, ...(count > told.length && { left_out: count - told.length }) };
    } finally {
      open.close();
    }
  };
  try {
    if (area === 'indexed_db') {
      const known = (await indexedDB.databases()).map((one) => one.name ?? '');
      if (name === undefined) return { databases: known };
      const at = name.indexOf('/');
      const [database, store] = at < 0 ? [name, ''] : [name.slice(0, at), name.slice(at + 1)];
      // To open one that is not there would make it.
      return known.includes(database) ? await read(database, store) : { error: `the page has no database ${database}; it has: ${known.join(', ')}` };
    }
    const place = area === 'local' ? localStorage : sessionStorage;
    if (operation === 'set') {
      const isNew = place.getItem(name ?? '') === null;
      place.setItem(name ?? '', value ?? '');
      return { set: name, is_new: isNew };
    }
    if (operation === 'delete') {
      const isThere = place.getItem(name ?? '') !== null;
      place.removeItem(name ?? '');
      return { deleted: isThere ? 1 : 0 };
    }
    const names = name === undefined ? Object.keys(place) : [name].filter((one) => place.getItem(one) !== null);
    let left = chars;
    /** @type {[string, string | null][]} */
    const told = [];
    for (const one of names) {
      const text = place.getItem(one);
      left -= one.length + (text?.length ?? 0);
      if (left < 0) break;
      told.push([one, text]);
    }
    return { values: Object.fromEntries(told), ...(names.length > told.length && { left_out: names.length - told.length }) };
  } catch (error) {
    return { error: String(/** @type {any} */ (error)?.message ?? error) };
  }
}
