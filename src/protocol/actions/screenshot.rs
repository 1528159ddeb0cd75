//! `screenshot`: a picture of the page.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, ActionTool, BrowserAction};
use crate::protocol::ImageFormat;

/// Takes a picture of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenshotAction {
    /// Picture the whole page, not only the visible part; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_page: Option<bool>,
    /// File format of the picture; default png.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<ImageFormat>,
    /// Longest side of the picture in px; default 1568.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 64, max = 8_192))]
    pub max_side: Option<u32>,
    /// New file for the picture, in a folder open to agents; a bare name: in the usual folder.
    #[serde(skip_serializing)]
    pub path: Option<String>,
}

impl BrowserAction for ScreenshotAction {
    const SPEC: ActionSpec = ActionSpec {
        tool: ActionTool::Interact,
        id_kind: "shot",
        usual_length: Duration::from_millis(150),
        example: r#"{"full_page": true}"#,
        ..ActionSpec::reading("screenshot", "Take a screenshot")
    };

    fn picture_file(&self) -> Option<(&str, ImageFormat)> {
        Some((self.path.as_deref()?, self.format.unwrap_or(ImageFormat::Png)))
    }
}
