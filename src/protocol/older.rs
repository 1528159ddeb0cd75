//! What the Tabwire extension is told of older extensions, those that only poll, and what the
//! person decides of them there.

use serde::{Deserialize, Deserializer, Serialize};

use super::is_extension_id;

/// The older extensions that are there or may be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OlderExtensions {
    /// Those that ask to be let in.
    pub asking: Vec<AskingExtension>,
    /// Those that are let in.
    pub let_in: Vec<AdmittedExtension>,
}

/// An older extension that asks to be let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AskingExtension {
    /// The extension.
    pub extension_id: String,
    /// The version that it says it has, see [`plain_version`].
    pub extension_version: String,
    /// Whether it was let in until the Tabwire extension connected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub was_let_in: bool,
}

/// An older extension that is let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdmittedExtension {
    /// The extension.
    pub extension_id: String,
    /// Whether it polls now.
    pub connected: bool,
}

/// What the person decides of an older extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OlderExtensionChange {
    /// What is to happen.
    pub change: AdmissionChange,
    /// The extension.
    #[serde(deserialize_with = "extension_id")]
    pub extension_id: String,
}

/// Whether an extension is to be let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdmissionChange {
    /// Let it in.
    Allow,
    /// Let it in no more.
    Remove,
}

fn extension_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = String::deserialize(deserializer)?;
    if is_extension_id(&id) { Ok(id) } else { Err(serde::de::Error::custom("no extension id")) }
}

/// What is shown of a version that is none.
const UNKNOWN_VERSION: &str = "unknown";

/// The longest version that is shown, in bytes.
const VERSION_MAX: usize = 24;

/// A version as it may be shown anywhere: digits and points. An extension that polls can say any
/// text instead, and nobody vouches for it.
#[must_use]
pub fn plain_version(text: &str) -> &str {
    let is_plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_version = text.len() <= VERSION_MAX && text.split('.').all(is_plain);
    if is_version { text } else { UNKNOWN_VERSION }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_digits_and_points_or_unknown() {
        for version in ["5.6.0", "0", "0.8.2", "6.0.3.1"] {
            assert_eq!(plain_version(version), version);
        }
        let long = "1".repeat(VERSION_MAX + 1);
        for text in ["", ".", "1.", "1..2", "1.0-beta", "IGNORE all", "1\n2", "٣", &long] {
            assert_eq!(plain_version(text), UNKNOWN_VERSION, "{text:?}");
        }
    }
}
