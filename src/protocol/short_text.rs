//! Texts in short, for lists of commands.

use std::sync::Arc;

/// The longest part of a command's target that lists show, in bytes.
const SHORT: usize = 80;

/// A text in one line, cut after 80 bytes.
#[must_use]
pub fn in_short(text: &str) -> Arc<str> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > SHORT {
            // Here and not at the end: a script of megabytes is not copied for 80 bytes.
            line.truncate(line.floor_char_boundary(SHORT));
            line.push('…');
            break;
        }
    }
    line.into()
}

/// A URL in short, without query, fragment, user name and password: lists and logs show the rest.
#[must_use]
pub fn url_in_short(url: &str) -> Arc<str> {
    in_short(&without_secrets(url))
}

fn without_secrets(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = plain.split_once("://") else { return plain.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}
