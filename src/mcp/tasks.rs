//! Commands as tasks of the extension [`EXTENSION`], for clients that declare it: views of
//! the one lifecycle. No status is kept here; the id of a task is its command's.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::answer::{COMPLETE, CallResult, RpcAnswer, RpcResponse};
use super::command_view::declares_views;
use super::generation::{META_CAPABILITIES, ProtocolGeneration};
use super::message::{RequestId, RpcError, RpcErrorKind, RpcRequest};
use super::methods::SubmittedCall;
use crate::home::AgentFiles;
use crate::hub::{CallRefusal, Caller, CommandLifetime, CommandLookup, Hub};
use crate::lifecycle::limits;
use crate::protocol::{
    CommandReport, CommandStatus, CommandStory, CorrelationId, ReportedError, Timestamp,
    TraceContext,
};
use crate::tools::{DetailLevel, ToolResult};

/// The extension's name.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// How a task stands now.
const GET: &str = "tasks/get";

/// Passes input to a task.
const UPDATE: &str = "tasks/update";

/// Cancels a task.
const CANCEL: &str = "tasks/cancel";

/// How long a command may take so that its call is answered with its result.
const AT_ONCE: Duration = Duration::from_millis(5);

/// How often a client that is not told of changes is to ask, in ms.
const POLL_INTERVAL_MS: u64 = 1_000;

/// A command as a task.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskView {
    task_id: CorrelationId,
    status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<String>,
    created_at: Timestamp,
    last_updated_at: Timestamp,
    /// From its creation.
    ttl_ms: u64,
    poll_interval_ms: u64,
    /// The tool's result, if the task is completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    /// The JSON-RPC error, if the task failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    /// The place of its call in a trace of the client, which stands in `_meta`.
    #[serde(skip)]
    pub(super) trace_context: Option<TraceContext>,
}

/// How a task stands. Never `input_required`, for none asks its client for anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum TaskStatus {
    Working,
    Completed,
    Cancelled,
    /// A JSON-RPC error. A tool that fails has a result.
    Failed,
}

/// Whether this is a method of the extension that is about one task.
pub(super) fn is_method(method: &str) -> bool {
    matches!(method, GET | UPDATE | CANCEL)
}

/// Whether the client of a request of the modern generation declares the extension.
pub(super) fn are_declared(request: &RpcRequest) -> bool {
    let capabilities = request.params.get("_meta").and_then(|meta| meta.get(META_CAPABILITIES));
    let extensions = capabilities.and_then(|all| all.get("extensions"));
    extensions.and_then(|all| all.get(EXTENSION)).is_some_and(Value::is_object)
}

/// Checks that the client of a request declares the extension.
///
/// # Errors
///
/// [`RpcErrorKind::Capability`].
pub(super) fn check_declared(request: &RpcRequest) -> Result<(), RpcError> {
    if are_declared(request) { Ok(()) } else { Err(tasks_undeclared()) }
}

/// The answer to a request that only a client can make that declares the extension.
#[must_use]
pub fn tasks_undeclared() -> RpcError {
    let message = format!("params._meta must declare the client capability {EXTENSION}");
    let data = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
    RpcError { kind: RpcErrorKind::Capability, message, data: Some(data.into()) }
}

/// Checks a request about a task, without the task.
///
/// # Errors
///
/// [`RpcErrorKind::Capability`] and [`RpcErrorKind::Params`].
pub(super) fn check(request: &RpcRequest) -> Result<(), RpcError> {
    check_declared(request)?;
    task_id(request).map(drop)
}

fn task_id(request: &RpcRequest) -> Result<CorrelationId, RpcError> {
    let id = request.params.get("taskId").and_then(Value::as_str);
    id.map(Into::into)
        .ok_or_else(|| RpcError::new(RpcErrorKind::Params, "params.taskId must be a string"))
}

/// Answers a request about a task.
pub(super) async fn handle(hub: &Hub, caller: &Caller, request: &RpcRequest) -> RpcAnswer {
    let answered = match request.method.as_str() {
        GET => get(hub, caller, request).await,
        UPDATE => update(hub, caller, request).await,
        _ => cancel(hub, caller, request).await,
    };
    match answered {
        Ok(done) => done.into(),
        Err(error) => RpcAnswer::error(error, &request.id),
    }
}

async fn get(hub: &Hub, caller: &Caller, request: &RpcRequest) -> Result<RpcResponse, RpcError> {
    let task = TaskView::find(hub, caller, request).await?;
    let context = task.trace_context.as_ref();
    let done = RpcResponse::modern_in_trace(&request.id, COMPLETE, &task, context);
    // Only an outcome counts as read.
    let is_over = task.status != TaskStatus::Working;
    Ok(RpcResponse { hands_over: is_over.then_some(task.task_id), ..done })
}

/// No task takes input, so every input is a client's mistake.
async fn update(hub: &Hub, caller: &Caller, request: &RpcRequest) -> Result<RpcResponse, RpcError> {
    TaskView::find(hub, caller, request).await?;
    Err(RpcError::new(RpcErrorKind::Params, "This task takes no input"))
}

/// One that is over stays as it is, and that is no error.
async fn cancel(hub: &Hub, caller: &Caller, request: &RpcRequest) -> Result<RpcResponse, RpcError> {
    hub.admit(caller).await.map_err(|why| refused(&why))?;
    match hub.cancel(caller, &task_id(request)?).await {
        Ok(CommandLookup::Command(_)) => Ok(RpcResponse::modern(&request.id, COMPLETE, &json!({}))),
        Ok(CommandLookup::Evicted(_) | CommandLookup::NotFound) => Err(not_found()),
        Err(why) => Err(refused(&why)),
    }
}

/// The answer to a call that has submitted a command and does not wait for it, `queued` to
/// anybody else: the command's result if that is there at once, else a task.
pub(super) async fn answer_call(
    call: &SubmittedCall,
    command: &CorrelationId,
    queued: ToolResult,
    id: &RequestId,
) -> RpcResponse {
    let (hub, caller) = (&call.hub, &call.caller);
    // Evicted in the meantime: the plain answer still names the command.
    let Some(following) = hub.follow(caller, command) else {
        return RpcResponse::of(queued, id, ProtocolGeneration::Modern);
    };
    let term = following.lifetime();
    // The report below shows whether the command has ended.
    let _ = tokio::time::timeout(AT_ONCE, following.finished()).await;
    match hub.get(caller, command, false).await {
        Ok(CommandLookup::Command(report)) if report.is_pending() => {
            let task = TaskView {
                status_message: message(&queued),
                ..TaskView::of(*report, term, hub.agent_files(), None)
            };
            RpcResponse::modern_in_trace(id, "task", &task, task.trace_context.as_ref())
        }
        Ok(CommandLookup::Command(report)) => match internal_error(&report.status) {
            Some(error) => RpcResponse {
                hands_over: Some(report.correlation_id),
                ..RpcResponse::error(error, id)
            },
            None => {
                let result = ToolResult::of_own_command(
                    CommandLookup::Command(report),
                    DetailLevel::Brief,
                    hub.agent_files(),
                );
                RpcResponse::of(call.with_timeline(result), id, ProtocolGeneration::Modern)
            }
        },
        Ok(CommandLookup::Evicted(_) | CommandLookup::NotFound) | Err(_) => {
            RpcResponse::of(queued, id, ProtocolGeneration::Modern)
        }
    }
}

/// The sentence in a tool's result.
fn message(result: &ToolResult) -> Option<String> {
    let body: Value = serde_json::from_str(result.body.get()).ok()?;
    let message = body["message"].as_str().or(body["messages"][0]["text"].as_str());
    message.map(str::to_owned)
}

impl TaskView {
    /// A command as a task. `timeline` is for a client that shows it, with the result.
    pub(super) fn of(
        report: CommandReport,
        term: CommandLifetime,
        files: Option<&AgentFiles>,
        timeline: Option<Box<CommandStory>>,
    ) -> Self {
        let ended_at = report.status.ended_at();
        // A running task may last to its deadline, and its record is kept for `RETAIN` from its
        // end.
        let length = ended_at.unwrap_or(term.total_by).since(term.created_at) + limits::RETAIN;
        let (status, status_message, last_updated_at) = status_of(&report, term);
        Self {
            task_id: report.correlation_id.clone(),
            status,
            status_message,
            created_at: term.created_at,
            last_updated_at,
            ttl_ms: u64::try_from(length.as_millis()).unwrap_or(u64::MAX),
            poll_interval_ms: POLL_INTERVAL_MS,
            error: internal_error(&report.status).map(|error| error.to_object()),
            trace_context: report.trace_context.clone(),
            result: (status == TaskStatus::Completed).then(|| result(report, files, timeline)),
        }
    }

    /// The task that a request is about.
    async fn find(hub: &Hub, caller: &Caller, request: &RpcRequest) -> Result<Self, RpcError> {
        hub.admit(caller).await.map_err(|why| refused(&why))?;
        let id = task_id(request)?;
        let term = hub.follow(caller, &id).ok_or_else(not_found)?.lifetime();
        match hub.get(caller, &id, false).await {
            Ok(CommandLookup::Command(report)) => {
                let timeline = declares_views(request).then(|| hub.timeline(caller, &id)).flatten();
                Ok(Self::of(*report, term, hub.agent_files(), timeline))
            }
            Ok(CommandLookup::Evicted(_) | CommandLookup::NotFound) => Err(not_found()),
            Err(why) => Err(refused(&why)),
        }
    }
}

/// A task's status, its message, and the time of its last change.
fn status_of(
    report: &CommandReport,
    term: CommandLifetime,
) -> (TaskStatus, Option<String>, Timestamp) {
    let status = &report.status;
    match status {
        CommandStatus::Pending { delivered_at, started_at, progress, .. } => {
            // The specification wants the time of the last change, and progress is one.
            let told_at = progress.as_ref().map(|progress| progress.at);
            let said = progress.as_ref().and_then(|progress| progress.message.as_deref());
            let message = said.map(str::to_owned).or_else(|| report.waits_for());
            let latest = told_at.max(*started_at).max(*delivered_at).unwrap_or(term.created_at);
            (TaskStatus::Working, message, latest)
        }
        // The client has nothing to give: the person answers in the browser.
        CommandStatus::WaitingForUser { waits_since, message, .. } => {
            (TaskStatus::Working, Some(format!("waiting_for_user: {message}")), *waits_since)
        }
        CommandStatus::Cancelled { cancelled_at, may_have_run, reason, .. } => {
            let message = if reason.is_some() {
                "Stopped by the user in the browser: ask before you repeat it"
            } else if *may_have_run {
                "Cancelled; it may have run: check the page before you repeat it"
            } else {
                "Cancelled before it started"
            };
            (TaskStatus::Cancelled, Some(message.to_owned()), *cancelled_at)
        }
        CommandStatus::Error { error, failed_at, .. } if internal_error(status).is_some() => {
            (TaskStatus::Failed, Some(error.to_string()), *failed_at)
        }
        CommandStatus::Complete { completed_at: at, .. }
        | CommandStatus::Error { failed_at: at, .. }
        | CommandStatus::Timeout { failed_at: at, .. }
        | CommandStatus::Expired { expired_at: at, .. } => (TaskStatus::Completed, None, *at),
    }
}

/// Why the daemon broke a command off, if it did: pages cannot say that of theirs.
fn internal_error(status: &CommandStatus) -> Option<RpcError> {
    let CommandStatus::Error { error, reason, page: None, .. } = status else { return None };
    (**reason == *ReportedError::BROKE_OFF).then(|| RpcError::new(RpcErrorKind::Internal, &**error))
}

/// The result that the tool's call would have had.
fn result(
    report: CommandReport,
    files: Option<&AgentFiles>,
    timeline: Option<Box<CommandStory>>,
) -> Box<RawValue> {
    let result = ToolResult::of_own_command(
        CommandLookup::Command(report.into()),
        DetailLevel::Brief,
        files,
    );
    let result = ToolResult { timeline, ..result };
    to_raw_value(&CallResult::of(&result, ProtocolGeneration::Modern)).unwrap_or_default()
}

/// The same for a task that never was, one of another owner's, and one that is gone.
fn not_found() -> RpcError {
    RpcError::new(RpcErrorKind::Params, "Task not found")
}

/// A request that was not taken.
pub(super) fn refused(why: &CallRefusal) -> RpcError {
    let body = serde_json::from_str(ToolResult::refused(why).body.get()).unwrap_or_default();
    RpcError { kind: RpcErrorKind::Refused, message: why.why.message(), data: Some(Box::new(body)) }
}
