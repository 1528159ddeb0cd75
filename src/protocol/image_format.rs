//! The formats of pictures, and of the files that agents have written.

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
    Webp,
}

impl ImageFormat {
    /// Its media type.
    #[must_use]
    pub const fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }

    /// How the names of its files end.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Webp => "webp",
        }
    }

    /// All endings that the name of such a file can have, in small letters.
    #[must_use]
    pub const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Png => &["png"],
            Self::Jpeg => &["jpg", "jpeg"],
            Self::Webp => &["webp"],
        }
    }

    /// The format according to a file's first bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        // A container of any kind begins with its length; the kind stands behind it.
        if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            return Some(Self::Webp);
        }
        let begins: [(&[u8], Self); 2] =
            [(b"\x89PNG\r\n\x1a\n", Self::Png), (b"\xff\xd8\xff", Self::Jpeg)];
        begins.into_iter().find_map(|(begin, format)| bytes.starts_with(begin).then_some(format))
    }
}

/// The format of a file that an action's result is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedFormat {
    /// A picture.
    Image(ImageFormat),
    /// A page on paper.
    Pdf,
    /// A compressed trace of a page, as DevTools opens it.
    Trace,
    /// An HTTP archive of recorded requests.
    Har,
}

impl SavedFormat {
    /// All endings that the name of such a file can have, in small letters.
    #[must_use]
    pub const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Image(format) => format.endings(),
            Self::Pdf => &["pdf"],
            Self::Trace => &["gz"],
            Self::Har => &["har"],
        }
    }

    /// The format according to a file's first bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"%PDF-") {
            return Some(Self::Pdf);
        }
        if bytes.starts_with(b"\x1f\x8b\x08") {
            return Some(Self::Trace);
        }
        if bytes.starts_with(b"{\"log\":{\"version\":\"1.2\"") {
            return Some(Self::Har);
        }
        ImageFormat::of_bytes(bytes).map(Self::Image)
    }
}

impl From<ImageFormat> for SavedFormat {
    fn from(format: ImageFormat) -> Self {
        Self::Image(format)
    }
}
