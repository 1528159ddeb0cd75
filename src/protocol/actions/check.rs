//! `check`: ticks a checkbox or radio button.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ElementTarget, PageAfterAct, ToolGroup};

/// Ticks a checkbox or radio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckAction {
    /// The place where it acts.
    #[serde(flatten)]
    pub at: ElementTarget,
    /// What its answer tells of the page.
    #[serde(flatten)]
    pub after: PageAfterAct,
}

impl BrowserAction for CheckAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Input,
        id_kind: "check",
        effect: ActionEffect::HARMLESS,
        example: r#"{"target": "label=I agree"}"#,
        ..ActionSpec::acting("check", "Tick")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.at.in_short()
    }

    fn page_after(&self) -> PageAfterAct {
        self.after
    }
}
