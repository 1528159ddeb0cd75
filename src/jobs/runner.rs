//! Runs jobs, one at a time, on a thread that may block. A job is a command in the hub, which keeps
//! its outcome.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::monitor::{FileMonitor, SyncError, SyncRequest, SyncSummary};
use crate::hub::{
    CallRefusal, Caller, HostTask, Hub, RequestContext, SubmittedCommand, TargetSelector,
};
use crate::lifecycle::{CommandOutcome, CommandWork};
use crate::protocol::{CorrelationId, Job, MonitorSync, ReportedError};

/// How many jobs run at the same time. Syncs share one database: a second sync that waited for it
/// would count as begun, and a restart would lose it.
const AT_ONCE: usize = 1;

/// The longest time for counting files, since the answer to the call waits for the estimate.
const COUNT_FOR: Duration = Duration::from_millis(50);

/// The daemon's jobs. Clones are cheap and share their state.
#[derive(Clone)]
pub struct JobRunner(Arc<JobRunnerState>);

struct JobRunnerState {
    hub: Hub,
    monitor: Arc<FileMonitor>,
    at_once: Semaphore,
    tasks: TaskTracker,
}

/// The reason why a job is rejected.
#[derive(Debug)]
pub enum JobRejection {
    /// The request cannot be carried out.
    Wrong(SyncError),
    /// The daemon rejects commands now.
    Refused(CallRefusal),
}

impl std::fmt::Debug for JobRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs").finish_non_exhaustive()
    }
}

impl JobRunner {
    /// The jobs of this hub. Begins those that an earlier run of the daemon accepted and never began.
    /// Needs a tokio runtime.
    #[must_use]
    pub fn start(hub: Hub, monitor: FileMonitor) -> Self {
        let left = hub.waiting_jobs();
        let at_once = Semaphore::new(AT_ONCE);
        let (monitor, tasks) = (Arc::new(monitor), TaskTracker::new());
        let jobs = Self(Arc::new(JobRunnerState { hub, monitor, at_once, tasks }));
        for (id, job) in left {
            jobs.spawn(id, job);
        }
        jobs
    }

    /// Accepts a job and begins it in its turn, even if its caller goes away.
    ///
    /// # Errors
    ///
    /// [`JobRejection`]; nothing is begun then.
    pub async fn submit(
        &self,
        caller: &Caller,
        job: Job,
        request: RequestContext,
    ) -> Result<SubmittedCommand, JobRejection> {
        let estimate = self.estimate(&job).await.map_err(JobRejection::Wrong)?;
        let hub = &self.0.hub;
        let asked = HostTask {
            deadline: job.deadline(),
            work: CommandWork::Job { job: job.clone() },
            target: TargetSelector::default(),
            estimate,
            idempotency_key: request.key,
            must_name_tab: false,
            trace_context: request.trace_context,
            record_by: request.record_by,
        };
        let submitted = hub.start_host_task(caller, asked).map_err(JobRejection::Refused)?;
        // A repeated call with the same key finds the first job, which runs or waits already.
        if submitted.is_new() {
            self.spawn(submitted.accepted.id.clone(), job);
        }
        hub.confirm(caller, &submitted).await.map_err(JobRejection::Refused)?;
        Ok(submitted)
    }

    /// Returns once no job runs any more. The hub stops running jobs when it shuts down.
    pub async fn ended(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// How long a job will take, if it can be done.
    async fn estimate(&self, job: &Job) -> Result<Duration, SyncError> {
        let Job::MonitorSync(sync) = job;
        let (monitor, request) = (self.0.monitor.clone(), request(sync));
        let looked = tokio::task::spawn_blocking(move || {
            monitor.check(&request)?;
            Ok(monitor.estimate(&request, COUNT_FOR).seconds)
        });
        let seconds = looked.await.unwrap_or(Ok(0.0))?;
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }

    fn spawn(&self, id: CorrelationId, job: Job) {
        let jobs = self.clone();
        self.0.tasks.spawn(async move { jobs.run(id, job).await });
    }

    async fn run(&self, id: CorrelationId, job: Job) {
        let hub = &self.0.hub;
        let turn = tokio::select! {
            biased;
            () = hub.until_over(&id) => return,
            turn = self.0.at_once.acquire() => turn,
        };
        if turn.is_err() || !hub.begin_job(&id) {
            return;
        }
        // The journal has its start before the work begins: a job never begins twice, even if the
        // daemon is killed now.
        hub.flush_journal().await;
        let stop = Arc::new(AtomicBool::new(false));
        let work = self.work(id.clone(), job, stop.clone());
        tokio::pin!(work);
        let outcome = tokio::select! {
            biased;
            outcome = &mut work => outcome,
            () = hub.until_over(&id) => {
                stop.store(true, Ordering::Relaxed);
                // Its result does not matter any more, but the next job must not begin before it has stopped.
                work.await;
                return;
            }
        };
        hub.finish(&id, outcome);
    }

    /// Does the work of a job, until it is done or told to stop.
    async fn work(&self, id: CorrelationId, job: Job, stop: Arc<AtomicBool>) -> CommandOutcome {
        let Job::MonitorSync(sync) = job;
        let (hub, monitor, request) = (self.0.hub.clone(), self.0.monitor.clone(), request(&sync));
        let done = tokio::task::spawn_blocking(move || {
            let is_stopped = || stop.load(Ordering::Relaxed);
            let mut watch = |at: &super::monitor::SyncProgress| {
                if !hub.advance_job(&id, at.fraction, &at.message()) {
                    // The command is over: it was cancelled, or its time is up.
                    stop.store(true, Ordering::Relaxed);
                }
            };
            monitor.sync(&request, &mut watch, &is_stopped)
        });
        match done.await {
            Ok(Ok(summary)) => complete(&summary),
            Ok(Err(error)) => failed(&error),
            Err(broken) => {
                let message =
                    "The job failed unexpectedly; call it again. The daemon's log has the details.";
                let details = Some(broken.to_string());
                CommandOutcome::Error {
                    error: error(ReportedError::BROKE_OFF, message.to_owned(), details).into(),
                }
            }
        }
    }
}

fn request(sync: &MonitorSync) -> SyncRequest {
    SyncRequest {
        path: PathBuf::from(&sync.path),
        recursive: sync.recursive != Some(false),
        verify: sync.verify == Some(true),
    }
}

/// The result of a job, in the form that its callers know.
fn complete(summary: &SyncSummary) -> CommandOutcome {
    let mut messages = vec![json!({"type": "success", "text": said(summary)})];
    if !summary.unreadable.is_empty() {
        let count = summary.files_unreadable + summary.folders_unreadable;
        let text = format!("{count} files and folders could not be read");
        let first = &summary.unreadable[0];
        let details = format!("{}: {}", first.path, first.reason);
        messages.push(json!({"type": "warning", "text": text, "details": details}));
    }
    if let Some(moved) = &summary.database_moved_to {
        let text = format!("The database could not be used and is now {}", moved.display());
        messages.push(json!({"type": "warning", "text": text}));
    }
    let result = json!({"success": true, "data": summary, "messages": messages});
    CommandOutcome::Complete {
        result: to_raw_value(&result).unwrap_or_default().into(),
        origin: None,
    }
}

fn said(summary: &SyncSummary) -> String {
    let SyncSummary { files_processed, files_new, files_changed, files_removed, .. } = summary;
    format!(
        "Synced {files_processed} files: {files_new} new, {files_changed} changed, \
         {files_removed} removed"
    )
}

fn failed(why: &SyncError) -> CommandOutcome {
    let details = Value::to_string(&why.details());
    let told = error(why.code(), why.to_string(), Some(details));
    CommandOutcome::Error { error: ReportedError { hint: Some(why.hint()), ..told }.into() }
}

fn error(code: &str, message: String, details: Option<String>) -> ReportedError {
    ReportedError { stack: details, ..ReportedError::new(code, message) }
}
