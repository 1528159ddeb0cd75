//! `record`: what an agent, or the person, does in a tab, as steps to run again.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, ActionTool, BrowserAction, RecordingPhase, ToolGroup};

/// Records your or the user's acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordAction {
    /// Start or stop.
    #[schemars(extend("x-rare" = true))]
    pub phase: RecordingPhase,
    /// With stop: batch (default, for run), playwright or call (a shell script).
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub form: Option<RecordedForm>,
    /// With start: agent (default), or person, who is asked first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub by: Option<RecordedActor>,
}

/// Whose acts are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum RecordedActor {
    Agent,
    Person,
}

/// What recorded steps are told as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum RecordedForm {
    Batch,
    Playwright,
    Call,
}

impl BrowserAction for RecordAction {
    const SPEC: ActionSpec = ActionSpec {
        is_safe: false,
        tool: ActionTool::Interact,
        group: ToolGroup::Page,
        usual_length: Duration::from_millis(50),
        effect: ActionEffect::ADDING,
        example: r#"{"phase": "start"}"#,
        ..ActionSpec::reading("record", "Record steps")
    };

    /// The steps have texts that were entered into pages, and names of their elements.
    fn is_analysis(&self) -> bool {
        true
    }
}
