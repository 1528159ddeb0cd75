//! `press_key`: presses keys.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, PageAfterAct};
use crate::protocol::in_short;

/// Presses keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PressKeyAction {
    /// Key or chord: Enter, a, Control+a.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub key: Option<String>,
    /// Keys or chords to press one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-rare" = true))]
    pub keys: Vec<String>,
    /// Element to focus first; default the focused one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub target: Option<String>,
    /// What its answer tells of the page.
    #[serde(flatten)]
    pub after: PageAfterAct,
}

impl BrowserAction for PressKeyAction {
    const SPEC: ActionSpec = ActionSpec {
        id_kind: "key",
        example: r#"{"key": "Control+a"}"#,
        ..ActionSpec::acting("press_key", "Press keys")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }

    fn page_after(&self) -> PageAfterAct {
        self.after
    }
}
