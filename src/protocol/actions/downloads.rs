//! `downloads`: follows the downloads that a client's acts have begun.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ToolGroup};

/// Downloads of your acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DownloadsAction {
    /// What to do; wait: until it has ended.
    #[schemars(extend("x-rare" = true))]
    pub operation: DownloadOperation,
    /// Id of the download; default the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    #[schemars(extend("x-silent" = true))]
    pub download_id: Option<u32>,
}

/// What is done with downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum DownloadOperation {
    List,
    Wait,
    Cancel,
}

impl BrowserAction for DownloadsAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Files,
        id_kind: "down",
        is_browser_wide: true,
        // A wait for a large file must not keep others from opening tabs.
        passes_lanes: true,
        takes_long: true,
        effect: ActionEffect::Acts { destructive: true, idempotent: true },
        usual_length: Duration::from_millis(20),
        example: r#"{"operation": "wait", "download_id": 7}"#,
        ..ActionSpec::acting("downloads", "Downloads")
    };

    fn is_safe(&self) -> bool {
        self.operation != DownloadOperation::Cancel
    }
}
