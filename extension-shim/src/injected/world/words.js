// @ts-check
// Texts of a page as agents read them: in one line, without the card numbers in them, not too long. A classic script.

class PageWords {
  #secrets;

  /** @param {any} secrets */
  constructor(secrets) {
    this.#secrets = secrets;
  }

  /** @param {string} text @returns {string} one line; controls have no place in it: the lines of a snapshot use them */
  line(text) {
    return text.replace(/[\s\0-\x1f\x7f]+/g, ' ').trim();
  }

  /** @param {string} text @param {number} most characters @returns {string} one line for agents */
  shown(text, most) {
    // Whole numbers are looked for before anything is cut off.
    const line = this.#secrets.hide(this.line(text.length > most * 4 ? text.slice(0, most * 4) : text));
    return this.clipped(line, most);
  }

  /** @param {string} text @param {number} most characters @returns {string} with a sign if something is missing */
  clipped(text, most) {
    return text.length > most ? `${this.head(text, most)}…` : text;
  }

  /** @param {string} text @returns {string} several lines for agents */
  block(text) {
    return this.#secrets.hide(text);
  }

  /** Does not part the two units of an emoji. @param {string} text @param {number} most */
  head(text, most) {
    const last = text.charCodeAt(most - 1);
    return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
  }

  /** @param {string} said @param {string} wanted both in one line @param {boolean} exact */
  says(said, wanted, exact) {
    return exact ? said === wanted : said.toLowerCase().includes(wanted.toLowerCase());
  }

  /** @param {string} text @returns {string[]} its letters, two by two */
  pairs(text) {
    const letters = Array.from(text.toLowerCase().replace(/\s+/g, ''));
    return letters.length === 1 ? letters : letters.slice(1).map((letter, at) => letters[at] + letter);
  }

  /** @param {string[]} a @param {string[]} b pairs of letters @returns {number} 1: the same letters in a row */
  likeness(a, b) {
    if (a.length === 0 || b.length === 0) return 0;
    const left = [...b];
    const common = a.filter((pair) => {
      const at = left.indexOf(pair);
      if (at >= 0) left.splice(at, 1);
      return at >= 0;
    });
    return (2 * common.length) / (a.length + b.length);
  }
}
