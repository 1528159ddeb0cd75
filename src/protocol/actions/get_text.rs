//! `get_text`: the text of the page or of an element.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ToolGroup};
use crate::protocol::in_short;

/// Visible text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GetTextAction {
    /// Root: a ref, selector, text= or role=; default the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl BrowserAction for GetTextAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        id_kind: "read",
        example: r#"{"target": "main"}"#,
        ..ActionSpec::reading("get_text", "Read text")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }
}
