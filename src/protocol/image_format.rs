//! The formats of pictures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A picture's file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum ImageFormat {
    Png,
    Jpeg,
}

impl ImageFormat {
    /// Its media type.
    #[must_use]
    pub const fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }

    /// How the names of its files end.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
        }
    }

    /// All endings that the name of such a file can have, in small letters.
    #[must_use]
    pub const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Png => &["png"],
            Self::Jpeg => &["jpg", "jpeg"],
        }
    }

    /// The format according to a file's first bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let begins: [(&[u8], Self); 2] =
            [(b"\x89PNG\r\n\x1a\n", Self::Png), (b"\xff\xd8\xff", Self::Jpeg)];
        begins.into_iter().find_map(|(begin, format)| bytes.starts_with(begin).then_some(format))
    }
}
