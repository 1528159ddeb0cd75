//! `wksm_monitor_sync`: a job of the daemon's own. The call returns at once, with an estimate.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::answers::{AnswerSchemas, FAILED};
use super::failure::{CallFailure, RefusedCall, RefusedJob};
use super::job_view::{JobMessage, JobView};
use super::result::CommandAnswer;
use super::{NowOrLater, ToolReply, ToolResult, ToolSet, read};
use crate::hub::{Caller, CommandLookup, Hub, RequestContext, SubmittedCommand};
use crate::jobs::{JobRejection, SyncError};
use crate::protocol::{CommandStatus, CorrelationId, Job, MonitorSync};

pub(super) const NAME: &str = "wksm_monitor_sync";

pub(super) const DESCRIPTION: &str = "Updates the monitor database (path, size, time, hash) from a file or folder. Returns a job_id \
     at once.";

/// Its arguments, of their types.
#[cfg(test)]
pub(super) fn arguments() -> super::arguments::ToolArguments {
    super::arguments::ToolArguments::plain::<MonitorSync>(NAME)
}

/// The first answer of the two, as its seed (002) has it.
#[derive(Serialize, JsonSchema)]
struct QueuedJob {
    success: bool,
    data: BegunJob,
    /// One message: how the job is, and the call that reads its result.
    messages: Vec<JobMessage>,
}

#[derive(Serialize, JsonSchema)]
struct BegunJob {
    /// The job's id, a `correlation_id`.
    job_id: CorrelationId,
    /// How long it will take, as far as can be known.
    estimated_runtime_seconds: f64,
    status: JobStatus,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum JobStatus {
    Queued,
    Running,
}

impl JobStatus {
    const fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
        }
    }
}

/// The schemas of its answers: the first one, and the end of its task.
pub(super) fn answers(answers: &mut AnswerSchemas) {
    answers.of(NAME, "").are::<QueuedJob>().are::<CommandAnswer>();
    let failed = answers.of(NAME, FAILED);
    failed.are::<CallFailure>().are::<RefusedCall>().are::<RefusedJob>().are::<CommandAnswer>();
}

pub(super) async fn call(
    tools: &ToolSet,
    caller: &Caller,
    given: &Map<String, Value>,
    request: RequestContext,
) -> ToolReply {
    let sync: MonitorSync = match read(given) {
        Ok(sync) => sync,
        Err(wrong) => return ToolReply::done(wrong),
    };
    let Some(jobs) = &tools.jobs else { return ToolReply::done(super::stored::no_disk()) };
    match jobs.submit(caller, Job::MonitorSync(sync), request).await {
        Ok(submitted) => {
            let result = ToolResult::of(&queued(&tools.hub, caller, &submitted).await);
            let submitted = Some(submitted.accepted.id);
            ToolReply { submitted, waits_for: None, outcome: NowOrLater::Now(result) }
        }
        Err(JobRejection::Wrong(error)) => ToolReply::done(wrong(&error)),
        Err(JobRejection::Refused(refused)) => ToolReply::done(ToolResult::refused(&refused)),
    }
}

async fn queued(hub: &Hub, caller: &Caller, submitted: &SubmittedCommand) -> QueuedJob {
    let accepted = &submitted.accepted;
    let (id, seconds) = (&accepted.id, accepted.estimate.as_secs_f64());
    // A short job may have begun before its answer is written.
    let has_begun = match hub.get(caller, id, false).await {
        Ok(CommandLookup::Command(report)) => {
            !matches!(report.status, CommandStatus::Pending { started_at: None, .. })
        }
        Ok(CommandLookup::Evicted(_) | CommandLookup::NotFound) | Err(_) => false,
    };
    let status = if has_begun { JobStatus::Running } else { JobStatus::Queued };
    let text = format!(
        "Operation {}. Estimated runtime: {}s. Get its result with \
         observe({{what:\"command_result\", correlation_id:\"{id}\", wait_ms:55000}}).",
        status.word(),
        seconds.ceil()
    );
    QueuedJob {
        success: true,
        data: BegunJob { job_id: id.clone(), estimated_runtime_seconds: seconds, status },
        messages: vec![JobMessage { kind: "info".to_owned(), text, details: None }],
    }
}

/// A job that was rejected before it began.
fn wrong(error: &SyncError) -> ToolResult {
    let text = error.to_string();
    let details = Some(error.details().to_string().into());
    // Clients of jobs read `success` and `messages`, also of a refusal.
    let job = JobView::failed(&text, details);
    let failure = CallFailure::new(error.code(), text, error.hint()).about("path");
    ToolResult::failed(&RefusedJob { failure, job })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_refused_path_is_named_and_its_hint_is_what_to_do_whatever_the_path() {
        let hint = |error: &SyncError| {
            let body: Value = serde_json::from_str(wrong(error).body.get()).unwrap();
            body["hint"].as_str().unwrap().to_owned()
        };
        let (path, roots) = (PathBuf::from("/a. b/../.. c"), vec![PathBuf::from("/d. e")]);
        let outside = SyncError::OutsideRoots { path: path.clone(), roots };
        assert!(hint(&outside).starts_with("Choose a path"), "{}", hint(&outside));
        let why = "gone. really".to_owned();
        let not_found = SyncError::NotFound { path, why };
        assert!(hint(&not_found).starts_with("Check the path"), "{}", hint(&not_found));
        let empty = SyncError::NotAbsolute { path: PathBuf::new() };
        assert!(empty.to_string().starts_with("`` is not"), "{empty}");
    }
}
