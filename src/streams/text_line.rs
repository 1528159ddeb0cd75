//! Text in one line, for lists.

use std::fmt::Write as _;

use serde_json::Number;

use crate::protocol::is_shown;

/// The longest text of a line, in bytes; the entry itself has all of it.
pub(super) const LONGEST_TEXT: usize = 1_000;

/// The longest word of a line, an address as a rule, in bytes.
const LONGEST_WORD: usize = 300;

/// Ends what was cut.
pub(super) const CUT: &str = "…";

/// Builds a line: words without white space, and behind them the text of a page. That text cannot
/// pass for a word before it, nor, without line breaks and control characters, for another line.
#[derive(Debug, Default)]
pub struct TextLine(String);

impl TextLine {
    /// A line that begins with this.
    #[must_use]
    pub fn of(first: &str) -> Self {
        Self(first.to_owned())
    }

    /// Adds something without white space, or `-` in place of nothing.
    pub fn word(&mut self, word: &str) {
        self.add_word(word, LONGEST_WORD);
    }

    /// Adds an address, from its path on if it is of this origin.
    pub(super) fn address(&mut self, address: &str, origin: Option<&str>) {
        self.add_word(shortened(address, origin), LONGEST_WORD);
    }

    /// The same, however long it is.
    pub fn whole_address(&mut self, address: &str, origin: Option<&str>) {
        self.add_word(shortened(address, origin), usize::MAX);
    }

    /// Adds `name:value`, if there is one.
    pub fn named(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.word(&format!("{name}:{value}"));
        }
    }

    /// Adds a value that a caller gives back as it is, in the quotes of JSON.
    pub fn quoted(&mut self, name: &str, value: &str) {
        let shown: String = value.chars().filter(|char| is_shown(*char)).collect();
        let _ = write!(self.0, " {name}:{}", serde_json::Value::from(shown));
    }

    /// Adds a measured number, if there is one: whole ones from 10 on.
    pub(super) fn number(&mut self, number: Option<&Number>, unit: &str) {
        let Some(number) = number.and_then(Number::as_f64) else { return };
        let digits = if number < 10.0 && number.fract() != 0.0 { 1 } else { 0 };
        let _ = write!(self.0, " {number:.digits$} {unit}");
    }

    /// The line with the words of a page at its end.
    #[must_use]
    pub fn ending_in(mut self, text: &str) -> String {
        if !text.is_empty() {
            self.add(text, LONGEST_TEXT, false);
        }
        self.0
    }

    /// The line, which nothing follows.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }

    fn add_word(&mut self, word: &str, longest: usize) {
        self.add(if word.is_empty() { "-" } else { word }, longest, true);
    }

    fn add(&mut self, text: &str, longest: usize, is_word: bool) {
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        let end = self.0.len().saturating_add(longest);
        for character in text.chars() {
            if self.0.len() >= end {
                self.0.push_str(CUT);
                return;
            }
            match character {
                // A space would end the word, and the rest could pass for the next field.
                ' ' if is_word => self.0.push_str("%20"),
                '\n' => self.0.push_str("\\n"),
                '\r' => self.0.push_str("\\r"),
                '\t' => self.0.push_str("\\t"),
                hidden if !is_shown(hidden) || is_word && hidden.is_whitespace() => {
                    let _ = write!(self.0, "\\u{{{:x}}}", u32::from(hidden));
                }
                plain => self.0.push(plain),
            }
        }
    }
}

/// An address of this origin from its path on, any other as it is.
fn shortened<'a>(address: &'a str, origin: Option<&str>) -> &'a str {
    let path = origin.and_then(|origin| address.strip_prefix(origin));
    path.filter(|path| path.starts_with('/')).unwrap_or(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_cut_in_lists_and_whole_where_it_is_the_answer() {
        let address = format!("https://a.test/{}", "a".repeat(2_000));
        let (mut listed, mut whole) = (TextLine::default(), TextLine::default());
        listed.address(&address, None);
        whole.whole_address(&address, None);
        let listed = listed.into_text();
        assert!(listed.ends_with(CUT) && listed.len() < LONGEST_WORD + 20, "{listed}");
        assert_eq!(whole.into_text(), address);
    }

    #[test]
    fn an_address_of_the_named_origin_begins_with_its_path() {
        let origin = Some("https://a.test");
        for (address, short) in [
            ("https://a.test/b?c", "/b?c"),
            ("https://a.test", "https://a.test"),
            ("https://a.test.evil/b", "https://a.test.evil/b"),
            ("https://a.test:8000/b", "https://a.test:8000/b"),
        ] {
            assert_eq!(shortened(address, origin), short);
            assert_eq!(shortened(address, None), address);
        }
    }
}
