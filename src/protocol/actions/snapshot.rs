//! `snapshot`: the page as text, with refs.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction};
use crate::protocol::in_short;

/// Page as text, with refs (b12) as targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotAction {
    /// Root: a ref, selector, text= or role=; default the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Only buttons, links and fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive_only: Option<bool>,
    /// Most levels; default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    #[schemars(extend("x-rare" = true))]
    pub depth: Option<u32>,
    /// Longest answer in bytes; default 10000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 500, max = 65_536))]
    #[schemars(extend("x-rare" = true))]
    pub max_bytes: Option<u32>,
    /// Add boxes in CSS px.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub boxes: Option<bool>,
    /// Only changes since your last snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub diff: Option<bool>,
    /// Add the URLs of links.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub urls: Option<bool>,
}

impl BrowserAction for SnapshotAction {
    const SPEC: ActionSpec = ActionSpec {
        id_kind: "snap",
        cuts_result: true,
        example: r#"{"interactive_only": true, "max_bytes": 4000}"#,
        ..ActionSpec::reading("snapshot", "Snapshot of the page")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }
}
