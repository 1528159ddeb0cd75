//! `select_option`: selects in a list.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ElementTarget, PageAfterAct};

/// Selects in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelectOptionAction {
    /// The place where it acts.
    #[serde(flatten)]
    pub at: ElementTarget,
    /// Values or labels to select.
    #[schemars(extend("x-rare" = true))]
    pub values: Vec<String>,
    /// What its answer tells of the page.
    #[serde(flatten)]
    pub after: PageAfterAct,
}

impl BrowserAction for SelectOptionAction {
    const SPEC: ActionSpec = ActionSpec {
        effect: ActionEffect::HARMLESS,
        id_kind: "select",
        example: r#"{"target": "label=Country", "values": ["Norway"]}"#,
        ..ActionSpec::acting("select_option", "Select options")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.at.in_short()
    }

    fn page_after(&self) -> PageAfterAct {
        self.after
    }
}
