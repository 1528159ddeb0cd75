//! What a client is told of its jobs: progress and result, as notifications of their own.
//!
//! Nothing is kept for it here. What a slow reader misses, or one that was not there, can
//! be read by the job's id.

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};

use super::message::Request;
use super::progress::{PROGRESS, notification};
use crate::hub::{Caller, Events, Following, Hub, News};
use crate::protocol::{CommandReport, CommandSummary, CorrelationId, Status, StatusWord};
use crate::tools::job_result;

/// What a client names in `capabilities.experimental` to be told of its jobs.
pub const JOBS_CAPABILITY: &str = "tabwire/jobs";

/// The notification that a job is over.
const TOOL_RESULT: &str = "notifications/tool_result";

/// Whether an `initialize` asks that its client be told of its jobs.
#[must_use]
pub fn asks_for_jobs(initialize: &Request) -> bool {
    let experimental =
        initialize.params.get("capabilities").and_then(|all| all.get("experimental"));
    experimental.and_then(|all| all.get(JOBS_CAPABILITY)).is_some_and(Value::is_object)
}

/// What a client is told of its jobs, from its making on. Those that run then count too.
pub struct JobNotices {
    hub: Hub,
    caller: Caller,
    is_job: fn(&CorrelationId) -> bool,
    events: Events,
    jobs: FuturesUnordered<BoxFuture<'static, (Following, Option<CommandReport>)>>,
    /// Those that are followed, until the news of their end has come.
    known: Vec<CorrelationId>,
}

impl JobNotices {
    /// The notices of this caller. `is_job` says which commands are jobs:
    /// [`CorrelationId::is_job`].
    #[must_use]
    pub fn new(hub: &Hub, caller: &Caller, is_job: fn(&CorrelationId) -> bool) -> Self {
        let mut notices = Self {
            hub: hub.clone(),
            caller: caller.clone(),
            is_job,
            events: hub.events(&caller.owner),
            jobs: FuturesUnordered::new(),
            known: Vec::new(),
        };
        notices.look_around();
        notices
    }

    /// The next notification, as the whole message that goes out; `None` once the hub is shut
    /// down.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            let news = tokio::select! {
                biased;
                Some((following, report)) = self.jobs.next() => {
                    match self.told(following, report) {
                        Some(text) => return Some(text),
                        None => continue,
                    }
                }
                news = self.events.next() => news?,
            };
            match news {
                News::Changed(command) => self.consider(&command),
                News::Skipped(_) => {
                    // What the ring still has is older than what is seen now.
                    self.events = self.hub.events(&self.caller.owner);
                    self.look_around();
                }
            }
        }
    }

    fn look_around(&mut self) {
        for command in self.hub.commands(&self.caller.owner) {
            self.consider(&command);
        }
    }

    /// Follows a command if it is a job of this client's and is not over.
    fn consider(&mut self, command: &CommandSummary) {
        let id = &command.correlation_id;
        if command.client != self.caller.client || !(self.is_job)(id) {
            return;
        }
        if command.status != StatusWord::Pending {
            // Only now: changes from before its end could still have made it new again.
            self.known.retain(|known| known != id);
        } else if !self.known.contains(id)
            && let Some(following) = self.hub.follow(&self.caller, id)
        {
            self.known.push(id.clone());
            self.go_on(following);
        }
    }

    fn go_on(&self, mut following: Following) {
        self.jobs.push(Box::pin(async move {
            let report = following.next().await;
            (following, report)
        }));
    }

    /// What a job's report says to the client. One that is over is not followed any more.
    fn told(&mut self, following: Following, report: Option<CommandReport>) -> Option<String> {
        let text = report.as_ref().map(notice);
        if report.is_some_and(|report| report.status.ended_at().is_none()) {
            self.go_on(following);
        }
        text
    }
}

fn notice(report: &CommandReport) -> String {
    let mut params = json!({"job_id": report.correlation_id});
    let said = match &report.status {
        Status::Pending { progress, .. } => progress.as_ref(),
        Status::Complete { .. }
        | Status::Error { .. }
        | Status::Timeout { .. }
        | Status::Expired { .. }
        | Status::Cancelled { .. } => None,
    };
    if let Some(said) = said {
        if let Some(part) = said.progress {
            params["progress"] = part.into();
        }
        if let Some(message) = &said.message {
            params["message"] = (**message).into();
        }
    }
    let method = match job_result(report) {
        Some(result) => {
            params["result"] = result;
            TOOL_RESULT
        }
        None => PROGRESS,
    };
    params["timestamp"] = json!(report.status.ended_at().or_else(|| Some(said?.at)));
    notification(method, &params)
}
