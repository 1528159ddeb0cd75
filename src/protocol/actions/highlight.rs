//! `highlight`: shows the person an element.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ToolGroup};
use crate::protocol::in_short;

/// Frames an element for the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HighlightAction {
    /// Element to show; default none, which ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// For how long in ms; default 5000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 60_000))]
    #[schemars(extend("x-split" = true))]
    pub duration_ms: Option<u32>,
}

impl BrowserAction for HighlightAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        id_kind: "light",
        effect: ActionEffect::HARMLESS,
        example: r#"{"target": "b7", "duration_ms": 3000}"#,
        ..ActionSpec::acting("highlight", "Highlight an element")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }
}
