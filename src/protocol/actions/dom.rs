//! `dom`: elements by selector.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ActionSpec, BrowserAction, ToolGroup};
use crate::protocol::{LegacyAction, in_short};

/// Elements by CSS selector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DomAction {
    /// CSS selector; reaches shadow roots and frames.
    pub selector: String,
    /// Most elements; default 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<u32>,
}

impl BrowserAction for DomAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        example: r#"{"selector": "form > input", "limit": 5}"#,
        ..ActionSpec::reading("dom", "Look up elements")
    };

    fn target(&self) -> Option<Arc<str>> {
        Some(in_short(&self.selector))
    }

    // It tells as many matches as it likes.
    fn in_legacy_words(&self, _: u64) -> Option<LegacyAction> {
        Some(LegacyAction::of_query("dom", json!({"selector": self.selector})))
    }
}
