//! The older extensions, which only poll, as the Tabwire extension shows them, and the person's
//! decisions on them in its popup.

use serde::{Deserialize, Deserializer, Serialize};

use super::is_extension_id;

/// The older extensions that are admitted, and those that ask for it.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OlderExtensions {
    /// Extensions that ask to be let in.
    pub asking: Vec<AskingExtension>,
    /// Extensions that are let in.
    pub let_in: Vec<AdmittedExtension>,
}

/// An older extension that asks to be let in.
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdmittedExtension {
    /// The extension.
    pub extension_id: String,
    /// Whether it polls now.
    pub connected: bool,
}

/// The person's decision on an older extension.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OlderExtensionChange {
    /// What is to happen.
    pub change: AdmissionChange,
    /// The extension.
    #[serde(deserialize_with = "extension_id")]
    pub extension_id: String,
}

/// The decision on an older extension.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdmissionChange {
    /// Let it in.
    Allow,
    /// Shut it out again.
    Remove,
}

fn extension_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = String::deserialize(deserializer)?;
    if is_extension_id(&id) { Ok(id) } else { Err(serde::de::Error::custom("no extension id")) }
}

/// Stands in place of a text that is not a version.
const UNKNOWN_VERSION: &str = "unknown";

/// The longest version that is shown, in bytes.
const VERSION_MAX: usize = 24;

/// A version that is safe to show anywhere: digits and points. An extension that polls is not
/// proven and can send any text.
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
