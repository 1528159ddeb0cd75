//! `tab_list`: the open tabs.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ActionSpec, ActionTool, BrowserAction};
use crate::protocol::LegacyAction;

/// Lists the tabs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TabListAction {}

impl BrowserAction for TabListAction {
    const SPEC: ActionSpec = ActionSpec {
        tool: ActionTool::Interact,
        id_kind: "tabs",
        is_browser_wide: true,
        usual_length: Duration::from_millis(10),
        ..ActionSpec::reading("tab_list", "List tabs")
    };

    fn in_legacy_words(&self, _: u64) -> Option<LegacyAction> {
        Some(LegacyAction::of_query("tabs", json!({})))
    }
}
