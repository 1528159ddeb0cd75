//! `get_attributes`: the attributes of an element.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ElementTarget, ToolGroup};

/// Attributes of an element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GetAttributesAction {
    /// The place where it acts.
    #[serde(flatten)]
    pub at: ElementTarget,
    /// Attributes to tell; default all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-rare" = true))]
    pub names: Vec<String>,
}

impl BrowserAction for GetAttributesAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        id_kind: "read",
        example: r#"{"target": "b12", "names": ["href"]}"#,
        ..ActionSpec::reading("get_attributes", "Read attributes")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.at.in_short()
    }
}
