//! The picture that comes with a drawing.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protocol::ImageFormat;

/// A picture; a `data:` URL on the wire.
#[derive(Clone, PartialEq, Eq)]
pub struct Screenshot {
    /// The format, according to its first bytes.
    pub format: ImageFormat,
    /// The file.
    pub bytes: Bytes,
}

/// The reason why a text is not a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScreenshotError {
    /// It is not a `data:` URL of a picture.
    #[error("is not a `data:image/png;base64,` or `data:image/jpeg;base64,` URL")]
    BadDataUrl,
    /// It cannot be decoded.
    #[error("is not valid base64")]
    BadBase64,
    /// It is something else.
    #[error("is neither PNG nor JPEG")]
    UnknownFormat,
}

/// A text read as a picture. It is decoded in place, since it has megabytes.
pub(super) struct DataUrl(pub(super) Result<Screenshot, ScreenshotError>);

impl<'de> Deserialize<'de> for DataUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DataUrlVisitor;
        impl Visitor<'_> for DataUrlVisitor {
            type Value = DataUrl;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a data URL")
            }

            fn visit_str<E: de::Error>(self, url: &str) -> Result<DataUrl, E> {
                Ok(DataUrl(Screenshot::parse(url)))
            }
        }
        deserializer.deserialize_str(DataUrlVisitor)
    }
}

impl Screenshot {
    /// Reads a `data:` URL. The format comes from the bytes and not from the media type.
    ///
    /// # Errors
    ///
    /// [`ScreenshotError`].
    pub fn parse(url: &str) -> Result<Self, ScreenshotError> {
        let data = ["data:image/png;base64,", "data:image/jpeg;base64,"]
            .into_iter()
            .find_map(|start| url.strip_prefix(start))
            .ok_or(ScreenshotError::BadDataUrl)?;
        let bytes = STANDARD.decode(data).map_err(|_| ScreenshotError::BadBase64)?;
        // The files of drawings have the endings of these two.
        let format = ImageFormat::of_bytes(&bytes)
            .filter(|format| matches!(format, ImageFormat::Png | ImageFormat::Jpeg))
            .ok_or(ScreenshotError::UnknownFormat)?;
        Ok(Self { format, bytes: bytes.into() })
    }

    /// The picture as a `data:` URL.
    #[must_use]
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.format.mime_type(), STANDARD.encode(&self.bytes))
    }
}

impl Serialize for Screenshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.data_url())
    }
}

/// Leaves the megabytes out.
impl fmt::Debug for Screenshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, bytes } = self;
        f.debug_struct("Screenshot").field("format", format).field("bytes", &bytes.len()).finish()
    }
}
