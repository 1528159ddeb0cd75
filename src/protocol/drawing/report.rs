//! Drawings as agents read them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::protocol::{DrawingId, SessionName, TabId, Timestamp};

/// A drawing as agents read it: the result of a wait for one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DrawingReport {
    /// The session that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
    /// Its id.
    pub drawing_id: DrawingId,
    /// The page.
    pub page_url: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_title: Option<String>,
    /// Its tab.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab_id: Option<TabId>,
    /// When it was kept.
    pub at: Timestamp,
    /// The file with the screenshot, an absolute path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<String>,
    /// As the extension sent them. In a report of drawings they stand beside the pages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<Arc<RawValue>>,
    /// As the extension sent them.
    pub element_details: Arc<RawValue>,
}

/// Several drawings as agents read them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DrawingsReport {
    /// The annotations of all; with their `drawing_id` if there are several drawings.
    pub annotations: Vec<Arc<RawValue>>,
    /// The drawings, in the order in which they were given.
    pub pages: Vec<DrawingReport>,
    /// The session that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
}

impl DrawingsReport {
    /// The report of these drawings, of that session if one was asked for.
    #[must_use]
    pub fn new(mut pages: Vec<DrawingReport>, session: Option<SessionName>) -> Self {
        let has_several = pages.len() > 1;
        let mut annotations = Vec::new();
        for page in &mut pages {
            // They stand once, beside the pages: a model reads every byte.
            let of_page = std::mem::take(&mut page.annotations).into_iter();
            annotations.extend(of_page.map(|annotation| match has_several {
                true => with_drawing_id(&annotation, &page.drawing_id),
                false => annotation,
            }));
        }
        Self { annotations, pages, session }
    }
}

/// The same object with one more field. It stands at the end, since readers take the last of two
/// fields with the same name: an annotation cannot claim another drawing.
fn with_drawing_id(annotation: &Arc<RawValue>, id: &DrawingId) -> Arc<RawValue> {
    let Some(fields) = annotation.get().strip_suffix('}') else { return annotation.clone() };
    let comma = if fields.trim_end().ends_with('{') { "" } else { "," };
    let text = format!(r#"{fields}{comma}"drawing_id":"{id}"}}"#);
    RawValue::from_string(text).map_or_else(|_| annotation.clone(), Arc::from)
}
