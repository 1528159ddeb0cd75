//! `forms`: the fields of a page.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ToolGroup};
use crate::protocol::in_short;

/// Form fields: label, type, value, errors; refs for `fill_form`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FormsAction {
    /// Part of the page: a ref, selector, text= or role=; default the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub target: Option<String>,
    /// Longest answer in bytes; default 10000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 500, max = 65_536))]
    #[schemars(extend("x-rare" = true))]
    pub max_bytes: Option<u32>,
}

impl BrowserAction for FormsAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        cuts_result: true,
        example: r#"{"target": "form", "max_bytes": 4000}"#,
        ..ActionSpec::reading("forms", "List form fields")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }
}
