//! `dialog`: answers a dialog that a command waits for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ToolGroup};

/// Answers a held dialog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DialogAction {
    /// What to do with it.
    #[schemars(extend("x-rare" = true))]
    pub operation: DialogOperation,
    /// Text for a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub text: Option<String>,
    /// Name for HTTP authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-silent" = true))]
    pub username: Option<String>,
    /// Password for HTTP authentication; never recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-silent" = true))]
    pub password: Option<String>,
    /// Files for a file chooser: absolute paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-silent" = true))]
    pub paths: Vec<String>,
}

/// An answer to a dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum DialogOperation {
    Accept,
    Dismiss,
}

impl BrowserAction for DialogAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Nav,
        // The command that waits for the dialog occupies the tab.
        passes_lanes: true,
        unrecorded: &["text", "username", "password"],
        example: r#"{"operation": "accept"}"#,
        ..ActionSpec::acting("dialog", "Answer a dialog")
    };

    fn gives_files(&self, paths: &[String]) -> bool {
        !paths.is_empty() && self.paths == paths
    }
}
