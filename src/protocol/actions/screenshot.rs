//! `screenshot`: a picture of the page.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, ActionTool, BrowserAction};
use crate::protocol::{ImageFormat, SavedFormat, in_short};

/// Takes a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenshotAction {
    /// Only this element: ref, selector, text= or role=.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Draw each button, link and field's ref on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub marks: Option<bool>,
    /// Picture the whole page, not only the view.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub full_page: Option<bool>,
    /// Picture format; default png.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub format: Option<ImageFormat>,
    /// Longest side in px; default 1568.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 64, max = 8_192))]
    #[schemars(extend("x-rare" = true))]
    pub max_side: Option<u32>,
    /// New file for the picture, in a folder open to agents.
    #[serde(skip_serializing)]
    #[schemars(extend("x-rare" = true))]
    pub path: Option<String>,
}

impl BrowserAction for ScreenshotAction {
    const SPEC: ActionSpec = ActionSpec {
        tool: ActionTool::Interact,
        id_kind: "shot",
        // It leaves a file behind.
        beyond_effect: &["path"],
        usual_length: Duration::from_millis(150),
        example: r#"{"target": "main", "marks": true, "format": "webp"}"#,
        ..ActionSpec::reading("screenshot", "Take a screenshot")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }

    fn file_name(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn saved_file(&self) -> Option<(&str, SavedFormat)> {
        Some((self.file_name()?, self.format.unwrap_or(ImageFormat::Png).into()))
    }
}
