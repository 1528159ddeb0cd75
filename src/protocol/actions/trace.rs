//! `trace`: the costs of a page load or of an act.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ToolGroup};
use crate::protocol::SavedFormat;

/// Performance trace: start, load a page or act, stop: tells the largest costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceAction {
    /// Start or stop the trace of this tab.
    #[schemars(extend("x-rare" = true))]
    pub phase: RecordingPhase,
    /// With stop: new .json.gz file for DevTools, in a folder open to agents; a bare name: in the
    /// usual folder.
    #[serde(skip_serializing)]
    #[schemars(extend("x-rare" = true))]
    pub path: Option<String>,
}

/// An end of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum RecordingPhase {
    Start,
    Stop,
}

impl BrowserAction for TraceAction {
    const SPEC: ActionSpec = ActionSpec {
        is_safe: false,
        group: ToolGroup::Page,
        usual_length: Duration::from_millis(500),
        effect: ActionEffect::ADDING,
        example: r#"{"phase": "start"}"#,
        ..ActionSpec::reading("trace", "Trace performance")
    };

    /// The extension takes the secrets out before it makes the file and the summary: the daemon's
    /// search for keys would damage the file's base64.
    fn is_analysis(&self) -> bool {
        false
    }

    fn file_name(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn saved_file(&self) -> Option<(&str, SavedFormat)> {
        let name = self.file_name().filter(|_| self.phase == RecordingPhase::Stop)?;
        Some((name, SavedFormat::Trace))
    }
}
