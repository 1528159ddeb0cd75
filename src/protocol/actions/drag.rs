//! `drag`: drags from one place to another.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionSpec, BrowserAction, PageAfterAct};
use crate::protocol::in_short;

/// Drags and drops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DragAction {
    /// Element to drag: a ref or selector.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "startTarget")]
    #[schemars(extend("x-rare" = true))]
    pub start_target: Option<String>,
    /// Dragged element in human words; only for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "startElement")]
    #[schemars(extend("x-silent" = true))]
    pub start_element: Option<String>,
    /// Start of the drag: px from the left.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "startX")]
    #[schemars(extend("x-rare" = true))]
    pub start_x: Option<f64>,
    /// Start of the drag: px from the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "startY")]
    #[schemars(extend("x-rare" = true))]
    pub start_y: Option<f64>,
    /// Element to drop onto: a ref or selector.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "endTarget")]
    #[schemars(extend("x-rare" = true))]
    pub end_target: Option<String>,
    /// Element to drop onto in human words; only for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "endElement")]
    #[schemars(extend("x-silent" = true))]
    pub end_element: Option<String>,
    /// End of the drag: px from the left.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "endX")]
    #[schemars(extend("x-rare" = true))]
    pub end_x: Option<f64>,
    /// End of the drag: px from the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "endY")]
    #[schemars(extend("x-rare" = true))]
    pub end_y: Option<f64>,
    /// Picture whose pixels the points are in: `in` of its answer.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-silent" = true))]
    pub picture: Option<String>,
    /// Pointer moves on the way; default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 200))]
    #[schemars(extend("x-rare" = true))]
    pub moves: Option<u32>,
    /// What its answer tells of the page.
    #[serde(flatten)]
    pub after: PageAfterAct,
}

impl BrowserAction for DragAction {
    const SPEC: ActionSpec = ActionSpec {
        example: r#"{"startTarget": "b3", "endX": 300, "endY": 200.5}"#,
        ..ActionSpec::acting("drag", "Drag and drop")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.start_target.as_deref().map(in_short)
    }

    fn page_after(&self) -> PageAfterAct {
        self.after
    }
}
