//! The result of a tool call: the same JSON as data and as text, and pictures as pictures.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::batch::note_failed_step;
use super::brief::{BriefReport, DetailLevel, cut_result};
use super::failure::{CallFailure, NotFound, RefusedCall};
use super::job_view::JobView;
use super::parts::{AnswerPart, AnswerRange, PartPlace, RequestedPart};
use super::picture::{InlinePicture, newest_drawing, take_pictures};
use crate::home::AgentFiles;
use crate::hub::{CallRefusal, CommandLookup, RefusalReason};
use crate::lifecycle::Tombstone;
use crate::protocol::{
    CommandReport, CommandStatus, CommandStory, CorrelationId, Timestamp, TraceContext, WorkKind,
};

/// The result of a tool call.
#[derive(Debug)]
pub struct ToolResult {
    /// The answer as JSON.
    pub body: Box<RawValue>,
    /// Whether the call failed.
    pub is_error: bool,
    /// Pictures that go with it.
    pub pictures: Vec<InlinePicture>,
    /// The command whose outcome this hands over: read, once it is on the caller's
    /// socket.
    pub hands_over: Option<CorrelationId>,
    /// Whether it was rejected because its browser is missing.
    pub lacks_browser: bool,
    /// Whether it is that of a batch that one of its steps ended: `result` names that step.
    pub has_failed_step: bool,
    /// The place, in a trace of the client, of the call whose command this tells of.
    pub trace_context: Option<Box<TraceContext>>,
    /// The command that it tells of.
    pub about: Option<CorrelationId>,
    /// The phases of that command, for clients that show them.
    pub timeline: Option<Box<CommandStory>>,
}

/// The words that an answer's `status` can be, each a type, so that its schema names it.
pub(super) mod status {
    macro_rules! words {
        ($($word:ident)*) => {$(
            #[derive(Clone, Copy, serde::Serialize, schemars::JsonSchema)]
            #[serde(rename_all = "snake_case")]
            #[schemars(inline)]
            pub(in crate::tools) enum $word { $word }
        )*};
    }

    words! { Deleted Expired None NotFound Ok Queued Refused Stored WaitingForUser }
}

/// Values of `status` in answers about a command that is not over.
pub const PENDING_STATUSES: [&str; 4] = ["queued", "pending", "running", "waiting_for_user"];

/// Values of `status` in answers about a command or call that failed.
pub const FAILED_STATUSES: [&str; 6] =
    ["error", "timeout", "expired", "cancelled", "refused", "not_found"];

/// The answer about a command.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum CommandAnswer {
    /// Its result was cut: `result` is a part of the value.
    Cut {
        #[serde(flatten)]
        place: PartPlace,
        #[serde(flatten)]
        report: CommandReport,
        /// The type of the value, if its JSON does not show it.
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
    },
    /// A job that is over.
    Job {
        #[serde(flatten)]
        report: CommandReport,
        #[serde(flatten)]
        job: JobView,
    },
    /// A wait that a drawing has ended.
    Drawn {
        #[serde(flatten)]
        report: CommandReport,
        /// The drawing, as the extension sent it.
        annotations: Vec<Map<String, Value>>,
    },
    /// Any other.
    Whole(Box<CommandReport>),
    /// One whose record is gone.
    Gone {
        status: status::Expired,
        error: &'static str,
        expired_at: Timestamp,
        reason: &'static str,
        hint: &'static str,
        /// Whether it may have begun in the page.
        may_have_run: bool,
    },
}

impl ToolResult {
    /// A call that worked.
    pub(super) fn of<T: Serialize + JsonSchema>(body: &T) -> Self {
        let body = to_raw_value(body).unwrap_or_default();
        Self {
            body,
            is_error: false,
            pictures: Vec::new(),
            hands_over: None,
            lacks_browser: false,
            has_failed_step: false,
            trace_context: None,
            about: None,
            timeline: None,
        }
    }

    /// A call that failed.
    pub(crate) fn failed<T: Serialize + JsonSchema>(body: &T) -> Self {
        Self { is_error: true, ..Self::of(body) }
    }

    /// The same, or a part of it if it is longer than MCP clients pass on. `read_on` is the call
    /// that reads on, without the offset and the closing brackets.
    pub(super) fn in_parts(self, range: AnswerRange, read_on: &str) -> Self {
        match AnswerPart::of(&self.body, range, read_on) {
            // A failure names its next step at the end, so it is never cut.
            Some(part) if !self.is_error => {
                Self { body: to_raw_value(&part).unwrap_or_default(), ..self }
            }
            Some(_) | None => self,
        }
    }

    /// A rejected call.
    #[must_use]
    pub fn refused(refused: &CallRefusal) -> Self {
        let lacks_browser = matches!(refused.why, RefusalReason::BrowserGone { .. });
        Self { lacks_browser, ..Self::failed(&RefusedCall::of(refused)) }
    }

    /// The answer to a call that waited for a command and was cancelled. Its client does
    /// not look at it; the transport must get one all the same.
    pub(crate) fn cancelled_wait() -> Self {
        let message = "This call was cancelled; its command continues to run";
        let hint =
            "observe({what:\"command_result\", correlation_id}) waits for the command again.";
        CallFailure::new("call_cancelled", message, hint).into()
    }

    /// The answer to a call that submitted a command and waited for it: if the command
    /// failed, so did the call. Waits for drawings and jobs are always told in full.
    #[must_use]
    pub fn of_own_command(
        seen: CommandLookup,
        detail: DetailLevel,
        files: Option<&AgentFiles>,
    ) -> Self {
        let has_failed = match &seen {
            CommandLookup::Command(report) => matches!(
                report.status,
                CommandStatus::Error { .. }
                    | CommandStatus::Timeout { .. }
                    | CommandStatus::Expired { .. }
            ),
            CommandLookup::Evicted(_) | CommandLookup::NotFound => true,
        };
        let told = Self::of_command(seen, None, detail, files);
        Self { is_error: has_failed || told.has_failed_step, ..told }
    }

    /// The state of a command, or the refusal to read it.
    pub(super) fn of_seen(
        seen: Result<CommandLookup, CallRefusal>,
        part: Option<RequestedPart>,
        detail: DetailLevel,
        files: Option<&AgentFiles>,
    ) -> Self {
        match seen {
            Ok(seen) => Self::of_command(seen, part, detail, files),
            Err(refused) => Self::refused(&refused),
        }
    }

    /// The state of a command. Its picture goes to a file if the call asked for one.
    fn of_command(
        seen: CommandLookup,
        part: Option<RequestedPart>,
        detail: DetailLevel,
        files: Option<&AgentFiles>,
    ) -> Self {
        match seen {
            CommandLookup::Command(mut report) => {
                let has_failed_step = note_failed_step(&mut report);
                let trace_context = report.trace_context.take().map(Box::new);
                let about = Some(report.correlation_id.clone());
                let is_brief = detail == DetailLevel::Brief
                    && part.is_none()
                    && report.kind == WorkKind::Browser;
                let told = if is_brief {
                    Self::in_brief(*report, files)
                } else {
                    Self::of_report(*report, part, files)
                };
                Self { has_failed_step, trace_context, about, ..told }
            }
            CommandLookup::Evicted(gone) => Self::of(&CommandAnswer::of_gone(&gone)),
            CommandLookup::NotFound => Self::failed(&NotFound::command()),
        }
    }

    fn in_brief(mut report: CommandReport, files: Option<&AgentFiles>) -> Self {
        let over = (!report.is_pending()).then(|| report.correlation_id.clone());
        let pictures = take_pictures(&mut report, files);
        Self { pictures, hands_over: over, ..Self::of(&BriefReport::of(report)) }
    }

    fn of_report(
        mut report: CommandReport,
        part: Option<RequestedPart>,
        files: Option<&AgentFiles>,
    ) -> Self {
        let over = (!report.is_pending()).then(|| report.correlation_id.clone());
        let mut pictures = take_pictures(&mut report, files);
        pictures.extend(newest_drawing(&report));
        let job = (report.kind == WorkKind::Job).then(|| JobView::of(&report.status)).flatten();
        let told = match (cut_report(report, part), job) {
            (Ok(cut), _) => cut,
            (Err(whole), Some(job)) => CommandAnswer::Job { report: *whole, job },
            (Err(whole), None) => take_annotations(*whole).unwrap_or_else(CommandAnswer::Whole),
        };
        let result = Self::of(&told);
        Self { pictures, hands_over: over, ..result }
    }
}

impl CommandAnswer {
    fn of_gone(gone: &Tombstone) -> Self {
        Self::Gone {
            status: status::Expired::Expired,
            error: Tombstone::REASON.message(),
            expired_at: gone.at,
            reason: Tombstone::REASON.code(),
            hint: Tombstone::REASON.hint(),
            may_have_run: gone.may_have_run,
        }
    }
}

/// Takes the annotations out of the result of a wait for drawings: they stand beside it.
fn take_annotations(mut report: CommandReport) -> Result<CommandAnswer, Box<CommandReport>> {
    let kind = report.kind;
    let CommandStatus::Complete { result, .. } = &mut report.status else {
        return Err(report.into());
    };
    if kind != WorkKind::Annotations {
        return Err(report.into());
    }
    let Ok(mut rest) = serde_json::from_str::<Map<String, Value>>(result.get()) else {
        return Err(report.into());
    };
    let annotations = rest.shift_remove("annotations").unwrap_or_default();
    // An older extension may send another form; it is told as it is.
    let Ok(annotations) = serde_json::from_value(annotations) else { return Err(report.into()) };
    *result = to_raw_value(&rest).unwrap_or_default().into();
    Ok(CommandAnswer::Drawn { report, annotations })
}

/// Cuts a result that is too long, or out of which a part was asked for. `Err`: it
/// stays whole.
fn cut_report(
    mut report: CommandReport,
    part: Option<RequestedPart>,
) -> Result<CommandAnswer, Box<CommandReport>> {
    let id = &report.correlation_id;
    let CommandStatus::Complete { result, .. } = &mut report.status else {
        return Err(report.into());
    };
    let Some((value, place, kind)) = cut_result(id, report.command, result, part) else {
        return Err(report.into());
    };
    *result = value.into();
    Ok(CommandAnswer::Cut { place, report, kind })
}
