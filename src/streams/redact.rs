//! Secrets are taken out of texts before they are stored.
//!
//! What counts as one: the value of a name that says so (`password`, `api_key`,
//! `Authorization`, …) in a header, a query, JSON or a log line; what follows `Bearer` or
//! `Basic`; the password in a URL; and text that has the shape of a known kind of token.
//! That is a net, not a proof: a secret without name and shape passes.

use std::borrow::Cow;

/// What stands where a secret stood.
pub const REDACTED: &str = "[redacted]";

/// Ends of names whose value is secret wherever they stand, in lower case without `-` and
/// `_`.
const SECRET_ENDS: [&str; 18] = [
    "token",
    "password",
    "passwd",
    "passphrase",
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
    "sessionkey",
    "jwt",
];

/// Names whose value is secret in a URL's query or a form; elsewhere they are everyday words.
const SECRET_IN_QUERY: [&str; 12] = [
    "key",
    "code",
    "session",
    "sid",
    "auth",
    "sig",
    "signature",
    "pass",
    "otp",
    "pin",
    "ticket",
    "assertion",
];

/// Parts of the names of headers whose value is secret.
const SECRET_IN_HEADER: [&str; 8] =
    ["auth", "cookie", "token", "secret", "password", "session", "credential", "signature"];

/// Beginnings of tokens, and how many characters follow at least.
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

/// The longest name that is looked at.
const LONGEST_NAME: usize = 64;

/// A text without its secrets; the same text if there are none.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    scan(text, false)
}

/// The same for what may be a form: its first name stands as behind a `?`.
pub(super) fn redact_body(text: &str) -> Cow<'_, str> {
    scan(text, true)
}

/// Whether a header's value is not to be kept.
pub(super) fn is_secret_header(name: &str) -> bool {
    let name = plain(name);
    let tells = SECRET_IN_HEADER.iter().any(|part| name.contains(part)) || name.ends_with("key");
    // The challenge tells how to authenticate, and the pseudo-header is the host.
    tells && !name.ends_with("authenticate") && name != ":authority"
}

fn scan(text: &str, is_body: bool) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut clean = String::new();
    // What is before this is in `clean` already.
    let mut done = 0;
    let mut at = 0;
    while at < bytes.len() {
        let secret = if is_word(bytes[at]) {
            let end = word_end(bytes, at);
            let found = secret_at(text, at, end, is_body);
            at = end;
            found
        } else {
            let found = (bytes[at] == b':').then(|| user_info(text, at)).flatten();
            at += 1;
            found
        };
        if let Some((from, to)) = secret.filter(|(from, to)| from < to) {
            clean.push_str(&text[done..from]);
            clean.push_str(REDACTED);
            (done, at) = (to, to.max(at));
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[done..]);
    Cow::Owned(clean)
}

/// The secret that the word at `at` is, or announces.
fn secret_at(text: &str, at: usize, end: usize, is_body: bool) -> Option<(usize, usize)> {
    let word = &text[at..end];
    if let Some(end) = token_end(text, at, end) {
        return Some((at, end));
    }
    if word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic") {
        return credentials(text, end);
    }
    if word.len() > LONGEST_NAME {
        return None;
    }
    let value = value_after(text, end)?;
    let before = text[..at].bytes().next_back();
    let in_query = matches!(before, Some(b'?' | b'&' | b'#')) || (is_body && at == 0);
    let name = plain(word);
    let is_secret = SECRET_ENDS.iter().any(|secret| name.ends_with(secret))
        || (in_query && value.is_assigned && SECRET_IN_QUERY.contains(&name.as_str()));
    is_secret.then(|| value.span(text, is_header(&name)))
}

/// Whether the whole line behind this name is its value.
fn is_header(name: &str) -> bool {
    name.ends_with("authorization") || name.ends_with("cookie")
}

/// Where the value of a name begins.
struct Value {
    from: usize,
    /// What ends it if it is quoted: a quote with its backslashes.
    quote: Option<(usize, usize)>,
    /// Behind `=` rather than `:`.
    is_assigned: bool,
}

/// The value that follows a name, if one does.
fn value_after(text: &str, name_end: usize) -> Option<Value> {
    let bytes = text.as_bytes();
    let skip = |mut at: usize, what: &[u8]| {
        while at < bytes.len() && what.contains(&bytes[at]) {
            at += 1;
        }
        at
    };
    let separator = skip(skip(name_end, br#"\"']"#), b" ");
    let is_assigned = match bytes.get(separator)? {
        b'=' => true,
        // A scheme is no name.
        b':' if !text[separator..].starts_with("://") => false,
        _ => return None,
    };
    let value = skip(separator + 1, b" [");
    let quote = skip(value, br"\");
    let is_quoted = matches!(bytes.get(quote), Some(b'"' | b'\''));
    let from = if is_quoted { quote + 1 } else { value };
    Some(Value { from, quote: is_quoted.then_some((value, quote + 1)), is_assigned })
}

impl Value {
    /// From where to where it reaches. What is cut off has no closing quote.
    fn span(&self, text: &str, whole_line: bool) -> (usize, usize) {
        let rest = &text[self.from..];
        let length = match self.quote {
            Some((from, to)) => closing(rest, &text[from..to]),
            None if whole_line => rest.find(['\n', '\r']),
            None => rest.find(|c: char| c.is_whitespace() || "&,;\"'<>(){}[]#|\\".contains(c)),
        };
        (self.from, self.from + length.unwrap_or(rest.len()))
    }
}

/// Where a quoted text ends.
fn closing(text: &str, quote: &str) -> Option<usize> {
    let found = text.match_indices(quote).map(|(at, _)| at);
    // One with more backslashes before it is inside.
    found.into_iter().find(|at| !text[..*at].ends_with('\\'))
}

/// What follows `Bearer` or `Basic`: one word that is long enough to be a credential.
fn credentials(text: &str, end: usize) -> Option<(usize, usize)> {
    let from = end + text[end..].strip_prefix([' ', '+']).map(|_| 1)?;
    let rest = &text[from..];
    let is_credential = |c: char| c.is_ascii_alphanumeric() || "-._~+/=%".contains(c);
    let length = rest.find(|c| !is_credential(c)).unwrap_or(rest.len());
    // "Basic authentication" is not one.
    let is_word = rest[..length].bytes().all(|byte| byte.is_ascii_lowercase());
    (length >= 8 && !is_word).then_some((from, from + length))
}

/// Where the token ends that begins with this word, if it is one.
fn token_end(text: &str, at: usize, end: usize) -> Option<usize> {
    let word = &text[at..end];
    match word.as_bytes()[0] {
        b'e' if word.starts_with("eyJ") => web_token_end(text, at),
        b'A' if is_access_key(word) => Some(end),
        b's' | b'r' | b'g' | b'x' | b'n' | b'h' | b'y' | b'A' => {
            let rest = &text[at..];
            let (prefix, least) = PREFIXES.iter().find(|(prefix, _)| rest.starts_with(prefix))?;
            let end = word_end(text.as_bytes(), at + prefix.len());
            let tail = &text[at + prefix.len()..end];
            // A style's class name has no digits.
            (tail.len() >= *least && tail.bytes().any(|b| b.is_ascii_digit())).then_some(end)
        }
        _ => None,
    }
}

/// The end of a JSON web token: three words joined by dots.
fn web_token_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let header = word_end(bytes, at);
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
fn user_info(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = text[at..].strip_prefix("://")?;
    let host = rest.find(|c: char| c.is_whitespace() || "/?#\"'<>".contains(c));
    let authority = &rest[..host.unwrap_or(rest.len())];
    let length = authority.rfind('@')?;
    Some((at + 3, at + 3 + length))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn word_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len())
}

/// A name in lower case without `-` and `_`.
fn plain(name: &str) -> String {
    let letters = name.bytes().filter(|byte| !matches!(byte, b'-' | b'_'));
    letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, proptest};

    use super::*;
    use crate::protocol::garbled;

    const JWT: &str =
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0";

    #[test]
    fn secrets_are_taken_out_and_the_rest_stays() {
        let jwt = format!("got {JWT}, expired");
        for (text, clean) in [
            ("Authorization: Bearer abc.def\nnext", "Authorization: [redacted]\nnext"),
            ("Proxy-Authorization: Basic dXNlcjpwYXNz", "Proxy-Authorization: [redacted]"),
            ("Cookie: a=b; c=d", "Cookie: [redacted]"),
            ("set-cookie: sid=1; Path=/", "set-cookie: [redacted]"),
            ("X-Api-Key: 0123", "X-Api-Key: [redacted]"),
            ("sent with bearer abcdefgh12", "sent with bearer [redacted]"),
            (jwt.as_str(), "got [redacted], expired"),
            ("key sk-proj-abcDEF0123456789xyz.", "key [redacted]."),
            ("ghp_0123456789abcdef0123456789abcdef0123", "[redacted]"),
            ("github_pat_11ABCDEFG0123456789_abc", "[redacted]"),
            ("id AKIAIOSFODNN7EXAMPLE used", "id [redacted] used"),
            ("xoxb-123456789012-abcdef", "[redacted]"),
            ("http://h/p?a=1&token=t&b=2", "http://h/p?a=1&token=[redacted]&b=2"),
            (
                "http://h/cb?code=xyz#access_token=q",
                "http://h/cb?code=[redacted]#access_token=[redacted]",
            ),
            (
                "http://h/?key=1&password=2&session=3",
                "http://h/?key=[redacted]&password=[redacted]&session=[redacted]",
            ),
            ("https://me:pw@host/path", "https://[redacted]@host/path"),
            (
                r#"{"user":"u","password":"p\"q","n":1}"#,
                r#"{"user":"u","password":"[redacted]","n":1}"#,
            ),
            (r#"{\"accessToken\":\"abc\",\"n\":1}"#, r#"{\"accessToken\":\"[redacted]\",\"n\":1}"#),
            (r#"{"client_secret": 12345}"#, r#"{"client_secret": [redacted]}"#),
            (r#"cut: {"api_key":"abc de"#, r#"cut: {"api_key":"[redacted]"#),
            ("password = hunter2 failed", "password = [redacted] failed"),
            ("headers['x-auth-token']='abc'", "headers['x-auth-token']='[redacted]'"),
        ] {
            assert_eq!(redact(text), clean, "{text}");
        }
    }

    #[test]
    fn everyday_words_are_left_alone() {
        for text in [
            "",
            "error code: 404",
            "Unexpected token < in JSON at position 0",
            "Unexpected token: }",
            "key=Enter pressed",
            "class sk-toolbar-button-primary",
            "http://host:8000/keys/1?page=2&sort=name",
            "session started: ok",
            "max_tokens: 5",
            "Basic authentication required",
            "ünïcödé: ✓ password",
            "author: somebody",
        ] {
            assert_eq!(redact(text), text, "{text}");
        }
    }

    #[test]
    fn a_form_that_begins_with_a_secret_is_one() {
        assert_eq!(redact_body("code=1&user=u"), "code=[redacted]&user=u");
        assert_eq!(redact("code=1&user=u"), "code=1&user=u");
    }

    #[test]
    fn headers_are_judged_by_their_name() {
        for name in ["Cookie", "set-cookie", "AUTHORIZATION", "x-api-key", "X-Amz-Security-Token"] {
            assert!(is_secret_header(name), "{name}");
        }
        for name in ["content-type", "www-authenticate", ":authority", "accept", "etag"] {
            assert!(!is_secret_header(name), "{name}");
        }
    }

    #[test]
    fn whatever_the_text_is_what_is_before_the_first_secret_stays() {
        let samples = [
            "Authorization: Bearer abc\nx",
            r#"{"password":"p\"q","token":["a"]}"#,
            "https://me:pw@host/?token=1&é=2",
            JWT,
        ];
        proptest!(garbled::cases(4_000), |(text in garbled::nearly_text(&samples))| {
            let clean = redact(&text).into_owned();
            let before = clean.split(REDACTED).next().unwrap_or_default();
            prop_assert!(text.starts_with(before));
        });
    }
}
