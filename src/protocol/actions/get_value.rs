//! `get_value`: the value of a field.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ElementTarget, ToolGroup};

/// Value of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GetValueAction {
    /// The place where it acts.
    #[serde(flatten)]
    pub at: ElementTarget,
}

impl BrowserAction for GetValueAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        id_kind: "read",
        example: r#"{"target": "label=Email"}"#,
        ..ActionSpec::reading("get_value", "Read a value")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.at.in_short()
    }
}
