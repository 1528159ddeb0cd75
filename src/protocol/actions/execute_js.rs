//! `execute_js`: runs a script in the page.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ActionSpec, BrowserAction};
use crate::protocol::{LegacyAction, in_short};

/// Runs JavaScript in the page; gives its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecuteJsAction {
    /// Expression or statements; return, await, tabwireSignal work.
    pub script: String,
    /// Run as if the user had clicked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub user_gesture: Option<bool>,
}

impl BrowserAction for ExecuteJsAction {
    const SPEC: ActionSpec = ActionSpec {
        id_kind: "exec",
        takes_long: true,
        usual_length: Duration::from_millis(10),
        example: r#"{"script": "document.title"}"#,
        ..ActionSpec::acting("execute_js", "Run JavaScript")
    };

    fn target(&self) -> Option<Arc<str>> {
        Some(in_short(&self.script))
    }

    // Its scripts have no user gesture, and it cannot give one.
    fn in_legacy_words(&self, timeout_ms: u64) -> Option<LegacyAction> {
        let params = json!({"script": self.script, "timeout_ms": timeout_ms});
        Some(LegacyAction { kind: "execute", params, says_pending: true })
    }
}
