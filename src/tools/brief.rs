//! The short answer to a call that waited for its command.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::page_line::page_line;
use super::parts::{LONGEST_PART, PartPlace, RequestedPart, USUAL_PART, cut};
use crate::protocol::actions::RegisteredAction;
use crate::protocol::{
    CommandProgress, CommandReport, CommandStatus, CorrelationId, PageMark, StatusWord,
};

/// The types of a script's value that its JSON shows.
const PLAIN_TYPES: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

/// How much an answer tells of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetailLevel {
    /// The value, its page and the next step.
    Brief,
    /// Ids and times too.
    Full,
}

/// The outcome of a command, without the ids, times and the action: a call that says `trace: true`
/// is told those.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum BriefReport {
    Complete(BriefResult),
    Pending(BriefPending),
    Failed(BriefFailure),
    Cancelled(BriefCancellation),
}

/// The result of a command that is complete: it has no `status`.
#[derive(Serialize, JsonSchema)]
pub(super) struct BriefResult {
    /// The command, if there is more to read of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<CorrelationId>,
    #[serde(flatten)]
    place: Option<PartPlace>,
    /// The value, or a part of it.
    result: Arc<RawValue>,
    /// The type of the value, if its JSON does not show it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// The page that decides the content of `result`.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PageMark>,
}

/// A command that is not over.
#[derive(Serialize, JsonSchema)]
pub(super) struct BriefPending {
    status: StatusWord,
    correlation_id: CorrelationId,
    /// `dialog`: it goes on once the dialog in `progress` is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by: Option<&'static str>,
    /// The last progress report of the extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<CommandProgress>,
    /// The reason that it waits.
    message: String,
    /// The next step.
    hint: Cow<'static, str>,
    /// The page that decides the content of `progress`.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PageMark>,
}

/// A command that ended without a result.
#[derive(Serialize, JsonSchema)]
pub(super) struct BriefFailure {
    status: StatusWord,
    /// The error.
    error: Cow<'static, str>,
    /// A code for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'static, str>>,
    /// Where in the script.
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<Arc<str>>,
    /// Whether it may have begun in the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    may_have_run: Option<bool>,
    /// The next step.
    hint: Cow<'static, str>,
    /// The page that decides the content of `error` and `stack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PageMark>,
}

/// A command that was cancelled.
#[derive(Serialize, JsonSchema)]
pub(super) struct BriefCancellation {
    status: StatusWord,
    /// A code for programs, if another than the owner cancelled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Whether it may have begun in the page.
    may_have_run: bool,
    /// The next step, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

impl BriefReport {
    /// The short answer about a command.
    pub(super) fn of(report: CommandReport) -> Self {
        let id = report.correlation_id;
        match report.status {
            CommandStatus::Complete { result, page, .. } => {
                Self::Complete(BriefResult::of(id, report.command, result, page))
            }
            CommandStatus::Pending { blocked_by, progress, message, hint, page, .. } => {
                Self::Pending(BriefPending {
                    status: StatusWord::Pending,
                    correlation_id: id,
                    blocked_by,
                    progress,
                    message,
                    hint,
                    page,
                })
            }
            CommandStatus::WaitingForUser { message, hint, .. } => Self::Pending(BriefPending {
                status: StatusWord::WaitingForUser,
                correlation_id: id,
                blocked_by: None,
                progress: None,
                message,
                hint: hint.into(),
                page: None,
            }),
            CommandStatus::Error { error, reason, stack, hint, may_have_run, page, .. } => {
                Self::Failed(BriefFailure {
                    status: StatusWord::Error,
                    error: error.to_string().into(),
                    reason: Some(reason.to_string().into()),
                    stack,
                    may_have_run,
                    hint: hint.to_string().into(),
                    page,
                })
            }
            CommandStatus::Timeout { error, hint, may_have_run, page, .. } => {
                Self::Failed(BriefFailure {
                    status: StatusWord::Timeout,
                    error: error.to_string().into(),
                    reason: None,
                    stack: None,
                    may_have_run: Some(may_have_run),
                    hint: hint.to_string().into(),
                    page,
                })
            }
            CommandStatus::Expired { error, reason, hint, may_have_run, .. } => {
                Self::Failed(BriefFailure {
                    status: StatusWord::Expired,
                    error,
                    reason: Some(reason.into()),
                    stack: None,
                    may_have_run: Some(may_have_run),
                    hint,
                    page: None,
                })
            }
            CommandStatus::Cancelled { may_have_run, reason, hint, .. } => {
                let status = StatusWord::Cancelled;
                Self::Cancelled(BriefCancellation { status, reason, may_have_run, hint })
            }
        }
    }
}

impl BriefResult {
    fn of(id: CorrelationId, command: &str, result: Arc<RawValue>, page: Option<PageMark>) -> Self {
        // Only a cut answer has more to read, so only that names the command.
        if let Some((part, place, kind)) = cut_result(&id, command, &result, None) {
            let (correlation_id, place, result) = (Some(id), Some(place), part.into());
            return Self { correlation_id, place, result, kind, page };
        }
        // `success` and the wrapper say nothing that the missing `status` does not.
        let (result, kind) = match WrappedValue::of(&result) {
            Some(WrappedValue { value, kind, .. }) => {
                let origin = page.as_ref().and_then(PageMark::origin);
                let line = page_line(command, value, origin);
                (line.unwrap_or_else(|| value.to_owned()).into(), kind)
            }
            None => (result, None),
        };
        Self { correlation_id: None, place: None, result, kind: hidden_type(kind), page }
    }
}

/// An extension's result that has nothing but a value.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrappedValue<'a> {
    #[serde(rename = "success")]
    _success: bool,
    #[serde(borrow)]
    value: &'a RawValue,
    #[serde(rename = "type", default)]
    kind: Option<String>,
}

impl<'a> WrappedValue<'a> {
    fn of(result: &'a RawValue) -> Option<Self> {
        serde_json::from_str(result.get()).ok()
    }
}

/// A type, if the JSON of its values does not show it.
fn hidden_type(kind: Option<String>) -> Option<String> {
    kind.filter(|kind| !PLAIN_TYPES.contains(&kind.as_str()))
}

/// The call that reads a result, without its closing brackets.
fn read_result(id: &CorrelationId) -> String {
    format!("observe({{what:\"command_result\", correlation_id:\"{id}\"")
}

/// The part of a result that is to be answered, with its place and type: of the value alone, if
/// the extension's result has nothing else. `None`: all of it, as it is.
pub(super) fn cut_result(
    id: &CorrelationId,
    command: &str,
    result: &RawValue,
    part: Option<RequestedPart>,
) -> Option<(Box<RawValue>, PartPlace, Option<String>)> {
    let (value, kind) = match WrappedValue::of(result) {
        Some(WrappedValue { value, kind, .. }) => (value, hidden_type(kind)),
        None => (result, None),
    };
    // A result that the extension has cut for the caller is not cut again.
    let is_cut = RegisteredAction::named(command).is_some_and(|known| known.spec.cuts_result);
    let whole = if is_cut { LONGEST_PART } else { USUAL_PART };
    cut(value, part, whole, &read_result(id)).map(|(part, place)| (part, place, kind))
}
