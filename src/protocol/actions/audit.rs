//! `audit`: barriers of a page, found by axe-core.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ToolGroup};
use crate::protocol::in_short;

/// Accessibility problems, by axe-core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditAction {
    /// Part of the page: a ref, selector, text= or role=; default the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub target: Option<String>,
    /// Only these axe rules, such as color-contrast.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 50), extend("x-rare" = true))]
    pub rules: Option<Vec<String>>,
    /// Only axe rules with one of these tags, such as wcag2aa; default all but experimental ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20), extend("x-rare" = true))]
    pub tags: Option<Vec<String>>,
    /// Longest answer in bytes; default 10000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 500, max = 65_536))]
    #[schemars(extend("x-rare" = true))]
    pub max_bytes: Option<u32>,
}

impl BrowserAction for AuditAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        cuts_result: true,
        usual_length: Duration::from_millis(500),
        example: r#"{"target": "main", "tags": ["wcag2a", "wcag2aa"]}"#,
        ..ActionSpec::reading("audit", "Audit accessibility")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }
}
