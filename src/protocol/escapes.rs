//! Escapes in JSON texts: their lengths, and lone surrogates.
//!
//! A page can hold half an emoji, and an extension then sends it as an escape that a strict parser
//! rejects: `"\ud83d"`. The grammar of JSON allows such an escape, Unicode text does not.

use std::borrow::Cow;

/// Takes the place of a lone surrogate's escape. It has as many bytes, so nothing else moves.
const REPLACEMENT: &[u8] = br"\ufffd";

/// Replaces every lone escaped surrogate by U+FFFD. All else stays byte for byte; a text without
/// one is borrowed.
#[must_use]
pub fn well_formed(json: &str) -> Cow<'_, str> {
    // Nearly all texts have no escaped surrogate at all, and this search is fast.
    if !json.contains(r"\ud") && !json.contains(r"\uD") {
        return Cow::Borrowed(json);
    }
    let mut mended = Cow::Borrowed(json.as_bytes());
    let mut at = 0;
    while let Some(found) = json.as_bytes()[at..].iter().position(|byte| *byte == b'\\') {
        let start = at + found;
        let escape = EscapeUnit::at(json.as_bytes(), start);
        at = (start + escape.length()).min(json.len());
        if escape == EscapeUnit::HalfCharacter {
            mended.to_mut()[start..at].copy_from_slice(REPLACEMENT);
        }
    }
    match mended {
        Cow::Borrowed(_) => Cow::Borrowed(json),
        Cow::Owned(mended) => String::from_utf8(mended).map_or(Cow::Borrowed(json), Cow::Owned),
    }
}

/// The last place up to `at` where a JSON text can be cut: not within a character or an escape, and
/// not between the two escapes of one character.
#[must_use]
pub fn floor_escape_boundary(json: &str, at: usize) -> usize {
    let at = json.floor_char_boundary(at);
    let bytes = json.as_bytes();
    // No escape that reaches across `at` begins earlier.
    let mut place = at.saturating_sub(EscapeUnit::LONGEST - 1);
    // In a row of backslashes only the count from the first one tells which begins an escape.
    while place > 0 && bytes[place - 1] == b'\\' {
        place -= 1;
    }
    while place < at {
        let next = place + unit_length(bytes, place);
        if next > at {
            return if bytes[place] == b'\\' { place } else { at };
        }
        place = next;
    }
    at
}

/// The first place behind `from` where a JSON text can be cut, if it can be cut at `from`.
#[must_use]
pub fn next_escape_boundary(json: &str, from: usize) -> usize {
    json.ceil_char_boundary((from + unit_length(json.as_bytes(), from)).min(json.len()))
}

/// The length of the escape that begins here; 1 for any other byte.
fn unit_length(json: &[u8], at: usize) -> usize {
    if json.get(at) == Some(&b'\\') { EscapeUnit::at(json, at).length() } else { 1 }
}

/// The kinds of escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EscapeUnit {
    /// One character: `\n`.
    Short,
    /// One character by its number: `\u00e9`.
    Numbered,
    /// A character by its two surrogates: `\ud83d\ude00`.
    Pair,
    /// A surrogate without the other one: `\ud83d`.
    HalfCharacter,
}

impl EscapeUnit {
    const LONGEST: usize = Self::Pair.length();

    /// The escape whose backslash stands at `at`.
    fn at(json: &[u8], at: usize) -> Self {
        match numbered(json, at) {
            None => Self::Short,
            Some(0xD800..=0xDBFF) => match numbered(json, at + Self::Numbered.length()) {
                Some(0xDC00..=0xDFFF) => Self::Pair,
                _ => Self::HalfCharacter,
            },
            Some(0xDC00..=0xDFFF) => Self::HalfCharacter,
            Some(_) => Self::Numbered,
        }
    }

    const fn length(self) -> usize {
        match self {
            Self::Short => 2,
            Self::Numbered | Self::HalfCharacter => 6,
            Self::Pair => 12,
        }
    }
}

/// The code unit of a `\u` escape.
fn numbered(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + EscapeUnit::Numbered.length())?.strip_prefix(br"\u")?;
    let digit = |number: u16, digit: &u8| {
        let digit = char::from(*digit).to_digit(16).and_then(|digit| u16::try_from(digit).ok())?;
        Some(number << 4 | digit)
    };
    digits.iter().try_fold(0, digit)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// What JSON texts are made of here, as they stand between quotes: characters, escapes of all
    /// kinds, and halves of characters.
    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "a",
            "é",
            "😀",
            "👩‍👩‍👧",
            "e\u{301}",
            r"\\",
            r"\n",
            r#"\""#,
            r"\u00e9",
            r"\ud83d\ude00",
            r"\uD83D\uDE00",
            r"\ud83d",
            r"\uDE00",
            r"\\ud83d",
            "ud83d",
            r"\/",
            r"\u005c",
            "u",
        ])
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(piece(), 0..40).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
    }

    /// Every place where a text may be cut, found from its beginning on.
    fn boundaries(json: &str) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([json.len()]);
        let mut rest = json;
        while let Some(first) = rest.chars().next() {
            found.insert(json.len() - rest.len());
            let start = rest.to_ascii_lowercase();
            let length = [(r"\ud83d\ude00", 12), (r"\u", 6), ("\\", 2)]
                .iter()
                .find_map(|(escape, length)| start.starts_with(escape).then_some(*length));
            rest = &rest[length.unwrap_or(first.len_utf8())..];
        }
        found
    }

    proptest! {
        #[test]
        fn a_mended_text_is_read_by_a_strict_parser_and_a_good_one_is_left_alone(json in text()) {
            let mended = well_formed(&json);
            prop_assert!(serde_json::from_str::<Value>(&mended).is_ok(), "{json} {mended}");
            prop_assert_eq!(mended.len(), json.len());
            if serde_json::from_str::<Value>(&json).is_ok() {
                prop_assert!(matches!(mended, Cow::Borrowed(_)), "{}", json);
            }
        }

        #[test]
        fn no_cut_is_within_an_escape_or_a_character(json in text(), at in 0_usize..300) {
            let all = boundaries(&json);
            let expected = all.range(..=at).next_back().copied().unwrap_or(0);
            let floor = floor_escape_boundary(&json, at);
            prop_assert_eq!(floor, expected, "{} at {}", json, at);
            if floor < json.len() {
                let next = all.range(floor + 1..).next().copied().unwrap_or(json.len());
                prop_assert_eq!(next_escape_boundary(&json, floor), next, "{} at {}", json, at);
            }
        }

        #[test]
        fn whatever_the_text_nothing_panics(json in ".*", at in 0_usize..60) {
            let floor = floor_escape_boundary(&json, at);
            prop_assert!(json.is_char_boundary(floor) && floor <= at);
            prop_assert!(json.is_char_boundary(next_escape_boundary(&json, floor)));
            let _ = well_formed(&format!(r"{json}\ud"));
        }
    }

    #[test]
    fn a_surrogate_that_stands_alone_is_replaced_and_a_text_about_one_is_not() {
        for (json, mended) in [
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\uDE00\ud83D""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#"{"\ud83d":1}"#, r#"{"\ufffd":1}"#),
        ] {
            assert_eq!(well_formed(json), mended);
        }
    }
}
