//! `get_html`: the HTML of an element.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ElementTarget, ToolGroup};

/// HTML of an element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GetHtmlAction {
    /// The place where it acts.
    #[serde(flatten)]
    pub at: ElementTarget,
}

impl BrowserAction for GetHtmlAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        id_kind: "read",
        example: r#"{"target": "b12"}"#,
        ..ActionSpec::reading("get_html", "Read HTML")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.at.in_short()
    }
}
