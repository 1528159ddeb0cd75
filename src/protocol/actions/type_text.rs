//! `type`: types text.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, PageAfterAct};
use crate::protocol::in_short;

/// Types text into a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TypeTextAction {
    /// Field: a ref, selector or label=; default the focused one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Field in human words; only for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-silent" = true))]
    pub element: Option<String>,
    /// Text to type.
    pub text: String,
    /// Press Enter afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub submit: Option<bool>,
    /// Empty the field first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub clear: Option<bool>,
    /// Type key by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub slowly: Option<bool>,
    /// What its answer tells of the page.
    #[serde(flatten)]
    pub after: PageAfterAct,
}

impl BrowserAction for TypeTextAction {
    const SPEC: ActionSpec = ActionSpec {
        id_kind: "type",
        example: r#"{"target": "label=Email", "text": "ann@example.com", "submit": true}"#,
        ..ActionSpec::acting("type", "Type text")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }

    fn page_after(&self) -> PageAfterAct {
        self.after
    }
}
