//! `forward`: goes forward in the history of the tab.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ActionSpec, BrowserAction, ToolGroup};
use crate::protocol::LegacyAction;

/// Goes one page on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForwardAction {}

impl BrowserAction for ForwardAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Nav,
        id_kind: "nav",
        usual_length: Duration::from_millis(1_000),
        ..ActionSpec::acting("forward", "Go forward")
    };

    fn in_legacy_words(&self, _: u64) -> Option<LegacyAction> {
        Some(LegacyAction::of_browser(json!({"action": "forward"})))
    }
}
