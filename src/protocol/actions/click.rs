//! `click`: clicks an element or a point.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ActionSpec, BrowserAction, KeyModifier, MouseButton, PageAfterAct, PointTarget, TargetWait,
};

/// Clicks an element or a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClickAction {
    /// The place where it acts.
    #[serde(flatten)]
    pub at: PointTarget,
    /// Mouse button; default left.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub button: Option<MouseButton>,
    /// Click twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "doubleClick")]
    #[schemars(extend("x-rare" = true))]
    pub double_click: Option<bool>,
    /// Keys held during the click.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-rare" = true))]
    pub modifiers: Vec<KeyModifier>,
    /// How long the button stays down, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10_000))]
    #[schemars(extend("x-rare" = true))]
    pub hold_ms: Option<u32>,
    /// none: act at once, also on a moving element.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub wait: Option<TargetWait>,
    /// What its answer tells of the page.
    #[serde(flatten)]
    pub after: PageAfterAct,
}

impl BrowserAction for ClickAction {
    const SPEC: ActionSpec = ActionSpec {
        example: r#"{"target": "b12", "doubleClick": true, "modifiers": ["Shift"]}"#,
        ..ActionSpec::acting("click", "Click")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.at.in_short()
    }

    fn page_after(&self) -> PageAfterAct {
        self.after
    }
}
