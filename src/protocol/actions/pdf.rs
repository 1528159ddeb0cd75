//! `pdf`: the page as PDF.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, ActionTool, BrowserAction, ToolGroup};
use crate::protocol::SavedFormat;

/// Saves the page as PDF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PdfAction {
    /// New file for the PDF, in a folder open to agents; a bare name: in the usual folder.
    #[serde(skip_serializing)]
    #[schemars(extend("x-rare" = true))]
    pub path: Option<String>,
    /// Landscape pages; default portrait.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub landscape: Option<bool>,
    /// Scale from 0.1 to 2; default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub scale: Option<f64>,
    /// Pages to print, such as 1-3,5; default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub page_ranges: Option<String>,
}

impl BrowserAction for PdfAction {
    const SPEC: ActionSpec = ActionSpec {
        tool: ActionTool::Interact,
        group: ToolGroup::Files,
        usual_length: Duration::from_millis(500),
        effect: ActionEffect::ADDING,
        example: r#"{"landscape": true}"#,
        ..ActionSpec::reading("pdf", "Save as PDF")
    };

    fn file_name(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn saved_file(&self) -> Option<(&str, SavedFormat)> {
        Some((self.file_name()?, SavedFormat::Pdf))
    }
}
