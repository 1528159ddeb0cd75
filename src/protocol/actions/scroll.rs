//! `scroll`: scrolls the page or an element.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction};
use crate::protocol::in_short;

/// Scrolls the page or an element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScrollAction {
    /// Element to show, or with a distance to scroll.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Scroll by one view this way.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub direction: Option<ScrollDirection>,
    /// Distance to the right in CSS px.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub dx: Option<f64>,
    /// Distance down in CSS px.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub dy: Option<f64>,
    /// End to scroll to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub to: Option<ScrollEnd>,
    /// Scroll down until this text appears.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub until_text: Option<String>,
}

/// A way to scroll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum ScrollDirection {
    Up,
    Down,
    Left,
    Right,
}

/// An end of what can be scrolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum ScrollEnd {
    Top,
    Bottom,
}

impl BrowserAction for ScrollAction {
    const SPEC: ActionSpec = ActionSpec {
        effect: ActionEffect::ADDING,
        example: r#"{"target": "main", "dy": 600}"#,
        ..ActionSpec::acting("scroll", "Scroll")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }
}
