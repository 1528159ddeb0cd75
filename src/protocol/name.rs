//! The names that agents and people give: one rule for all of them.

use std::fmt;
use std::sync::Arc;

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

/// The name under which drawings on several pages are collected. [`check_name`] holds for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionName(Arc<str>);

impl SessionName {
    /// The name, if it can be one; else what is wrong with it.
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
    fn a_session_is_read_by_the_same_rule() {
        let read = serde_json::from_str::<SessionName>;
        assert_eq!(read("\"checkout\"").unwrap().as_str(), "checkout");
        assert!(read("\" checkout\"").unwrap_err().to_string().contains("a space"));
    }
}
