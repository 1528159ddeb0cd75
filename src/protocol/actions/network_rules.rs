//! `network_rules`: rules for the requests of a tab's pages.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ToolGroup};

/// Blocks or changes requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkRulesAction {
    /// All rules, [] ends them; each {url: part of it or a pattern with * and **} and block: true,
    /// answer: {body, type, status} or headers: {name: value} for requests to the page's own site.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<bool>,
    /// The page gets this in place of the server's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<RuleAnswer>,
    /// Headers of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
}

/// The answer of a rule to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct RuleAnswer {
    /// Its text.
    pub body: String,
    /// Its media type; default application/json.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its status; default 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
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
