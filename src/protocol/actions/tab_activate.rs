//! `tab_activate`: brings the tab to the front.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ToolGroup};

/// Shows the tab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TabActivateAction {
    /// Bring its window to the front, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<bool>,
}

impl BrowserAction for TabActivateAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Nav,
        id_kind: "tab",
        effect: ActionEffect::HARMLESS,
        usual_length: Duration::from_millis(50),
        example: r#"{"focus": true}"#,
        ..ActionSpec::acting("tab_activate", "Show a tab")
    };
}
