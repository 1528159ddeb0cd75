//! `network_rules`: rules for the requests of a tab's pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ToolGroup};

/// Blocks requests of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkRulesAction {
    /// All rules, [] ends them; each {url: part of it or a pattern with * and **, block: true}.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub rules: Option<Vec<NetworkRule>>,
}

/// A rule for requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct NetworkRule {
    /// A part of the address, or a pattern with * and **.
    pub url: String,
    /// The request is refused.
    pub block: bool,
}

impl BrowserAction for NetworkRulesAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::State,
        id_kind: "rules",
        effect: ActionEffect::HARMLESS,
        example: r#"{"rules": [{"url": "**/*.png", "block": true}]}"#,
        ..ActionSpec::acting("network_rules", "Block requests")
    };
}
