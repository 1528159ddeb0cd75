//! `clipboard`: copies and pastes.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ToolGroup};
use crate::protocol::in_short;

/// Copies and pastes with a clipboard of your own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClipboardAction {
    /// What to do: copy or cut the selection or the target, paste, or read or write this clipboard.
    #[schemars(extend("x-rare" = true))]
    pub operation: ClipboardOperation,
    /// Element to focus first; default the focused one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub target: Option<String>,
    /// Text to write.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub text: Option<String>,
}

/// An operation on a clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum ClipboardOperation {
    Copy,
    Cut,
    Paste,
    Read,
    Write,
}

impl BrowserAction for ClipboardAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Input,
        id_kind: "clip",
        example: r#"{"operation": "write", "text": "Hello"}"#,
        ..ActionSpec::acting("clipboard", "Clipboard")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }
}
