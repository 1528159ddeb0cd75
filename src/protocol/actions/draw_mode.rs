//! `draw_mode`: opens the drawing tools. The daemon asks for it when an agent waits for drawings.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, ActionTool, BrowserAction};
use crate::protocol::{CorrelationId, DrawingPrompt, SessionName};

/// Opens the drawing tools in the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrawModeAction {
    /// The wait that is to be answered.
    pub correlation_id: CorrelationId,
    /// The session that the drawing belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
    /// Whether elements are described with their computed styles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub styles: Option<bool>,
    /// The words in which the person is asked to draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<DrawingPrompt>,
}

impl BrowserAction for DrawModeAction {
    const SPEC: ActionSpec = ActionSpec {
        tool: ActionTool::Daemon,
        id_kind: "draw",
        // Tools that are open already are found open.
        is_safe: true,
        effect: ActionEffect::HARMLESS,
        usual_length: Duration::from_millis(50),
        example: r#"{
            "correlation_id": "ann_1795298985123_0123456789abcdef0123456789abcdef",
            "session": "checkout", "styles": true, "prompt": "Circle the button that you mean"
        }"#,
        ..ActionSpec::acting("draw_mode", "Open the drawing tools")
    };
}
