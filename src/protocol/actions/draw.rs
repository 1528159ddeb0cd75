//! `draw`: draws a path.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, ToolGroup};
use crate::protocol::in_short;

/// Draws with the pointer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrawAction {
    /// Element to draw on; default the view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Points [[x, y], …] in CSS px.
    #[schemars(extend("x-rare" = true))]
    pub points: Vec<PathPoint>,
    /// Picture whose pixels the points are in: `in` of its answer.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-silent" = true))]
    pub picture: Option<String>,
}

/// A point of a path: its distances from the left and from the top, in CSS px.
pub type PathPoint = [f64; 2];

impl BrowserAction for DrawAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::Input,
        id_kind: "path",
        example: r#"{"target": "canvas", "points": [[10, 10], [40.5, 20]]}"#,
        ..ActionSpec::acting("draw", "Draw a path")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.target.as_deref().map(in_short)
    }
}
