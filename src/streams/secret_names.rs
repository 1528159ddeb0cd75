//! The names of secrets, and card numbers.
//!
//! The names are a table of words without expressions, so that the extension can have the same table
//! (`extension-shim/src/injected/secrets.js`). `tests/fixtures/secrets.json` holds both to it.

/// A name that contains one of these names a secret. They stand without `-`, `_` and spaces.
pub(super) const PARTS: [&str; 18] = [
    "passw",
    "passphrase",
    "passcode",
    "passord",
    "kennwort",
    "contrasena",
    "contraseña",
    "motdepasse",
    "wachtwoord",
    "losenord",
    "lösenord",
    "salasana",
    "adgangskode",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
];

/// A name that ends with one of these names a secret.
pub(super) const ENDS: [&str; 30] = [
    "token",
    "pwd",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authkey",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "sessionid",
    "sessid",
    "sessionkey",
    "jwt",
    "onetimecode",
    "verificationcode",
    "securitycode",
    "cardnumber",
    "cardnum",
    "cardno",
    "ccnumber",
    "ccnum",
    "cccsc",
    "creditcard",
    "jelszó",
    "jelszo",
    "סיסמה",
    "κωδικός",
];

/// A name whose last word is one of these names a secret in JSON, forms, queries, XML and headers.
/// In running text they are everyday words.
pub(super) const WORDS: [&str; 35] = [
    "pass",
    "passe",
    "pw",
    "pwd",
    "mdp",
    "otp",
    "totp",
    "pin",
    "puk",
    "sid",
    "session",
    "cvv",
    "cvv2",
    "cvc",
    "cvc2",
    "csc",
    "ssn",
    "iban",
    "senha",
    "parola",
    "parole",
    "clave",
    "haslo",
    "hasło",
    "heslo",
    "geslo",
    "sifre",
    "şifre",
    "lozinka",
    "parool",
    "slaptazodis",
    "пин",
    "암호",
    "口令",
    "暗証番号",
];

/// Last words of a name that do not change its meaning.
pub(super) const FILLERS: [&str; 17] = [
    "code",
    "number",
    "num",
    "no",
    "nr",
    "value",
    "val",
    "input",
    "field",
    "text",
    "box",
    "confirm",
    "confirmation",
    "again",
    "repeat",
    "hash",
    "plain",
];

/// Names whose value is secret in a URL's query or a form; elsewhere they are everyday words.
pub(super) const IN_QUERY: [&str; 7] =
    ["key", "code", "auth", "sig", "signature", "ticket", "assertion"];

/// The longest name that is looked at, in bytes.
pub(super) const LONGEST_NAME: usize = 96;

/// The classes of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameClass {
    /// Nothing.
    Open,
    /// It is a secret in a query or a form.
    InQuery,
    /// It is a secret where this is a name, and may be one in running text.
    Word,
    /// It is a secret.
    Secret,
}

/// The class of a name.
pub(super) fn class_of(name: &str) -> NameClass {
    // `PlainName` has a bit for each byte, and longer names mean nothing to a person.
    if name.len() > LONGEST_NAME {
        return NameClass::Open;
    }
    let name = PlainName::of(name);
    let plain = name.text();
    if has_part(plain) || ENDS.iter().any(|end| plain.ends_with(end)) {
        return NameClass::Secret;
    }
    let word = name.last_word();
    if WORDS.contains(&word) {
        NameClass::Word
    } else if IN_QUERY.contains(&plain) {
        NameClass::InQuery
    } else {
        NameClass::Open
    }
}

/// Whether a field with this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    matches!(class_of(name), NameClass::Secret | NameClass::Word)
}

fn has_part(plain: &str) -> bool {
    let bytes = plain.as_bytes();
    // Few letters begin a part, so most names need no comparison at all.
    bytes.iter().enumerate().any(|(at, byte)| {
        matches!(byte, b'p' | b'k' | b'c' | b'm' | b'w' | b'l' | b's' | b'a' | 0x80..)
            && PARTS.iter().any(|part| bytes[at..].starts_with(part.as_bytes()))
    })
}

/// A name in lower case without the separators between its words.
struct PlainName {
    text: String,
    /// Where its words begin: a bit for each byte.
    words: u128,
}

impl PlainName {
    fn of(name: &str) -> Self {
        let mut text = String::with_capacity(name.len());
        let mut words = 0;
        let mut is_inside = false;
        let mut was_lower = false;
        for c in name.chars() {
            if !c.is_alphanumeric() {
                is_inside = is_inside && is_mark(c);
                was_lower = false;
                continue;
            }
            // A word begins at a capital letter, too: `userPin`.
            if !is_inside || (was_lower && c.is_uppercase()) {
                words |=
                    1_u128.checked_shl(u32::try_from(text.len()).unwrap_or(u32::MAX)).unwrap_or(0);
            }
            is_inside = true;
            was_lower = c.is_lowercase() || c.is_ascii_digit();
            if c.is_ascii() {
                text.push(c.to_ascii_lowercase());
            } else {
                text.extend(c.to_lowercase());
            }
        }
        Self { text, words }
    }

    fn text(&self) -> &str {
        &self.text
    }

    /// The last word that says something, without a number at its end.
    fn last_word(&self) -> &str {
        let mut end = self.text.len();
        let mut words = self.words;
        while words != 0 {
            let start = usize::try_from(words.ilog2()).unwrap_or(0);
            words &= !(1 << start);
            let word = &self.text[start..end];
            let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
            if WORDS.contains(&word) {
                return word;
            }
            if !bare.is_empty() && !FILLERS.contains(&bare) {
                return bare;
            }
            end = start;
        }
        ""
    }
}

/// A mark above the letter before it.
const fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// The end of the card number that begins here, if there is one: 13 to 19 digits of a known issuer
/// with a valid check digit, with spaces or dashes between them.
pub(super) fn card_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let before = &bytes[..at];
    // The decimals of a number are not a card number.
    if matches!(before, [.., b'0'..=b'9', b'.' | b','] | [.., b'.']) {
        return None;
    }
    let mut digits = [0; 19];
    let (mut count, mut end) = (0, at);
    let mut found = None;
    while count < digits.len() && is_digit(end) {
        digits[count] = bytes[end] - b'0';
        count += 1;
        end += 1;
        let gap = gap(&bytes[end..]);
        let has_gap = gap > 0 && is_digit(end + gap);
        // The digits behind a gap may be something else: `4111 1111 1111 1111 12/27`.
        if (has_gap || !goes_on(&bytes[end..])) && is_card(&digits[..count]) {
            found = Some(end);
        }
        if has_gap {
            end += gap;
        }
    }
    found
}

/// Whether a number continues here.
const fn goes_on(rest: &[u8]) -> bool {
    matches!(rest, [b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_', ..] | [b'.', b'0'..=b'9', ..])
}

/// The length of a separator between digits of a card number: a dash, or a space in any encoding.
fn gap(rest: &[u8]) -> usize {
    match rest {
        [b' ' | b'-' | b'+', ..] => 1,
        [0xc2, 0xa0, ..] => 2,
        [b'%', b'2', b'0', ..] => 3,
        _ => 0,
    }
}

fn is_card(digits: &[u8]) -> bool {
    let start = |length: usize| digits[..length].iter().fold(0, |sum, d| sum * 10 + u32::from(*d));
    if digits.len() < 13 {
        return false;
    }
    let is_issued = matches!(
        (digits.len(), start(4)),
        (13 | 16 | 19, 4000..=4999)
            | (16, 2221..=2720 | 5100..=5599)
            | (15, 3400..=3499 | 3700..=3799)
            | (14, 3000..=3059 | 3600..=3699 | 3800..=3999)
            | (16..=19, 3528..=3589 | 6011 | 6200..=6299 | 6440..=6599)
            | (16..=19, 5018 | 5020 | 5038 | 5893 | 6304 | 6759 | 6761..=6763)
    );
    is_issued && has_right_check_digit(digits)
}

fn has_right_check_digit(digits: &[u8]) -> bool {
    let sum: u32 = (digits.iter().rev().enumerate())
        .map(|(at, digit)| match u32::from(*digit) * if at % 2 == 1 { 2 } else { 1 } {
            value @ 10.. => value - 9,
            value => value,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct SecretFixture {
        table: SecretNameTable,
        secret_names: Vec<String>,
        open_names: Vec<String>,
        cards: Vec<[String; 2]>,
        no_cards: Vec<String>,
    }

    #[derive(Deserialize)]
    struct SecretNameTable {
        parts: Vec<String>,
        ends: Vec<String>,
        words: Vec<String>,
        fillers: Vec<String>,
    }

    fn shared() -> SecretFixture {
        serde_json::from_str(include_str!("../../tests/fixtures/secrets.json")).unwrap()
    }

    #[test]
    fn the_table_is_the_one_that_the_extension_has() {
        let SecretNameTable { parts, ends, words, fillers } = shared().table;
        assert_eq!(parts, PARTS);
        assert_eq!(ends, ENDS);
        assert_eq!(words, WORDS);
        assert_eq!(fillers, FILLERS);
    }

    #[test]
    fn names_of_secrets_are_known_in_any_form_and_everyday_names_are_not() {
        for name in shared().secret_names {
            assert!(is_secret_name(&name), "{name}");
        }
        for name in shared().open_names {
            assert!(!is_secret_name(&name), "{name}");
        }
    }

    #[test]
    fn card_numbers_are_found_in_text_and_other_numbers_are_not() {
        for [text, clean] in shared().cards {
            assert_eq!(super::super::redact::redact(&text), clean);
        }
        for text in shared().no_cards {
            assert_eq!(super::super::redact::redact(&text), text);
        }
    }
}
