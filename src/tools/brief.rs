//! The short answer to a call that waited for its command.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::parts::{Part, PartPlace, cut};
use crate::protocol::{CommandReport, CorrelationId, PageMark, Progress, Status, StatusWord};

/// The types of a script's value that its JSON shows.
const PLAIN_TYPES: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

/// How much an answer tells of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The value, its page and the next step.
    Brief,
    /// Ids and times too.
    Full,
}

/// The outcome of a command, without the ids, times and the action: a call that says `trace: true`
/// is told those.
#[derive(Default, Serialize, JsonSchema)]
pub(super) struct BriefReport {
    /// How the command is; absent of a complete one.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusWord>,
    /// The command, if there is more to read of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<CorrelationId>,
    #[serde(flatten)]
    place: Option<PartPlace>,
    /// The value of a complete command, or a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Arc<RawValue>>,
    /// The type of the value, if its JSON does not show it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'static, str>>,
    /// A word for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'static, str>>,
    /// Where in the script.
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<Arc<str>>,
    /// Whether it may have begun in the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    may_have_run: Option<bool>,
    /// What the extension last said of a pending one.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<Progress>,
    /// What a pending one waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<Cow<'static, str>>,
    /// The page that decides the content of `result`, or of `error` and `stack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PageMark>,
}

impl BriefReport {
    /// The short answer about a command.
    pub(super) fn of(report: CommandReport) -> Self {
        let id = report.correlation_id;
        let shared = |text: Arc<str>| Cow::Owned(text.to_string());
        match report.status {
            Status::Complete { result, page, .. } => Self::complete(id, result, page),
            Status::Pending { progress, message, page, .. } => {
                let next = format!("{}, wait_ms:10000}}) waits for it.", read_result(&id));
                Self {
                    status: Some(StatusWord::Pending),
                    correlation_id: Some(id),
                    progress,
                    message: Some(message),
                    hint: Some(next.into()),
                    page,
                    ..Self::default()
                }
            }
            Status::Error { error, reason, stack, hint, may_have_run, page, .. } => Self {
                status: Some(StatusWord::Error),
                error: Some(shared(error)),
                reason: Some(shared(reason)),
                stack,
                may_have_run,
                hint: hint.map(shared),
                page,
                ..Self::default()
            },
            Status::Timeout { error, may_have_run, page, .. } => Self {
                status: Some(StatusWord::Timeout),
                error: Some(shared(error)),
                may_have_run: Some(may_have_run),
                page,
                ..Self::default()
            },
            Status::Expired { error, reason, hint, may_have_run, .. } => Self {
                status: Some(StatusWord::Expired),
                error: Some(error),
                reason: Some(reason.into()),
                hint: Some(hint.into()),
                may_have_run: Some(may_have_run),
                ..Self::default()
            },
            Status::Cancelled { may_have_run, reason, hint, .. } => Self {
                status: Some(StatusWord::Cancelled),
                reason: reason.map(Into::into),
                hint: hint.map(Into::into),
                may_have_run: Some(may_have_run),
                ..Self::default()
            },
        }
    }

    fn complete(id: CorrelationId, result: Arc<RawValue>, page: Option<PageMark>) -> Self {
        let (value, kind) = match cut_result(&id, &result, None) {
            Some((part, place, kind)) => {
                return Self {
                    correlation_id: Some(id),
                    place: Some(place),
                    result: Some(part.into()),
                    kind,
                    page,
                    ..Self::default()
                };
            }
            None => match Wrapped::of(&result) {
                Some(Wrapped { value, kind, .. }) => (value.to_owned().into(), kind),
                None => (result, None),
            },
        };
        Self { result: Some(value), kind: untold(kind), page, ..Self::default() }
    }
}

/// An extension's result that has nothing but a value.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapped<'a> {
    #[serde(rename = "success")]
    _success: bool,
    #[serde(borrow)]
    value: &'a RawValue,
    #[serde(rename = "type", default)]
    kind: Option<String>,
}

impl<'a> Wrapped<'a> {
    fn of(result: &'a RawValue) -> Option<Self> {
        serde_json::from_str(result.get()).ok()
    }
}

/// A type, if the JSON of its values does not show it.
fn untold(kind: Option<String>) -> Option<String> {
    kind.filter(|kind| !PLAIN_TYPES.contains(&kind.as_str()))
}

/// The call that reads a result, but for what closes it.
fn read_result(id: &CorrelationId) -> String {
    format!("observe({{what:\"command_result\", correlation_id:\"{id}\"")
}

/// The part of a result that is to be answered, with its place and type: of the value alone, if
/// the extension's result has nothing else. `None`: all of it, as it is.
pub(super) fn cut_result(
    id: &CorrelationId,
    result: &RawValue,
    part: Option<Part>,
) -> Option<(Box<RawValue>, PartPlace, Option<String>)> {
    let (value, kind) = match Wrapped::of(result) {
        Some(Wrapped { value, kind, .. }) => (value, untold(kind)),
        None => (result, None),
    };
    cut(value, part, &read_result(id)).map(|(part, place)| (part, place, kind))
}
