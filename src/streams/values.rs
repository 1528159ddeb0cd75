//! The start of a name in a text, and the span of its value.

use std::borrow::Cow;

/// A span of a text: its first byte, and the byte behind its last one.
pub(super) type TextSpan = (usize, usize);

/// The start of the name that ends at `end`. A name may have letters of other scripts, plain or
/// percent-encoded.
pub(super) fn name_start(bytes: &[u8], end: usize) -> usize {
    let mut start = end;
    while let Some(before) = start.checked_sub(1) {
        match encoded_byte(bytes, start) {
            Some(0x80.. | b' ') => start -= 3,
            // An encoded bracket or quote does not belong to the name.
            Some(_) => break,
            None if is_word(bytes[before]) => start -= 1,
            None if bytes[before] >= 0x80 && !ends_with_wide_separator(&bytes[..start]) => {
                start -= 1;
            }
            None => break,
        }
    }
    start
}

/// The byte that is percent-encoded right before this place.
fn encoded_byte(bytes: &[u8], end: usize) -> Option<u8> {
    let [b'%', high, low] = bytes.get(end.checked_sub(3)?..end)? else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|n| u8::try_from(n).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

/// A name without percent-encoding.
pub(super) fn decoded(name: &str) -> Cow<'_, str> {
    if !name.contains('%') {
        return Cow::Borrowed(name);
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut at = 0;
    while at < name.len() {
        if let Some(byte) = encoded_byte(name.as_bytes(), at + 3) {
            bytes.push(byte);
            at += 3;
        } else {
            bytes.push(name.as_bytes()[at]);
            at += 1;
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// The separators of scripts whose letters are wide.
pub(super) const fn is_wide_separator(c: char) -> bool {
    matches!(c, '\u{ff1a}' | '\u{ff1d}')
}

fn ends_with_wide_separator(bytes: &[u8]) -> bool {
    matches!(bytes, [.., 0xef, 0xbc, 0x9a | 0x9d])
}

/// Where the value of a name begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueSpan {
    pub(super) from: usize,
    /// The opening quote with its backslashes, if it is quoted. The same sequence closes it.
    pub(super) quote: Option<TextSpan>,
    /// Behind `=` rather than `:`.
    pub(super) is_assigned: bool,
}

/// The value behind a name, if there is one.
pub(super) fn value_after(text: &str, name_end: usize) -> Option<ValueSpan> {
    let bytes = text.as_bytes();
    let skip = |mut at: usize, what: &[u8]| {
        while at < bytes.len() && what.contains(&bytes[at]) {
            at += 1;
        }
        at
    };
    let mut closed = skip(name_end, br#"\"']"#);
    while let Some(b']' | b'"' | b'\'') = encoded_byte(bytes, closed + 3) {
        closed += 3;
    }
    let separator = skip(closed, b" ");
    let (is_assigned, length) = separator_at(text, separator)?;
    let value = skip(separator + length, b" ");
    // JSON within JSON has backslashes before its quotes.
    let quote = skip(value, br"\");
    let is_quoted = matches!(bytes.get(quote), Some(b'"' | b'\''));
    let from = if is_quoted { quote + 1 } else { value };
    Some(ValueSpan { from, quote: is_quoted.then_some((value, quote + 1)), is_assigned })
}

/// The separator that stands here: whether it assigns, and how long it is.
fn separator_at(text: &str, at: usize) -> Option<(bool, usize)> {
    let rest = &text.as_bytes()[at..];
    match rest {
        [b'=', b'>', ..] => Some((true, 2)),
        [b'=', ..] => Some((true, 1)),
        // `https://` is a scheme and not a name with a value.
        [b':', b'/', b'/', ..] => None,
        [b':', ..] => Some((false, 1)),
        [0xef, 0xbc, 0x9a, ..] => Some((false, 3)),
        [0xef, 0xbc, 0x9d, ..] => Some((true, 3)),
        [b'%', ..] => match encoded_byte(text.as_bytes(), at + 3)? {
            b'=' => Some((true, 3)),
            b':' => Some((false, 3)),
            _ => None,
        },
        _ => None,
    }
}

impl ValueSpan {
    /// The span of the value. One that was cut off has no closing quote and ends with the text.
    pub(super) fn span(&self, text: &str, whole_line: bool) -> TextSpan {
        let rest = &text[self.from..];
        let length = match self.quote {
            Some((from, to)) => closing(rest, &text[from..to]),
            None if whole_line => rest.find(['\n', '\r']),
            None if rest.starts_with(['[', '{']) => {
                return (self.from + 1, self.from + container(rest));
            }
            None => rest.find(|c: char| c.is_whitespace() || "&,;\"'<>(){}[]#|\\".contains(c)),
        };
        (self.from, self.from + length.unwrap_or(rest.len()))
    }
}

/// The end of the list or object that begins here. One that was cut off, or is not JSON, ends with
/// its line.
fn container(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            b'"' => {
                // In JSON within JSON the closing quote has as many backslashes as the opening one.
                let slashes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
                let quote = &text[at - slashes..=at];
                match closing(&text[at + 1..], quote) {
                    Some(length) => at += length + quote.len(),
                    None => break,
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.find(['\n', '\r']).unwrap_or(text.len())
}

/// Where a quoted text ends.
fn closing(text: &str, quote: &str) -> Option<usize> {
    let found = text.match_indices(quote).map(|(at, _)| at);
    // A quote with more backslashes before it is part of the content.
    found.into_iter().find(|at| !text[..*at].ends_with('\\'))
}

pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Where the word ends that goes on here.
pub(super) fn word_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len())
}
