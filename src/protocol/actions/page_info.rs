//! `page_info`: the address and title of the page.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ActionSpec, ActionTool, BrowserAction};
use crate::protocol::LegacyAction;

/// URL and title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageInfoAction {}

impl BrowserAction for PageInfoAction {
    const SPEC: ActionSpec = ActionSpec {
        tool: ActionTool::Interact,
        id_kind: "info",
        usual_length: Duration::from_millis(10),
        ..ActionSpec::reading("page_info", "Page address")
    };

    fn in_legacy_words(&self, _: u64) -> Option<LegacyAction> {
        Some(LegacyAction::of_query("page_info", json!({})))
    }
}
