//! `configure` and the noise rules: patterns of entries that an owner does not want to read. They
//! outlive the daemon.

use schemars::JsonSchema;
use serde::Serialize;

use super::failure::{CallFailure, UnknownRule};
use super::result::status;
use super::{ToolResult, ToolSet};
use crate::home::{NoiseFileError, NoiseFiles};
use crate::hub::{Caller, Hub};
use crate::protocol::Owner;
use crate::streams::{NoiseRule, NoiseRuleError, NoiseRules};

/// The rules that there are.
#[derive(Serialize, JsonSchema)]
pub(super) struct NoiseAnswer {
    status: status::Ok,
    rules: Vec<NoiseRule>,
    /// The rule that was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// The change that a call asks for.
struct NoiseChange {
    add: Option<String>,
    remove: Option<String>,
}

/// Why nothing was changed.
enum NotChanged {
    Unknown { id: String, rules: NoiseRules },
    Pattern(NoiseRuleError),
    File(NoiseFileError),
}

impl From<NoiseFileError> for NotChanged {
    fn from(error: NoiseFileError) -> Self {
        Self::File(error)
    }
}

/// Adds a pattern, removes one, and lists those that there are.
pub(super) async fn noise_rule(
    tools: &ToolSet,
    caller: &Caller,
    pattern: Option<String>,
    remove: Option<String>,
) -> ToolResult {
    let (hub, files, owner) = (tools.hub.clone(), tools.noise.clone(), caller.owner.clone());
    let change = NoiseChange { add: pattern, remove };
    let done = tokio::task::spawn_blocking(move || apply(&hub, files.as_ref(), &owner, change));
    match done.await {
        Ok(Ok((rules, id))) => {
            let rules = rules.list().to_vec();
            ToolResult::of(&NoiseAnswer { status: status::Ok::Ok, rules, id })
        }
        Ok(Err(why)) => not_changed(why),
        Err(error) => {
            CallFailure::new("storage_unavailable", error.to_string(), "Call again.").into()
        }
    }
}

fn apply(
    hub: &Hub,
    files: Option<&NoiseFiles>,
    owner: &Owner,
    NoiseChange { add, remove }: NoiseChange,
) -> Result<(NoiseRules, Option<String>), NotChanged> {
    // Reading and saving are one step, or one of two calls would undo the other.
    let _turn = files.map(NoiseFiles::turn);
    let before = files.map_or_else(|| Ok(hub.noise(owner)), |files| files.load(owner))?;
    let mut rules = before.clone();
    if let Some(id) = remove
        && !rules.remove(&id)
    {
        return Err(NotChanged::Unknown { id, rules });
    }
    let id = add.map(|pattern| rules.add(&pattern)).transpose().map_err(NotChanged::Pattern)?;
    if rules != before
        && let Some(files) = files
    {
        files.save(owner, &rules)?;
    }
    // After the file: rules that hold but are not kept would vanish with the daemon.
    hub.set_noise(owner, rules.clone());
    Ok((rules, id))
}

fn not_changed(why: NotChanged) -> ToolResult {
    match why {
        NotChanged::Unknown { id, rules } => {
            let message = format!("There is no rule with the id {id}");
            let failure =
                CallFailure::new("not_found", message, "Use the id of one of the `rules`.");
            ToolResult::failed(&UnknownRule { failure, rules: rules.list().to_vec() })
        }
        NotChanged::Pattern(error) => {
            let hint = "Pass a part of the text or URL to hide, and remove rules that you no longer \
                        need.";
            CallFailure::of_param("pattern", error.to_string(), hint).into()
        }
        NotChanged::File(error @ NoiseFileError::Damaged { .. }) => {
            let hint = "Ask the user to correct or delete this file.";
            CallFailure::new("noise_rules_damaged", error.to_string(), hint).into()
        }
        NotChanged::File(error @ NoiseFileError::Io { .. }) => {
            tracing::warn!(%error, "noise rules cannot be read or written");
            let hint = "Ask the user to free disk space, or to make the state directory writable.";
            CallFailure::new("storage_unavailable", error.to_string(), hint).into()
        }
    }
}
