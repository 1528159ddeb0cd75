//! `storage`: values that the page keeps in the browser.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ToolGroup};

/// Stored values: area, operation, name, value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StorageAction {
    /// Where they are; the user is asked first.
    #[schemars(extend("x-split" = true))]
    pub area: StorageArea,
    /// What to do with them.
    #[schemars(extend("x-split" = true))]
    pub operation: StorageOperation,
    /// Name of one value; get without it: all. In indexed_db database/store.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub name: Option<String>,
    /// Value to set; never recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub value: Option<String>,
}

/// A place in which pages keep values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum StorageArea {
    Cookies,
    Local,
    Session,
    IndexedDb,
}

/// What is done with stored values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum StorageOperation {
    Get,
    Set,
    Delete,
}

impl BrowserAction for StorageAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::State,
        id_kind: "stor",
        effect: ActionEffect::Acts { destructive: true, idempotent: true },
        unrecorded: &["value"],
        example: r#"{"area": "local", "operation": "get", "name": "theme"}"#,
        ..ActionSpec::acting("storage", "Stored values")
    };
}
