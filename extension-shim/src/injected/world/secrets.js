// @ts-check
// The secrets of a page: fields that hold one, by their kind and name, and digits that are a
// card number. Recordings, analyses and snapshots ask here. A classic script for the isolated world of content scripts;
// its source text is also sent to other worlds, so it may use only itself and the globals of every page.

/**
 * The words of names; `secret_names.rs` of the daemon has the same, and `tests/fixtures/secrets.json` holds both to it.
 * @typedef {object} SecretTable
 * @property {string[]} parts anywhere in a name
 * @property {string[]} ends at its end
 * @property {string[]} words as its last meaningful word
 * @property {string[]} fillers words without a meaning of their own
 */

/** @type {SecretTable} */
const SECRET_TABLE = {
  parts: [
    'passw', 'passphrase', 'passcode', 'passord', 'kennwort', 'contrasena', 'contraseña', 'motdepasse', 'wachtwoord', 'losenord', 'lösenord',
    'salasana', 'adgangskode', 'пароль', '密码', '密碼', 'パスワード', '비밀번호',
  ],
  ends: [
    'token', 'pwd', 'secret', 'apikey', 'accesskey', 'secretkey', 'privatekey', 'authkey', 'authorization', 'cookie', 'credential', 'credentials',
    'sessionid', 'sessid', 'sessionkey', 'jwt', 'onetimecode', 'verificationcode', 'securitycode', 'cardnumber', 'cardnum', 'cardno', 'ccnumber',
    'ccnum', 'cccsc', 'creditcard', 'jelszó', 'jelszo', 'סיסמה', 'κωδικός',
  ],
  words: [
    'pass', 'passe', 'pw', 'pwd', 'mdp', 'otp', 'totp', 'pin', 'puk', 'sid', 'session', 'cvv', 'cvv2', 'cvc', 'cvc2', 'csc', 'ssn', 'iban', 'senha',
    'parola', 'parole', 'clave', 'haslo', 'hasło', 'heslo', 'geslo', 'sifre', 'şifre', 'lozinka', 'parool', 'slaptazodis', 'пин', '암호', '口令',
    '暗証番号',
  ],
  fillers: [
    'code', 'number', 'num', 'no', 'nr', 'value', 'val', 'input', 'field', 'text', 'box', 'confirm', 'confirmation', 'again', 'repeat', 'hash', 'plain',
  ],
};

/** @typedef {Secrets} SecretRules its name for modules, which have a constant of the same name as the class */

class Secrets {
  #table;
  #inFields = new Set(['otp', 'totp', 'pin', 'puk', 'cvv', 'cvv2', 'cvc', 'cvc2', 'csc', 'ssn', 'iban', 'pwd', 'cc']);
  #longestName = 96;

  /** @param {SecretTable} table */
  constructor(table) {
    this.#table = table;
  }

  /** Whether a value of this name is a secret. @param {string} name */
  isName(name) {
    if (name.length > this.#longestName) return false;
    const words = this.#words(name);
    const plain = words.join('');
    const { parts, ends } = this.#table;
    return parts.some((part) => plain.includes(part)) || ends.some((end) => plain.endsWith(end)) || this.#lastWordTells(words);
  }

  /** @param {string[]} all */
  #lastWordTells(all) {
    const { words, fillers } = this.#table;
    for (const word of all.toReversed()) {
      const bare = word.replace(/[0-9]+$/, '');
      if (words.includes(word)) return true;
      if (bare && !fillers.includes(bare)) return words.includes(bare);
    }
    return false;
  }

  /** In lower case; a word begins at a capital letter, too. @param {string} name @returns {string[]} */
  #words(name) {
    const parts = name.replace(/[\u0300-\u036f]/g, '').match(/[\p{Alphabetic}\p{N}]+/gu) ?? [];
    return parts.flatMap((part) => part.replace(/([\p{Lowercase}0-9])(?=\p{Uppercase})/gu, '$1 ').split(' '))
      .map((word) => Array.from(word, (letter) => letter.toLowerCase()).join(''));
  }

  /** Whether the content of a field is a secret. @param {any} field @param {Iterable<any>} [known] its labels, where they are known */
  isField(field, known) {
    this.remember(field);
    if (this.#known().has(field)) return true;
    const of = (/** @type {string} */ name) => String(field.getAttribute?.(name) ?? '');
    if (/(current|new)-password|one-time-code|\bcc-/.test(String(field.autocomplete || of('autocomplete')))) return true;
    const labels = Array.from(known ?? field.labels ?? [], ({ textContent }) => String(textContent ?? '').slice(0, 200).trim());
    const names = ['name', 'id', 'placeholder', 'aria-label'].map(of);
    return [...names, ...labels].some((name) => this.isName(name) || this.#words(name.slice(0, 200)).some((word) => this.#inFields.has(word)));
  }

  /** A button that shows a password makes its field one of text: a field that was one for a password stays one. @param {any} field */
  remember(field) {
    if (field?.type === 'password') this.#known().add(field);
  }

  /** The password fields that are there now. @param {any} root a document or shadow root */
  rememberAll(root) {
    for (const field of root.querySelectorAll('input[type=password]')) this.remember(field);
  }

  /** One for the life of the page, shared by all its readers. @returns {WeakSet<object>} */
  #known() {
    const world = /** @type {any} */ (globalThis);
    // An element that the page gives this name shows as a property, too.
    if (!Object.hasOwn(world, 'tabwireSecrets')) {
      Object.defineProperty(world, 'tabwireSecrets', { value: new WeakSet(), configurable: true });
    }
    return world.tabwireSecrets;
  }

  /** Whether all of a text is a card number, of any issuer. @param {string} text */
  isCardNumber(text) {
    const digits = text.replace(/[ -]/g, '');
    return /^\d{13,19}$/.test(digits) && this.#hasRightCheckDigit(digits);
  }

  /** A text without the card numbers in it. @param {string} text @returns {string} */
  hide(text) {
    // Most texts have no digits enough, and the search costs more than this look.
    if (text.length < 13 || !/[0-9](?:(?:[ \-+\u00a0]|%20)?[0-9]){12}/.test(text)) return text;
    let shown = '';
    let done = 0;
    for (const { index } of text.matchAll(/(?<![0-9A-Za-z])[0-9]/g)) {
      const end = index < done ? 0 : this.#cardEnd(text, index);
      if (end === 0) continue;
      shown += `${text.slice(done, index)}[redacted]`;
      done = end;
    }
    return done === 0 ? text : shown + text.slice(done);
  }

  /** Where a card number ends that begins here; 0: none does. @param {string} text @param {number} start */
  #cardEnd(text, start) {
    if (/(?:[0-9],|\.)$/.test(text.slice(Math.max(0, start - 2), start))) return 0; // The decimals of a number.
    let digits = '';
    let found = 0;
    for (let at = start; digits.length < 19 && /[0-9]/.test(text[at] ?? '');) {
      digits += text[at];
      at += 1;
      const gap = /^(?:[ \-+\u00a0]|%20)(?=[0-9])/.exec(text.slice(at, at + 4))?.[0].length ?? 0;
      const goesOn = gap === 0 && /^(?:[0-9A-Za-z_]|\.[0-9])/.test(text.slice(at, at + 2));
      if (!goesOn && this.#isCard(digits)) found = at;
      at += gap;
    }
    return found;
  }

  /** @param {string} digits */
  #isCard(digits) {
    const { length } = digits;
    const start = Number(digits.slice(0, 4));
    const within = (/** @type {[number, number][]} */ ...ranges) => ranges.some(([from, to]) => start >= from && start <= to);
    const isIssued = ([13, 16, 19].includes(length) && within([4000, 4999]))
      || (length === 16 && within([2221, 2720], [5100, 5599]))
      || (length === 15 && within([3400, 3499], [3700, 3799]))
      || (length === 14 && within([3000, 3059], [3600, 3699], [3800, 3999]))
      || (length >= 16 && length <= 19 && (within([3528, 3589], [6200, 6299], [6440, 6599], [6761, 6763])
        || [6011, 5018, 5020, 5038, 5893, 6304, 6759].includes(start)));
    return isIssued && this.#hasRightCheckDigit(digits);
  }

  /** @param {string} digits */
  #hasRightCheckDigit(digits) {
    const sum = [...digits].reverse().reduce((total, digit, at) => {
      const value = Number(digit) * (at % 2 === 1 ? 2 : 1);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
    return sum % 10 === 0;
  }
}

// A module that imports this file has no other way to them.
Object.assign(globalThis, { Secrets, SECRET_TABLE });
