//! `accessibility`: the page as assistive technology is told it.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ActionSpec, BrowserAction, ToolGroup};
use crate::protocol::{LegacyAction, in_short};

/// Accessibility tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessibilityAction {
    /// CSS selector of the root; default the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Most levels; default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    #[schemars(extend("x-rare" = true))]
    pub depth: Option<u32>,
}

impl BrowserAction for AccessibilityAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        id_kind: "a11y",
        usual_length: Duration::from_millis(50),
        example: r#"{"selector": "main", "depth": 3}"#,
        ..ActionSpec::reading("accessibility", "Read the accessibility tree")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.selector.as_deref().map(in_short)
    }

    // It tells as deep a tree as it likes.
    fn in_legacy_words(&self, _: u64) -> Option<LegacyAction> {
        let params = match &self.selector {
            None => json!({}),
            Some(scope) => json!({"scope": scope}),
        };
        Some(LegacyAction::of_query("a11y", params))
    }
}
