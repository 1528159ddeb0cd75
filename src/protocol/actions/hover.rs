//! `hover`: moves the pointer.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, PageAfterAct, PointTarget};

/// Hovers over an element or a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoverAction {
    /// The place where it acts.
    #[serde(flatten)]
    pub at: PointTarget,
    /// What its answer tells of the page.
    #[serde(flatten)]
    pub after: PageAfterAct,
}

impl BrowserAction for HoverAction {
    const SPEC: ActionSpec = ActionSpec {
        effect: ActionEffect::HARMLESS,
        example: r#"{"x": 120, "y": 40.5}"#,
        ..ActionSpec::acting("hover", "Hover")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.at.in_short()
    }

    fn page_after(&self) -> PageAfterAct {
        self.after
    }
}
