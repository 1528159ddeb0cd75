//! Names that agents and people give, with one rule for all.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest name, in bytes of UTF-8: encoded it still fits into a file's name.
pub const NAME_MAX: usize = 64;

/// Whether this can be a name: 1 to [`NAME_MAX`] bytes without control characters, and no
/// space at either end.
///
/// # Errors
///
/// A sentence for the caller that says what is wrong with it.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > NAME_MAX {
        return Err(format!("a name has 1 to {NAME_MAX} bytes, this one {}", name.len()));
    }
    if name.chars().any(char::is_control) {
        return Err("a name has no control characters".to_owned());
    }
    if name.trim() != name {
        return Err("a name neither begins nor ends with a space".to_owned());
    }
    Ok(())
}

/// How long the name of a place is at most, in bytes.
pub const PLACE_NAME_MAX: usize = 40;

/// Whether a text can be the name of a place, and of what stands beside it in addresses and commands: 1 to
/// [`PLACE_NAME_MAX`] letters a-z, digits and `-`.
#[must_use]
pub fn is_place_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    // A name that begins with - would be an option of the command that carries it.
    (1..=PLACE_NAME_MAX).contains(&text.len()) && text.bytes().all(fits) && !text.starts_with('-')
}

/// The name and version that an MCP client states, such as `Claude Code 2.1.330`: a label for
/// lists, and no proof of anything. One line of at most [`NAME_MAX`] bytes without control characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ClientProgram(Arc<str>);

impl ClientProgram {
    /// Makes a label of any text that a client sends. Characters that cannot be shown in one line
    /// are left out, and the rest is cut to its limit. `None` if nothing is left.
    #[must_use]
    pub fn of(name: &str, version: &str) -> Option<Self> {
        plain_label(&format!("{} {}", name.trim(), version.trim())).map(Self)
    }

    /// The label.
    #[must_use]
    pub fn into_text(self) -> Arc<str> {
        self.0
    }
}

/// Makes a label of any text: one line of at most [`NAME_MAX`] bytes, without the characters that do not
/// show. `None` if nothing is left.
#[must_use]
pub fn plain_label(text: &str) -> Option<Arc<str>> {
    let mut label: String = text.chars().filter(|char| is_shown(*char)).collect();
    label.truncate(label.floor_char_boundary(NAME_MAX));
    let label = label.trim();
    (!label.is_empty()).then(|| label.into())
}

/// Whether a character shows as itself. One that controls a terminal, has no width or turns the
/// direction of the text could make a label look like another one.
#[must_use]
pub fn is_shown(char: char) -> bool {
    !char.is_control()
        && !matches!(
            char,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The name that a person gives to a browser's profile, such as `work`. [`check_name`] holds for it, and
/// it reads as what it is: all its characters show.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct BrowserName(Arc<str>);

impl BrowserName {
    /// Checks a name.
    ///
    /// # Errors
    ///
    /// A sentence for the person that says what is wrong with it.
    pub fn parse(name: &str) -> Result<Self, String> {
        check_name(name)?;
        if !name.chars().all(is_shown) {
            return Err("a name has no characters that cannot be seen".to_owned());
        }
        Ok(Self(name.into()))
    }

    /// The name as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as a header carries it: encoded as in an address.
    #[must_use]
    pub fn to_header(&self) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let encode = |byte: u8| {
            if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        };
        self.0.bytes().map(encode).collect()
    }

    /// Reads the name that a header carries.
    ///
    /// # Errors
    ///
    /// A sentence for the caller.
    pub fn from_header(text: &str) -> Result<Self, String> {
        let malformed = || "a browser's name is encoded as in an address: `my%20work`".to_owned();
        let mut bytes = Vec::new();
        let mut rest = text.as_bytes();
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            if *first != b'%' {
                bytes.push(*first);
                continue;
            }
            let (digits, after) = after.split_at_checked(2).ok_or_else(malformed)?;
            let digit = |at: usize| char::from(digits[at]).to_digit(16);
            let (Some(high), Some(low)) = (digit(0), digit(1)) else { return Err(malformed()) };
            bytes.push(u8::try_from(high * 16 + low).map_err(|_| malformed())?);
            rest = after;
        }
        Self::parse(&String::from_utf8(bytes).map_err(|_| malformed())?)
    }

    /// Whether people would take the two for one name.
    #[must_use]
    pub fn is_like(&self, other: &str) -> bool {
        self.0.to_lowercase() == other.to_lowercase()
    }
}

impl TryFrom<String> for BrowserName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::parse(&name)
    }
}

impl From<BrowserName> for String {
    fn from(name: BrowserName) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for BrowserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name under which drawings on several pages are collected. [`check_name`] holds for it.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct SessionName(Arc<str>);

impl SessionName {
    /// Checks a name.
    ///
    /// # Errors
    ///
    /// What [`check_name`] says.
    pub fn parse(name: &str) -> Result<Self, String> {
        check_name(name).map(|()| Self(name.into()))
    }

    /// The name as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SessionName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::parse(&name)
    }
}

impl From<SessionName> for String {
    fn from(name: SessionName) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_are_refused_with_what_is_wrong() {
        for (wrong, says) in [
            ("", "1 to 64 bytes"),
            (&"x".repeat(65), "1 to 64 bytes"),
            (&"é".repeat(33), "1 to 64 bytes"),
            ("a\nb", "control characters"),
            ("a\0", "control characters"),
            (" a", "a space"),
            ("a\u{a0}", "a space"),
        ] {
            let why = check_name(wrong).unwrap_err();
            assert!(why.contains(says), "{wrong:?}: {why}");
            assert_eq!(SessionName::parse(wrong), Err(why));
        }
        assert!(check_name(&"x".repeat(64)).is_ok());
        assert_eq!(SessionName::parse("check out é").unwrap().as_str(), "check out é");
    }

    #[test]
    fn a_browsers_name_shows_as_it_is() {
        assert_eq!(BrowserName::parse("Arbeit 2").unwrap().as_str(), "Arbeit 2");
        for name in ["work", "Arbeit 2", "работа", "100% \u{1f98a}"] {
            let name = BrowserName::parse(name).unwrap();
            assert!(name.to_header().is_ascii());
            assert_eq!(BrowserName::from_header(&name.to_header()), Ok(name));
        }
        for wrong in ["", "%", "%4", "%zz", "%ff", "a%0a"] {
            assert!(BrowserName::from_header(wrong).is_err(), "{wrong}");
        }
        for (wrong, says) in [
            ("", "1 to 64 bytes"),
            (" work", "a space"),
            ("wo\nrk", "control characters"),
            ("wo\u{200b}rk", "cannot be seen"),
            ("\u{202e}krow", "cannot be seen"),
        ] {
            assert!(BrowserName::parse(wrong).unwrap_err().contains(says), "{wrong:?}");
        }
    }

    #[test]
    fn a_session_is_read_by_the_same_rule() {
        let read = serde_json::from_str::<SessionName>;
        assert_eq!(read("\"checkout\"").unwrap().as_str(), "checkout");
        assert!(read("\" checkout\"").unwrap_err().to_string().contains("a space"));
    }

    #[test]
    fn what_a_client_calls_itself_is_one_plain_line_whatever_it_sends() {
        let label = |name: &str, version: &str| {
            let program = ClientProgram::of(name, version)?;
            Some(serde_json::to_value(program).unwrap().as_str().unwrap().to_owned())
        };
        assert_eq!(label("Claude Code", "2.1.330").unwrap(), "Claude Code 2.1.330");
        assert_eq!(label("cursor", "").unwrap(), "cursor");
        assert_eq!(label("\u{1b}[31ma\nb\u{202e}c", "\u{7}1").unwrap(), "[31mabc 1");
        assert_eq!(label(&"é".repeat(99), "1").unwrap(), "é".repeat(32));
        assert_eq!(label("a\u{2060}\u{feff}b\u{61c}\u{e0041}c", "").unwrap(), "abc");
        assert_eq!(label("\u{200b}\n", " "), None);
    }
}
