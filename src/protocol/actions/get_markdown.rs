//! `get_markdown`: the main content.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction};
use crate::protocol::in_short;

/// Main content as Markdown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GetMarkdownAction {
    /// Root: a ref, selector, text= or role=; default the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl BrowserAction for GetMarkdownAction {
    const SPEC: ActionSpec = ActionSpec {
        id_kind: "read",
        example: "{}",
        ..ActionSpec::reading("get_markdown", "Read as Markdown")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }
}
