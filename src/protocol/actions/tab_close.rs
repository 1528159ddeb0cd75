//! `tab_close`: closes the tab.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction};

/// Closes the tab, also a stuck one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TabCloseAction {}

impl BrowserAction for TabCloseAction {
    const SPEC: ActionSpec = ActionSpec {
        id_kind: "tab",
        passes_lanes: true,
        usual_length: Duration::from_millis(50),
        ..ActionSpec::acting("tab_close", "Close a tab")
    };
}
