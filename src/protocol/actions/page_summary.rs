//! `page_summary`: the parts of a page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ToolGroup};

/// Headings, forms, buttons, links, text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageSummaryAction {}

impl BrowserAction for PageSummaryAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Page,
        id_kind: "page",
        ..ActionSpec::reading("page_summary", "Summarize the page")
    };
}
