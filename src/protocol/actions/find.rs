//! `find`: elements by what a person sees.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction};
use crate::protocol::in_short;

/// Finds elements; gives refs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindAction {
    /// Visible text, in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// ARIA role, such as button.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub role: Option<String>,
    /// Accessible name, in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub name: Option<String>,
    /// Label of a field, in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub label: Option<String>,
    /// Placeholder of a field, in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub placeholder: Option<String>,
    /// Value of data-testid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub testid: Option<String>,
    /// Compare whole texts and case.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub exact: Option<bool>,
    /// Most elements; default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<u32>,
}

impl BrowserAction for FindAction {
    const SPEC: ActionSpec = ActionSpec {
        example: r#"{"role": "button", "name": "Save"}"#,
        ..ActionSpec::reading("find", "Find elements")
    };

    fn target(&self) -> Option<Arc<str>> {
        let told =
            [&self.name, &self.text, &self.label, &self.placeholder, &self.testid, &self.role];
        told.into_iter().flatten().next().map(|told| in_short(told))
    }
}
