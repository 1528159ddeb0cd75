//! `fill_form`: fills fields of any kind.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ActionSpec, BrowserAction, PageAfterAct};
use crate::protocol::in_short;

/// Fills fields of any kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FillFormAction {
    /// [{target, value}]: dates as 2026-11-23, ticks as true or false.
    pub fields: Vec<FormField>,
    /// Submit the form afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub submit: Option<bool>,
    /// What its answer tells of the page.
    #[serde(flatten)]
    pub after: PageAfterAct,
}

/// A field of a form, and its new value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct FormField {
    /// Field: a ref, CSS selector or label=.
    pub target: String,
    /// Field in human words; only for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-silent" = true))]
    pub element: Option<String>,
    /// Field in human words; only for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-silent" = true))]
    pub name: Option<String>,
    /// Kind of field, such as textbox or checkbox: the page knows it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-silent" = true))]
    pub kind: Option<String>,
    /// New value: a text, a number, true or false.
    pub value: Value,
}

impl BrowserAction for FillFormAction {
    const SPEC: ActionSpec = ActionSpec {
        id_kind: "form",
        example: r#"{"fields": [{"target": "label=Name", "value": "Ann"}, {"target": "b7", "value": true}], "submit": true}"#,
        ..ActionSpec::acting("fill_form", "Fill a form")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.fields.first().map(|field| in_short(&field.target))
    }

    fn page_after(&self) -> PageAfterAct {
        self.after
    }
}
