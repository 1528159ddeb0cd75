//! `page_tools`: tools that a page offers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ToolGroup};

/// The page's tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PageToolsAction {}

impl BrowserAction for PageToolsAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        id_kind: "tools",
        ..ActionSpec::reading("page_tools", "List page tools")
    };
}
