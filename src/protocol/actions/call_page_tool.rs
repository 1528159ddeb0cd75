//! `call_page_tool`: calls a tool of the page.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ActionSpec, BrowserAction, ToolGroup};
use crate::protocol::in_short;

/// Calls a page's tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallPageToolAction {
    /// Name of the page's tool.
    #[schemars(extend("x-rare" = true))]
    pub name: String,
    /// Document id from page_tools.
    #[schemars(extend("x-rare" = true))]
    pub document: String,
    /// Hash of the definition from page_tools.
    #[schemars(extend("x-rare" = true))]
    pub hash: String,
    /// Arguments of the page's tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub arguments: Option<Map<String, Value>>,
}

impl BrowserAction for CallPageToolAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        id_kind: "tool",
        takes_long: true,
        usual_length: Duration::from_millis(200),
        example: r#"{"name": "add_to_cart", "document": "d4f1", "hash": "9b2c", "arguments": {"item": 7}}"#,
        ..ActionSpec::acting("call_page_tool", "Call a page tool")
    };

    fn target(&self) -> Option<Arc<str>> {
        Some(in_short(&self.name))
    }
}
