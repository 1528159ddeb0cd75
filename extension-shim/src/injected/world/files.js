// @ts-check
// Fields for files, and files that are dropped. A classic script.

/**
 * @typedef {{name: string, size: number, type: string}} SeenFile a file as the page sees it
 *
 * @typedef {object} FileField
 * @property {boolean} isMultiple
 * @property {boolean} isFolder it takes whole folders only
 * @property {string} accept the kinds of files that it asks for
 */

class FileFields {
  #dom;
  #refs;
  /** Elements for the debugger, each under a name that only the worker knows. @type {Map<string, any>} */
  #handed = new Map();
  /** The files that a field has got. @type {WeakMap<any, SeenFile[]>} */
  #seen = new WeakMap();
  /** @type {{over: DragEvent | null, isDropped: boolean, files: SeenFile[]} | null} */
  #dragged = null;

  /** @param {PageDom} dom @param {RefTable} refs */
  constructor(dom, refs) {
    this.#dom = dom;
    this.#refs = refs;
  }

  /** Keeps an element until the debugger fetches it. @param {number} id @param {string} secret @returns {boolean} whether it is there */
  handOver(id, secret) {
    const element = this.#refs.find(id)?.element;
    if (!element || !this.#dom.isThere(element)) return false;
    this.#handed.set(secret, element);
    return true;
  }

  /** @param {string} secret @returns {any} once */
  handed(secret) {
    const element = this.#handed.get(secret) ?? null;
    this.#handed.delete(secret);
    return element;
  }

  /** @param {HTMLInputElement} field @returns {FileField} */
  about(field) {
    return { isMultiple: field.multiple, isFolder: field.webkitdirectory, accept: field.accept };
  }

  /** Notes which files a field gets: many pages empty it as soon as they have them. @param {HTMLInputElement} field */
  watch(field) {
    this.#seen.delete(field);
    EventTarget.prototype.addEventListener.call(field, 'input', () => { this.#seen.set(field, this.#list(field.files)); }, { capture: true, once: true });
  }

  /** @param {HTMLInputElement} field @returns {SeenFile[]} */
  seen(field) {
    return this.#seen.get(field) ?? this.#list(field.files);
  }

  /** @param {FileList | null | undefined} files @returns {SeenFile[]} */
  #list(files) {
    return Array.from(files ?? [], ({ name, size, type }) => ({ name, size, type }));
  }

  /** Watches files that are dragged over the document: taken, refused or dropped. */
  armDrop() {
    const dragged = { over: /** @type {DragEvent | null} */ (null), isDropped: false, files: /** @type {SeenFile[]} */ ([]) };
    this.#dragged = dragged;
    const listen = (/** @type {string} */ type, /** @type {(event: any) => void} */ listener) => {
      EventTarget.prototype.addEventListener.call(window, type, listener, { capture: true, once: true });
    };
    listen('dragover', (event) => { dragged.over = event; });
    listen('drop', (event) => {
      dragged.isDropped = true;
      dragged.files = this.#list(event.dataTransfer?.files);
    });
  }

  /** Whether the page takes the files, and which it has got. @param {number} id of the element that they are dragged onto */
  dragged(id) {
    const element = this.#refs.find(id)?.element;
    const isField = FileFields.isField(element);
    const { over = null, isDropped = false, files = [] } = this.#dragged ?? {};
    // Asked once the event's way through the page is over.
    return { takes: isField || over?.defaultPrevented === true, isDropped, files: isField ? this.#list(element.files) : files };
  }

  /** @param {any} element @returns {element is HTMLInputElement} */
  static isField(element) {
    return element instanceof HTMLInputElement && element.type === 'file';
  }
}
