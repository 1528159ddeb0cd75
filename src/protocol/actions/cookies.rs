//! `cookies`: the names of the page's cookies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ToolGroup};

/// Names of cookies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CookiesAction {}

impl BrowserAction for CookiesAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::State,
        id_kind: "cook",
        ..ActionSpec::reading("cookies", "List cookies")
    };
}
