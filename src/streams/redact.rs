//! Redaction of texts before they are stored.
//!
//! These count as secrets: the value of a name that says so ([`secret_names`](super::secret_names)) in
//! a header, a query, a form of either kind, JSON, XML, a pair of name and value, or a log line;
//! credentials after `Bearer` or `Basic`; the password in a URL; text that has the shape of a known
//! kind of token; and card numbers. That is a net, not a proof: a secret without name and shape
//! passes.

use std::borrow::Cow;

use super::pairs::PairTracker;
use super::secret_names::{NameClass, card_end, class_of, is_secret_name};
use super::tokens::{credentials, token_end, user_info};
use super::values::{
    TextSpan, ValueSpan, decoded, is_wide_separator, is_word, name_start, value_after, word_end,
};

/// Replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// Parts of the names of headers whose value is secret.
const SECRET_IN_HEADER: [&str; 8] =
    ["auth", "cookie", "token", "secret", "password", "session", "credential", "signature"];

/// How far back from a name its query, form or header begins at most, in bytes.
const FAR: usize = 256;

/// How far a value is read that is not known to be a secret, in bytes. Without this limit a text of
/// openings alone would be read once for each of them, in quadratic time.
const LOOKED_AT: usize = 4 * 1024;

/// A text without its secrets; the same text if there are none.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    RedactionScan::of(text, false).clean()
}

/// The same for a body, which may be a form: its first name counts as if it stood behind a `?`.
pub(super) fn redact_body(text: &str) -> Cow<'_, str> {
    RedactionScan::of(text, true).clean()
}

/// Whether a header's value is a secret.
pub(super) fn is_secret_header(name: &str) -> bool {
    let name = plain(name);
    let tells = SECRET_IN_HEADER.iter().any(|part| name.contains(part)) || name.ends_with("key");
    // `www-authenticate` only names the method, and the pseudo-header `:authority` is the host.
    tells && !name.ends_with("authenticate") && name != ":authority"
}

/// Whether this stands in a recorded step in the place of a secret, and so is none.
fn is_parameter(text: &str) -> bool {
    let name = text.trim_matches(['"', '\\']).strip_prefix("{{param.");
    let name = name.and_then(|rest| rest.strip_suffix("}}"));
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(is_word))
}

/// One pass over a text.
struct RedactionScan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    is_body: bool,
    /// The secrets.
    found: Vec<TextSpan>,
    pairs: PairTracker,
}

/// A name with a value behind it.
struct NamedValue<'a> {
    start: usize,
    end: usize,
    name: Cow<'a, str>,
    value: ValueSpan,
}

impl<'a> RedactionScan<'a> {
    fn of(text: &'a str, is_body: bool) -> Self {
        let bytes = text.as_bytes();
        let mut scan =
            Self { text, bytes, is_body, found: Vec::new(), pairs: PairTracker::default() };
        // Every arm returns a later place, so no text can stall the scan.
        let mut at = 0;
        while at < bytes.len() {
            at = match bytes[at] {
                byte if is_word(byte) => scan.word(at),
                0x80.. => scan.letters(at),
                b':' => scan.secret(user_info(text, at), at + 1),
                b'<' => scan.tag(at),
                b'>' => scan.tag_end(at),
                byte => {
                    scan.pairs.step(byte);
                    at + 1
                }
            };
        }
        scan
    }

    /// The text without what was found.
    fn clean(mut self) -> Cow<'a, str> {
        if self.found.is_empty() {
            return Cow::Borrowed(self.text);
        }
        // They are not in order: a value may stand before the name that makes it a secret.
        self.found.sort_unstable();
        let mut clean = String::with_capacity(self.text.len());
        let mut done = 0;
        for (from, to) in self.found {
            if from >= done {
                clean.push_str(&self.text[done..from]);
                let secret = &self.text[from..to];
                clean.push_str(if is_parameter(secret) { secret } else { REDACTED });
            }
            done = done.max(to);
        }
        clean.push_str(&self.text[done..]);
        Cow::Owned(clean)
    }

    /// Notes a secret, if there is one. Returns where to go on.
    fn secret(&mut self, found: Option<TextSpan>, otherwise: usize) -> usize {
        match found {
            Some((from, to)) if from < to => {
                // The scan goes on behind it: the text inside is gone with the secret.
                self.found.push((from, to));
                to.max(otherwise)
            }
            Some(_) | None => otherwise,
        }
    }

    /// A word of ASCII letters, digits, `-` and `_`.
    fn word(&mut self, at: usize) -> usize {
        let end = word_end(self.bytes, at);
        if let Some(to) = token_end(self.text, at, end) {
            return self.secret(Some((at, to)), end);
        }
        let word = &self.text[at..end];
        if word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic") {
            return self.secret(credentials(self.text, end), end);
        }
        if let Some(card) = self.card_in(at, end) {
            return self.secret(Some(card), end);
        }
        self.name(end)
    }

    /// A run of other letters.
    fn letters(&mut self, at: usize) -> usize {
        let rest = self.text[at..].char_indices();
        let is_letter = |c: char| !c.is_ascii() && !is_wide_separator(c);
        let end = rest.clone().find(|(_, c)| !is_letter(*c)).map(|(to, _)| at + to);
        let end = end.unwrap_or(self.bytes.len());
        if end == at {
            return at + rest.clone().next().map_or(1, |(_, c)| c.len_utf8());
        }
        self.name(end)
    }

    /// A card number that begins with this word, or behind a dash in it.
    fn card_in(&self, at: usize, end: usize) -> Option<TextSpan> {
        let begins = |at: &usize| {
            self.bytes[*at].is_ascii_digit()
                && (*at == 0 || !self.bytes[*at - 1].is_ascii_alphanumeric())
        };
        let of_many = |from: usize| card_end(self.text, from).map(|to| (from, to));
        if begins(&at)
            && let Some(card) = of_many(at)
        {
            return Some(card);
        }
        (at + 1..end).filter(begins).find_map(of_many)
    }

    /// Handles a possible name that ends here. Returns where to go on.
    fn name(&mut self, end: usize) -> usize {
        let Some(value) = value_after(self.text, end) else { return end };
        // Only now, since few words have a value behind them.
        let start = name_start(self.bytes, end);
        let name = decoded(&self.text[start..end]);
        let named = NamedValue { start, end, name, value };
        let is_secret = match class_of(&named.name) {
            NameClass::Open => false,
            NameClass::InQuery => self.is_in_query(&named),
            NameClass::Word => self.stands_as_name(&named) || looks_secret(self.bare(&named.value)),
            NameClass::Secret => true,
        };
        if !is_secret {
            return self.pair(&named);
        }
        // `"password": null` says only whether there is one. In a query it may be the real value.
        if is_literal(self.bare(&named.value)) && !self.is_in_query(&named) {
            return end;
        }
        let span = named.value.span(self.text, is_header(&named.name));
        self.secret(Some(span), end)
    }

    /// Follows pairs: `name=password`, and somewhere beside it `value=…`. Returns where to go on.
    fn pair(&mut self, named: &NamedValue<'_>) -> usize {
        let word = named.name.as_ref();
        if PairTracker::is_value(word) {
            let secret = self.pairs.value(named.value);
            return self.secret(secret.map(|value| value.span(self.text, false)), named.end);
        }
        let is_text = !self.text[named.value.from..].starts_with(['[', '{']);
        if !is_text || !PairTracker::is_name(word) {
            return named.end;
        }
        let (from, to) = self.near(&named.value);
        if !is_secret_name(&decoded(&self.text[from..to])) {
            return named.end;
        }
        let is_assigned = named.value.is_assigned;
        let part = is_assigned.then(|| self.form_part(named.start, to)).flatten();
        if part.is_some() {
            return self.secret(part, named.end);
        }
        if self.pairs.is_inside() || self.is_in_query(named) {
            let before = self.pairs.name(word);
            self.secret(before.map(|value| value.span(self.text, false)), 0);
        }
        named.end
    }

    /// The span of a value that may name a secret, which is not read far.
    fn near(&self, value: &ValueSpan) -> TextSpan {
        let far = self.text.floor_char_boundary(value.from + LOOKED_AT);
        value.span(&self.text[..far], false)
    }

    /// The content of the part of a multipart form whose name stands here.
    fn form_part(&self, name: usize, name_end: usize) -> Option<TextSpan> {
        let before = &self.bytes[name.saturating_sub(FAR)..name];
        let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_form = line.windows(9).any(|part| part.eq_ignore_ascii_case(b"form-data"));
        if !is_form {
            return None;
        }
        let rest = &self.text[name_end..];
        let blank = ["\r\n\r\n", "\n\n"].into_iter();
        let (head, length) = blank.filter_map(|line| Some((rest.find(line)?, line.len()))).min()?;
        let from = name_end + head + length;
        let content = &self.text[from..];
        let end = content.find("\r\n--").or_else(|| content.find("\n--"));
        Some((from, from + end.unwrap_or(content.len())))
    }

    /// Handles the start of a tag. The content of an element with a secret's name is a secret.
    fn tag(&mut self, at: usize) -> usize {
        let from = at + 1;
        if !self.bytes.get(from).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80) {
            return from;
        }
        let rest = &self.text[from..];
        let length = rest.find(|c: char| c.is_whitespace() || "<>/=\"'".contains(c));
        let end = from + length.unwrap_or(rest.len());
        let tag = &self.text[from..end];
        self.pairs.open_tag(tag);
        let local = tag.rsplit(':').next().unwrap_or_default();
        if is_secret_name(local) {
            let content = self.content(end, tag);
            if content.is_some() {
                self.pairs.leave_tag();
            }
            return self.secret(content, end);
        }
        end
    }

    /// The content of the element whose tag's name ends here.
    fn content(&self, name_end: usize, tag: &str) -> Option<TextSpan> {
        // In running text `<` need not be a tag.
        let far = if self.is_body { self.text.len() } else { name_end + LOOKED_AT };
        let text = &self.text[..self.text.floor_char_boundary(far)];
        let close = name_end + text[name_end..].find('>')?;
        if self.bytes[close - 1] == b'/' {
            return None;
        }
        let from = close + 1;
        let ends = text[from..].match_indices("</").map(|(to, _)| from + to);
        let is_own = |to: &usize| {
            let name = self.bytes.get(to + 2..to + 2 + tag.len());
            name.is_some_and(|name| name.eq_ignore_ascii_case(tag.as_bytes()))
        };
        let end = ends.into_iter().find(is_own);
        // A body that was cut off has no closing tag: its rest is the content.
        Some((from, end.or_else(|| self.is_body.then_some(self.bytes.len()))?))
    }

    /// Handles the end of a tag. The content of `<field name="password">` is a secret.
    fn tag_end(&mut self, at: usize) -> usize {
        let is_empty = at > 0 && self.bytes[at - 1] == b'/';
        if self.pairs.close_tag() && !is_empty {
            let from = at + 1;
            let length = self.text[from..].find('<').unwrap_or(self.text.len() - from);
            return self.secret(Some((from, from + length)), from);
        }
        at + 1
    }

    /// Whether a name is part of a structure and not a word of a sentence.
    fn stands_as_name(&self, named: &NamedValue<'_>) -> bool {
        let is_quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\'' | b'\\'));
        let before = named.start.checked_sub(1).and_then(|at| self.bytes.get(at));
        let is_quoted = is_quote(before) && is_quote(self.bytes.get(named.end));
        is_quoted
            || named.value.quote.is_some()
            || self.pairs.is_in_tag()
            || self.is_in_query(named)
    }

    /// Whether a name stands in a URL's query or a form.
    fn is_in_query(&self, named: &NamedValue<'_>) -> bool {
        if !named.value.is_assigned {
            return false;
        }
        let far = named.start.saturating_sub(FAR);
        let before = self.bytes[far..named.start].iter().rev();
        // A name such as `user[pin]`, plain or percent-encoded.
        let is_of_name = |byte: u8| is_word(byte) || byte >= 0x80 || b"[].%+".contains(&byte);
        match before.copied().find(|byte| !is_of_name(*byte)) {
            Some(byte) => b"?&#".contains(&byte),
            None => self.is_body && far == 0,
        }
    }

    fn bare(&self, value: &ValueSpan) -> &'a str {
        if value.quote.is_some() || self.text[value.from..].starts_with(['[', '{']) {
            return "";
        }
        let (from, to) = value.span(self.text, false);
        &self.text[from..to]
    }
}

/// Whether a value behind an everyday word in running text may be a secret: it has a digit, and is
/// long enough for one.
fn looks_secret(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let is_mixed = has(u8::is_ascii_alphabetic) && value.len() >= 6;
    let is_code =
        value.bytes().all(|byte| byte.is_ascii_digit()) && (4..=10).contains(&value.len());
    has(u8::is_ascii_digit) && (is_mixed || is_code)
}

/// Whether a value only says whether there is a secret.
fn is_literal(value: &str) -> bool {
    ["true", "false", "null", "undefined", "none"].contains(&value)
}

/// Whether the whole line behind this name is its value.
fn is_header(name: &str) -> bool {
    let name = plain(name);
    name.ends_with("authorization") || name.ends_with("cookie")
}

/// A name in lower case without `-` and `_`.
fn plain(name: &str) -> String {
    let letters = name.bytes().filter(|byte| !matches!(byte, b'-' | b'_'));
    letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}

#[cfg(test)]
mod tests;
