//! `wait_for`: waits for something in the page.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, ActionTool, BrowserAction};
use crate::protocol::{in_short, url_in_short};

/// Waits for a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitForAction {
    /// Text that must appear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Text that must disappear.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "textGone")]
    #[schemars(extend("x-rare" = true))]
    pub text_gone: Option<String>,
    /// Element that must be visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Element that must be gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub gone: Option<String>,
    /// URL that the tab must reach: a part, or a pattern with *.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Load state to wait for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub state: Option<LoadState>,
    /// JavaScript expression or function that must become true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub function: Option<String>,
    /// Wait for a download to finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub download: Option<bool>,
    /// Milliseconds to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 300_000))]
    #[schemars(extend("x-rare" = true))]
    pub time: Option<u32>,
}

/// How far a page has loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum LoadState {
    Load,
    DomContentLoaded,
    NetworkIdle,
}

impl BrowserAction for WaitForAction {
    const SPEC: ActionSpec = ActionSpec {
        tool: ActionTool::Interact,
        id_kind: "wait",
        // It runs a script.
        beyond_effect: &["function"],
        takes_long: true,
        usual_length: Duration::from_millis(500),
        example: r#"{"text": "Saved", "state": "networkidle"}"#,
        ..ActionSpec::reading("wait_for", "Wait")
    };

    // A script may do anything.
    fn is_safe(&self) -> bool {
        self.function.is_none()
    }

    fn target(&self) -> Option<Arc<str>> {
        let told = [&self.text, &self.text_gone, &self.target, &self.gone, &self.function];
        let url = self.url.as_deref().map(url_in_short);
        told.into_iter().flatten().next().map(|told| in_short(told)).or(url)
    }
}
