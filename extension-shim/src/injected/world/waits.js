// @ts-check
// The texts that waits look for in a document. A classic script.

class ShownTexts {
  /** An answer that takes longer would hold back the load event of a document that loads. */
  static LOADING_MS = 50;
  /** A longer line says little about a text that is not there. */
  static #LINE_MAX = 120;
  /** Part of the pairs of letters of a text that a line like it has. */
  static #LIKE = 0.5;
  #dom;
  #finder;
  #words;
  #reader;
  // An element of the page can have the name of a property of its document.
  #readyState = /** @type {() => DocumentReadyState} */ (Object.getOwnPropertyDescriptor(Document.prototype, 'readyState')?.get);

  /** @param {PageDom} dom @param {TargetFinder} finder @param {PageWords} words @param {PageReader} reader */
  constructor(dom, finder, words, reader) {
    this.#dom = dom;
    this.#finder = finder;
    this.#words = words;
    this.#reader = reader;
  }

  /** @param {string[]} texts @returns {{shown: boolean[], readyState: DocumentReadyState}} for each text whether a person sees it */
  look(texts) {
    const shown = texts.map((text) => this.#finder.all({ text }).some((element) => this.#dom.isVisible(element)));
    return { shown, readyState: this.#readyState.call(document) };
  }

  hasLoaded() {
    return this.#readyState.call(document) === 'complete';
  }

  /** The lines of the document that are most like a text that is not there. @param {string} text @returns {{line: string, likeness: number}[]} */
  nearest(text) {
    const wanted = this.#words.pairs(text);
    const lines = new Set(this.#reader.text(this.#dom.page).split(/[\n\t]/).map((line) => this.#words.line(line)));
    const rated = [...lines].filter((line) => line !== '' && line.length <= ShownTexts.#LINE_MAX)
      .map((line) => ({ line, likeness: this.#words.likeness(wanted, this.#words.pairs(line)) }));
    return rated.filter(({ likeness }) => likeness >= ShownTexts.#LIKE).sort((a, b) => b.likeness - a.likeness).slice(0, 3);
  }
}
