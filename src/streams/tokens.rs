//! Secrets with a known shape: tokens, and credentials in headers and URLs.

use super::values::word_end;

/// The prefixes of tokens, each with the least number of characters behind it.
const PREFIXES: [(&str, usize); 16] = [
    ("sk-", 17),
    ("sk_live_", 12),
    ("sk_test_", 12),
    ("rk_live_", 12),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("xox", 12),
    ("AIza", 30),
    ("npm_", 30),
    ("hf_", 30),
    ("ya29.", 16),
];

/// The credential behind `Bearer` or `Basic`, if the next word is long enough to be one.
pub(super) fn credentials(text: &str, end: usize) -> Option<(usize, usize)> {
    let from = end + text[end..].strip_prefix([' ', '+']).map(|_| 1)?;
    let rest = &text[from..];
    let is_credential = |c: char| c.is_ascii_alphanumeric() || "-._~+/=%".contains(c);
    let length = rest.find(|c| !is_credential(c)).unwrap_or(rest.len());
    // "Basic authentication" is prose.
    let is_word = rest[..length].bytes().all(|byte| byte.is_ascii_lowercase());
    (length >= 8 && !is_word).then_some((from, from + length))
}

/// Where the token ends that begins with this word, if it is one.
pub(super) fn token_end(text: &str, at: usize, end: usize) -> Option<usize> {
    let word = &text[at..end];
    // Nearly every word of a text ends here, at its first byte.
    match word.as_bytes()[0] {
        b'e' if word.starts_with("eyJ") => web_token_end(text, at),
        b'A' if is_access_key(word) => Some(end),
        b's' | b'r' | b'g' | b'x' | b'n' | b'h' | b'y' | b'A' => {
            let rest = &text[at..];
            let (prefix, least) = PREFIXES.iter().find(|(prefix, _)| rest.starts_with(prefix))?;
            let end = word_end(text.as_bytes(), at + prefix.len());
            let tail = &text[at + prefix.len()..end];
            // A CSS class with the same prefix has no digits; a token has some.
            (tail.len() >= *least && tail.bytes().any(|b| b.is_ascii_digit())).then_some(end)
        }
        _ => None,
    }
}

/// The end of a JSON web token: three words joined by dots.
fn web_token_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let header = word_end(bytes, at);
    // Other words begin with `eyJ` too, but are shorter.
    (header - at >= 10 && bytes.get(header) == Some(&b'.')).then_some(())?;
    let payload = word_end(bytes, header + 1);
    (payload - header > 10).then_some(())?;
    let has_signature = bytes.get(payload) == Some(&b'.');
    Some(if has_signature { word_end(bytes, payload + 1) } else { payload })
}

/// An AWS access key id.
fn is_access_key(word: &str) -> bool {
    word.len() == 20
        && (word.starts_with("AKIA") || word.starts_with("ASIA"))
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// User and password in the URL whose `://` begins here.
pub(super) fn user_info(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = text[at..].strip_prefix("://")?;
    let host = rest.find(|c: char| c.is_whitespace() || "/?#\"'<>".contains(c));
    let authority = &rest[..host.unwrap_or(rest.len())];
    // A password may have an `@` that is not encoded; the last one comes before the host.
    let length = authority.rfind('@')?;
    Some((at + 3, at + 3 + length))
}
