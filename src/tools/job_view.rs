//! How a job's end is shown: `success`, `data` and `messages`, as its seed (002) has them.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::jobs::monitor::SyncSummary;
use crate::protocol::CommandStatus;

/// A job's end.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobView {
    pub(super) success: bool,
    /// The job's summary; empty if the job failed.
    #[schemars(schema_with = "data")]
    pub(super) data: Value,
    pub(super) messages: Vec<JobMessage>,
}

/// One thing to tell the person.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct JobMessage {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) details: Option<String>,
}

impl JobView {
    /// The end of a job whose status this is; none if it is not over.
    #[must_use]
    pub fn of(status: &CommandStatus) -> Option<Self> {
        match status {
            CommandStatus::Pending { .. } | CommandStatus::WaitingForUser { .. } => None,
            CommandStatus::Complete { result, .. } => Some(Self::complete(result)),
            CommandStatus::Error { error, stack, .. } => Some(Self::failed(error, stack.clone())),
            CommandStatus::Timeout { error, .. } => Some(Self::failed(error, None)),
            CommandStatus::Expired { error, hint, .. } => {
                Some(Self::failed(error, Some(hint.as_ref().into())))
            }
            CommandStatus::Cancelled { .. } => Some(Self::failed("The job was cancelled", None)),
        }
    }

    fn complete(result: &RawValue) -> Self {
        // A result in another form is shown as it is rather than lost.
        serde_json::from_str(result.get()).unwrap_or_else(|_| Self {
            success: true,
            data: serde_json::from_str(result.get()).unwrap_or_default(),
            messages: Vec::new(),
        })
    }

    pub(super) fn failed(text: &str, details: Option<Arc<str>>) -> Self {
        let details = details.map(|details| details.to_string());
        let message = JobMessage { kind: "error".to_owned(), text: text.to_owned(), details };
        Self { success: false, data: serde_json::json!({}), messages: vec![message] }
    }
}

fn data(generator: &mut SchemaGenerator) -> Schema {
    let nothing = json_schema!({"type": "object", "maxProperties": 0});
    json_schema!({"anyOf": [generator.subschema_for::<SyncSummary>(), nothing]})
}
