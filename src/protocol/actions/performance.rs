//! `performance`: how fast the page was.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ToolGroup};

/// Load times and layout shifts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PerformanceAction {}

impl BrowserAction for PerformanceAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        id_kind: "perf",
        usual_length: Duration::from_millis(100),
        ..ActionSpec::reading("performance", "Measure the page")
    };
}
