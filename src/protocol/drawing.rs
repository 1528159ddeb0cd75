//! A person's drawing on a page, as an extension sends it and as agents read it.

mod report;
mod screenshot;

use std::fmt;
use std::sync::Arc;

use serde::de::{self, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{CorrelationId, DrawingId, SessionName, TabId};
pub use report::{DrawingReport, DrawingsReport};
use screenshot::DataUrl;
pub use screenshot::{Screenshot, ScreenshotError};

/// How many annotations a drawing has at most.
pub const ANNOTATIONS_MAX: usize = 200;

/// A person's drawing on one page, or the news that they drew nothing. Annotations and the elements
/// that they point at are kept byte for byte.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct Drawing {
    /// The same id again is the same drawing, so an extension can send it twice.
    pub drawing_id: DrawingId,
    /// The page with the drawing on it.
    #[serde(rename = "screenshot_data_url", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub screenshot: Option<Screenshot>,
    /// JSON objects, at most [`ANNOTATIONS_MAX`].
    pub annotations: Vec<Arc<RawValue>>,
    /// A JSON object: the elements that annotations name, by key.
    pub element_details: Arc<RawValue>,
    /// The page.
    pub page_url: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_title: Option<String>,
    /// Its tab.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab_id: Option<TabId>,
    /// The session that it belongs to.
    #[serde(rename = "annot_session_name", skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
    /// The wait that asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// Why nothing was drawn. There are no annotations then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<DrawingCancel>,
}

/// Why nothing was drawn.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawingCancel {
    /// The person gave it up.
    User,
    /// The page went away.
    PageClosed,
}

/// The reason why a body is not a drawing. The messages go to its sender.
#[derive(Debug, thiserror::Error)]
pub enum DrawingError {
    /// It is not JSON, or a field is missing or of another type.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It has no id, where one is needed.
    #[error("`drawing_id` is missing")]
    NoId,
    /// There are too many annotations.
    #[error("there are {count} annotations; a drawing has at most {ANNOTATIONS_MAX}")]
    TooManyAnnotations {
        /// How many there are.
        count: usize,
    },
    /// An annotation or `element_details` is not a JSON object.
    #[error("`{field}` must be a JSON object")]
    NoObject {
        /// Which field, with the annotation's number from 0.
        field: String,
    },
    /// The screenshot is no picture.
    #[error("the screenshot {0}")]
    Screenshot(#[from] ScreenshotError),
    /// It is cancelled and has annotations.
    #[error("it is `cancelled` and has annotations")]
    CancelledWithAnnotations,
}

impl Drawing {
    /// Reads a drawing. Older extensions send no id: the drawing then gets one that depends on its
    /// content, so that a repetition has the same id.
    ///
    /// # Errors
    ///
    /// [`DrawingError`], but not [`DrawingError::NoId`].
    pub fn parse(json: &[u8]) -> Result<Self, DrawingError> {
        DrawingBody::parse(json)?.into_drawing(|body, screenshot| Ok(body.made_up_id(screenshot)))
    }

    /// Reads a drawing that must have an id.
    ///
    /// # Errors
    ///
    /// [`DrawingError`].
    pub fn parse_with_id(json: &[u8]) -> Result<Self, DrawingError> {
        DrawingBody::parse(json)?.into_drawing(|_, _| Err(DrawingError::NoId))
    }
}

/// A drawing as extensions send it. Unknown fields are ignored.
#[derive(Deserialize)]
struct DrawingBody<'a> {
    #[serde(default)]
    drawing_id: Option<DrawingId>,
    #[serde(default, borrow)]
    screenshot_data_url: Option<&'a RawValue>,
    /// The same, as some extensions call it.
    #[serde(default, borrow)]
    screenshot: Option<&'a RawValue>,
    annotations: FirstAnnotations,
    #[serde(default)]
    element_details: Option<Arc<RawValue>>,
    page_url: String,
    #[serde(default)]
    page_title: Option<String>,
    #[serde(default)]
    tab_id: Option<TabId>,
    #[serde(default, rename = "annot_session_name")]
    session: Option<SessionName>,
    #[serde(default)]
    correlation_id: Option<CorrelationId>,
    #[serde(default)]
    cancelled: Option<DrawingCancel>,
}

impl<'a> DrawingBody<'a> {
    fn parse(json: &'a [u8]) -> Result<Self, DrawingError> {
        if !json.trim_ascii_start().starts_with(b"{") {
            // Serde would read an array as a struct, field by field.
            return Err(DrawingError::Json(de::Error::custom("not an object")));
        }
        let body: Self = serde_json::from_slice(json)?;
        body.check()?;
        Ok(body)
    }

    fn check(&self) -> Result<(), DrawingError> {
        let FirstAnnotations { first, count } = &self.annotations;
        if *count > ANNOTATIONS_MAX {
            return Err(DrawingError::TooManyAnnotations { count: *count });
        }
        let annotations =
            first.iter().enumerate().map(|(at, value)| (format!("annotations[{at}]"), value));
        let details = self.element_details.iter().map(|value| ("element_details".into(), value));
        for (field, value) in annotations.chain(details) {
            if !value.get().starts_with('{') {
                return Err(DrawingError::NoObject { field });
            }
        }
        if self.cancelled.is_some() && *count > 0 {
            return Err(DrawingError::CancelledWithAnnotations);
        }
        Ok(())
    }

    fn into_drawing(
        self,
        id_without_one: impl FnOnce(&Self, Option<&Screenshot>) -> Result<DrawingId, DrawingError>,
    ) -> Result<Drawing, DrawingError> {
        let screenshot = self.screenshot()?;
        let drawing_id = match &self.drawing_id {
            Some(id) => id.clone(),
            None => id_without_one(&self, screenshot.as_ref())?,
        };
        Ok(Drawing {
            drawing_id,
            screenshot,
            annotations: self.annotations.first,
            element_details: self.element_details.map_or_else(no_details, Ok)?,
            page_url: self.page_url,
            page_title: self.page_title,
            tab_id: self.tab_id,
            session: self.session,
            correlation_id: self.correlation_id,
            cancelled: self.cancelled,
        })
    }

    /// The picture. An empty text counts as no picture: the drawing is worth keeping without one.
    fn screenshot(&self) -> Result<Option<Screenshot>, DrawingError> {
        let Some(text) = self.screenshot_data_url.or(self.screenshot) else { return Ok(None) };
        if text.get() == r#""""# {
            return Ok(None);
        }
        let url: DataUrl = serde_json::from_str(text.get())?;
        Ok(Some(url.0?))
    }

    /// The id of a drawing that was sent without one: a hash of all that tells two drawings apart.
    fn made_up_id(&self, screenshot: Option<&Screenshot>) -> DrawingId {
        let mut hash = blake3::Hasher::new();
        let mut add = |part: Option<&[u8]>| {
            // The length keeps two different lists of parts from running together to the same bytes.
            let length = part.map_or(u64::MAX, |part| part.len() as u64);
            hash.update(&length.to_le_bytes()).update(part.unwrap_or_default());
        };
        add(screenshot.map(|picture| &*picture.bytes));
        add(Some(self.page_url.as_bytes()));
        add(self.session.as_ref().map(|name| name.as_str().as_bytes()));
        add(self.correlation_id.as_ref().map(|id| id.as_str().as_bytes()));
        add(self.cancelled.map(|why| match why {
            DrawingCancel::User => &b"user"[..],
            DrawingCancel::PageClosed => b"page_closed",
        }));
        for annotation in &self.annotations.first {
            add(Some(annotation.get().as_bytes()));
        }
        DrawingId::of_hash(*hash.finalize().as_bytes())
    }
}

fn no_details() -> Result<Arc<RawValue>, DrawingError> {
    Ok(RawValue::from_string("{}".to_owned())?.into())
}

/// The first annotations up to the limit, and the number of all.
#[derive(Default)]
struct FirstAnnotations {
    first: Vec<Arc<RawValue>>,
    count: usize,
}

impl<'de> Deserialize<'de> for FirstAnnotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnnotationsVisitor;
        impl<'de> Visitor<'de> for AnnotationsVisitor {
            type Value = FirstAnnotations;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of annotations")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut items: A,
            ) -> Result<FirstAnnotations, A::Error> {
                let mut read = FirstAnnotations::default();
                while read.first.len() < ANNOTATIONS_MAX
                    && let Some(item) = items.next_element()?
                {
                    read.first.push(item);
                }
                read.count = read.first.len();
                // The rest is counted for the message and not kept: millions of empty objects would
                // take far more room here than on the wire.
                while items.next_element::<IgnoredAny>()?.is_some() {
                    read.count += 1;
                }
                Ok(read)
            }
        }
        deserializer.deserialize_seq(AnnotationsVisitor)
    }
}

#[cfg(test)]
mod tests;
