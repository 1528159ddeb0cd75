//! `uncheck`: clears a checkbox.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ElementTarget, PageAfterAct, ToolGroup};

/// Unticks a checkbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UncheckAction {
    /// The place where it acts.
    #[serde(flatten)]
    pub at: ElementTarget,
    /// What its answer tells of the page.
    #[serde(flatten)]
    pub after: PageAfterAct,
}

impl BrowserAction for UncheckAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Input,
        id_kind: "check",
        effect: ActionEffect::HARMLESS,
        example: r#"{"target": "label=I agree"}"#,
        ..ActionSpec::acting("uncheck", "Clear a tick")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.at.in_short()
    }

    fn page_after(&self) -> PageAfterAct {
        self.after
    }
}
