//! `upload_file`: gives files to a page.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ElementTarget, ToolGroup};

/// Gives files to the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UploadFileAction {
    /// The place where it acts.
    #[serde(flatten)]
    pub at: ElementTarget,
    /// Files to give: absolute paths.
    #[schemars(extend("x-rare" = true))]
    pub paths: Vec<String>,
    /// Drop the files onto the element.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub drop: Option<bool>,
}

impl BrowserAction for UploadFileAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Files,
        id_kind: "file",
        takes_long: true,
        effect: ActionEffect::ADDING,
        example: r#"{"target": "b5", "paths": ["/home/ann/shop/cat.png"]}"#,
        ..ActionSpec::acting("upload_file", "Upload files")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.at.in_short()
    }

    fn gives_files(&self, paths: &[String]) -> bool {
        self.paths == paths
    }
}
