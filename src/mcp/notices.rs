//! Notices of a client's jobs: progress and result, as notifications of their own.
//!
//! Nothing is told of a job before the answer to the call that began it is out.
//!
//! No notice is kept. A reader that was slow or absent reads the job by its id.

use std::time::Duration;

use serde_json::{Value, json};

use super::followed::FollowedCommands;
use super::job_calls::JobCalls;
use super::message::RpcRequest;
use super::progress::{PROGRESS, notification};
use super::trace_meta;
use crate::hub::{Caller, CommandObserver, Hub, ObserverEvent};
use crate::protocol::{CommandReport, CommandStatus, CommandSummary, CorrelationId, StatusWord};
use crate::tools::JobView;

/// The entry in `capabilities.experimental` of a client that wants notices.
pub const JOBS_CAPABILITY: &str = "tabwire/jobs";

/// The notification that a job is over.
const TOOL_RESULT: &str = "notifications/tool_result";

/// The head start of an answer over the notices of its job, which take another connection.
const ANSWER_LEAD: Duration = Duration::from_millis(250);

/// Whether an `initialize` asks that its client be told of its jobs.
#[must_use]
pub fn asks_for_jobs(initialize: &RpcRequest) -> bool {
    let experimental =
        initialize.params.get("capabilities").and_then(|all| all.get("experimental"));
    experimental.and_then(|all| all.get(JOBS_CAPABILITY)).is_some_and(Value::is_object)
}

/// The notices of a client's jobs: of those that run now, and of all later ones.
pub struct JobNotices {
    hub: Hub,
    caller: Caller,
    is_job: fn(&CorrelationId) -> bool,
    /// The calls that begin jobs.
    calls: JobCalls<Caller>,
    events: CommandObserver,
    jobs: FollowedCommands,
    /// Those that are followed, until the news of their end has come.
    known: Vec<CorrelationId>,
}

impl JobNotices {
    /// The notices of this caller. `is_job` says which commands are jobs:
    /// [`CorrelationId::is_job`].
    #[must_use]
    pub fn new(
        hub: &Hub,
        caller: &Caller,
        calls: JobCalls<Caller>,
        is_job: fn(&CorrelationId) -> bool,
    ) -> Self {
        let mut notices = Self {
            hub: hub.clone(),
            caller: caller.clone(),
            is_job,
            calls,
            // Subscribed before the running jobs are read: no job falls between the two.
            events: hub.events(&caller.owner),
            jobs: FollowedCommands::default(),
            known: Vec::new(),
        };
        notices.follow_running_jobs();
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
                Some((report, _)) = self.jobs.next() => return Some(notice(&report)),
                news = self.events.next() => news?,
            };
            match news {
                ObserverEvent::Changed(command) => self.follow_if_running_job(&command),
                ObserverEvent::Skipped(_) => {
                    // What the ring still has is older than what is seen now. A job whose
                    // whole life was skipped is not told of.
                    self.events = self.hub.events(&self.caller.owner);
                    self.follow_running_jobs();
                }
            }
        }
    }

    fn follow_running_jobs(&mut self) {
        for command in self.hub.commands(&self.caller.owner) {
            self.follow_if_running_job(&command);
        }
    }

    /// Follows a command if it is a job of this client's and is not over.
    fn follow_if_running_job(&mut self, command: &CommandSummary) {
        let id = &command.correlation_id;
        // The events are those of all clients of the owner.
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
            let answered = self.calls.until_answered(&self.caller);
            let is_named = async move {
                if let Some(answered) = answered {
                    answered.await;
                }
                tokio::time::sleep(ANSWER_LEAD).await;
            };
            self.jobs.add_after(is_named, following);
        }
    }
}

fn notice(report: &CommandReport) -> String {
    let mut params = json!({"job_id": report.correlation_id});
    let said = match &report.status {
        CommandStatus::Pending { progress, .. } => progress.as_ref(),
        CommandStatus::WaitingForUser { .. }
        | CommandStatus::Complete { .. }
        | CommandStatus::Error { .. }
        | CommandStatus::Timeout { .. }
        | CommandStatus::Expired { .. }
        | CommandStatus::Cancelled { .. } => None,
    };
    if let Some(said) = said {
        if let Some(part) = said.progress {
            params["progress"] = part.into();
        }
        if let Some(message) = &said.message {
            params["message"] = (**message).into();
        }
    }
    let method = match JobView::of(&report.status) {
        Some(result) => {
            params["result"] = json!(result);
            TOOL_RESULT
        }
        None => PROGRESS,
    };
    params["timestamp"] = json!(report.status.ended_at().or_else(|| Some(said?.at)));
    if report.trace_context.is_some() {
        trace_meta::add_to(&mut params["_meta"], report.trace_context.as_ref());
    }
    notification(method, &params)
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::hub::{ExtensionLink, Outbox, Submission};
    use crate::lifecycle::{Limits, Peer};
    use crate::protocol::actions::TabListAction;
    use crate::protocol::{
        Action, Attempt, BrowserId, ExtensionReport, FromExtension, InstanceId, ReadyFrame,
        ReportedError, ToExtension, Transport,
    };

    const RUN: ExtensionReport =
        ExtensionReport::Pending { message: None, progress: None, dialog: None };

    fn caller(owner: &str, client: &str) -> Caller {
        Caller { owner: owner.into(), client: client.into() }
    }

    /// Commands that stand for jobs: they run in a browser, and end as they are told to.
    struct World {
        hub: Hub,
        link: ExtensionLink,
        outbox: Outbox,
        calls: JobCalls<Caller>,
    }

    impl World {
        fn new() -> Self {
            let hub = Hub::start(Limits { queued: 1_000, ..Limits::default() });
            let peer = Peer { browser: BrowserId::from("b"), instance: InstanceId::from("i") };
            let (link, outbox) = hub.attach(peer, Transport::WebSocket, "0.1.0".to_owned());
            link.receive(FromExtension::Ready(ReadyFrame {
                label: "b".to_owned(),
                user_agent: "Test".to_owned(),
                actions: vec!["tab_list".to_owned()],
                session: None,
                tabs: Vec::new(),
                in_flight: Vec::new(),
                draws_for: None,
                site_rules: None,
                stopped: None,
                older_extensions: None,
                act_rules: None,
                asks_first: None,
                names: None,
                shared_tabs: Vec::new(),
                private_tabs: Some(true),
                far_owners: None,
                tab_scopes: None,
                hands_over: None,
            }));
            Self { hub, link, outbox, calls: JobCalls::default() }
        }

        /// The notices of client `a`, to whom every command is a job.
        fn notices(&self) -> JobNotices {
            JobNotices::new(&self.hub, &caller("ann", "a"), self.calls.clone(), |_| true)
        }

        async fn begin(&mut self, owner: &str, client: &str) -> (CorrelationId, Attempt) {
            let call = Submission::of(Action::TabList(TabListAction {}));
            let id = self.hub.submit(&caller(owner, client), call).await.unwrap().id;
            loop {
                if let ToExtension::Command { attempt, .. } = self.outbox.next().await.unwrap() {
                    let correlation_id = id.clone();
                    self.link.receive(FromExtension::Claim { correlation_id, attempt });
                    return (id, attempt);
                }
            }
        }

        fn report(&self, (id, attempt): &(CorrelationId, Attempt), report: ExtensionReport) {
            let (correlation_id, attempt) = (id.clone(), *attempt);
            self.link.receive(FromExtension::Report { correlation_id, attempt, report });
        }
    }

    fn said(progress: f64) -> ExtensionReport {
        ExtensionReport::Pending {
            message: Some("on".to_owned()),
            progress: Some(progress),
            dialog: None,
        }
    }

    fn complete(result: &str) -> ExtensionReport {
        let result = RawValue::from_string(result.to_owned()).unwrap().into();
        ExtensionReport::Complete { result, origin: None }
    }

    fn failed() -> ExtensionReport {
        let (code, message) = ("denied".to_owned(), "Failed to sync: Permission denied".to_owned());
        ExtensionReport::Error {
            error: ReportedError {
                stack: Some("deep".into()),
                ..ReportedError::new(code, message)
            },
        }
    }

    /// The next notification, without its time.
    async fn next(notices: &mut JobNotices) -> Value {
        let text = tokio::time::timeout(Duration::from_secs(1), notices.next()).await;
        let mut message: Value = serde_json::from_str(&text.unwrap().unwrap()).unwrap();
        assert_eq!(message["jsonrpc"], "2.0");
        let time = message["params"].as_object_mut().unwrap().shift_remove("timestamp").unwrap();
        assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
        json!([message["method"], message["params"]])
    }

    async fn assert_silent(notices: &mut JobNotices) {
        let said = tokio::time::timeout(Duration::from_secs(1), notices.next()).await;
        assert!(said.is_err(), "{said:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_is_told_of_step_by_step_and_its_end_once() {
        let mut world = World::new();
        let mut notices = world.notices();
        let ends = [
            (
                complete(r#"{"success":true,"data":{"n":1},"messages":[]}"#),
                json!({"success": true, "data": {"n": 1}, "messages": []}),
            ),
            (complete("[1]"), json!({"success": true, "data": [1], "messages": []})),
            (
                failed(),
                json!({"success": false, "data": {}, "messages": [
                {"type": "error", "text": "Failed to sync: Permission denied", "details": "deep"}]}),
            ),
        ];
        for (end, result) in ends {
            let job = world.begin("ann", "a").await;
            for progress in [0.3, 0.6] {
                world.report(&job, said(progress));
                let params = json!({"job_id": job.0, "progress": progress, "message": "on"});
                assert_eq!(next(&mut notices).await, json!([PROGRESS, params]));
            }
            world.report(&job, end);
            let params = json!({"job_id": job.0, "result": result});
            assert_eq!(next(&mut notices).await, json!([TOOL_RESULT, params]));
            world.hub.mark_read(&caller("ann", "a"), &job.0);
            assert_silent(&mut notices).await;
        }
        let job = world.begin("ann", "a").await;
        world.hub.ask_to_cancel(&caller("ann", "a"), &job.0);
        let told = next(&mut notices).await;
        assert_eq!((&told[0], &told[1]["result"]["success"]), (&json!(TOOL_RESULT), &json!(false)));
        world.hub.shut_down().await;
        assert_eq!(notices.next().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn jobs_of_others_and_commands_that_are_none_are_not_told_of() {
        let mut world = World::new();
        let mut notices = world.notices();
        let mut of_no_jobs = JobNotices::new(
            &world.hub,
            &caller("ann", "a"),
            JobCalls::default(),
            CorrelationId::is_job,
        );
        for (owner, client) in [("ann", "b"), ("bob", "a")] {
            let job = world.begin(owner, client).await;
            world.report(&job, said(0.5));
            world.report(&job, complete("1"));
        }
        assert_silent(&mut notices).await;
        let command = world.begin("ann", "a").await;
        world.report(&command, complete("1"));
        assert_silent(&mut of_no_jobs).await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_runs_when_the_stream_opens_is_told_of_and_what_is_over_is_not() {
        let mut world = World::new();
        let over = world.begin("ann", "a").await;
        world.report(&over, complete("1"));
        let job = world.begin("ann", "a").await;
        world.report(&job, said(0.5));
        let mut notices = world.notices();
        assert_eq!(next(&mut notices).await[1]["progress"], 0.5);
        world.report(&job, complete("1"));
        assert_eq!(next(&mut notices).await[1]["job_id"], json!(job.0));
        assert_silent(&mut notices).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_was_not_read_for_long_is_told_how_things_are_and_no_end_twice() {
        let mut world = World::new();
        let mut notices = world.notices();
        let job = world.begin("ann", "a").await;
        world.report(&job, said(0.5));
        assert_eq!(next(&mut notices).await[1]["progress"], 0.5);
        for _ in 0..200 {
            let other = world.begin("ann", "b").await;
            world.report(&other, RUN);
            world.report(&other, complete("1"));
        }
        world.report(&job, complete("1"));
        assert_eq!(next(&mut notices).await[0], TOOL_RESULT);
        assert_silent(&mut notices).await;
        let late = world.begin("ann", "a").await;
        world.report(&late, complete("2"));
        assert_eq!(next(&mut notices).await[1]["job_id"], json!(late.0));
        assert_silent(&mut notices).await;
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_told_of_a_job_before_the_answer_that_names_it_is_out() {
        let mut world = World::new();
        let mut notices = world.notices();
        let before = world.begin("ann", "a").await;
        world.report(&before, said(0.1));
        assert_eq!(next(&mut notices).await[1]["job_id"], json!(before.0));
        let params = json!({"name": "wksm_monitor_sync"}).as_object().unwrap().clone();
        let (id, method) = (super::super::RequestId::Number(1), "tools/call".to_owned());
        let request = RpcRequest { id, method, params };
        let call = world.calls.begin(&caller("ann", "a"), &request);
        assert!(call.is_some());
        let job = world.begin("ann", "a").await;
        world.report(&job, said(0.5));
        world.report(&job, complete("1"));
        // What was named before is told of meanwhile.
        world.report(&before, said(0.2));
        assert_eq!(next(&mut notices).await[1]["job_id"], json!(before.0));
        assert_silent(&mut notices).await;
        drop(call);
        let told = next(&mut notices).await;
        assert_eq!((&told[0], &told[1]["job_id"]), (&json!(TOOL_RESULT), &json!(job.0)));
    }

    #[test]
    fn only_an_object_in_experimental_asks() {
        let asks = |capabilities: Value| {
            let params = json!({"capabilities": capabilities}).as_object().unwrap().clone();
            let (id, method) = (super::super::RequestId::Number(1), "initialize".to_owned());
            asks_for_jobs(&RpcRequest { id, method, params })
        };
        assert!(asks(json!({"experimental": {"tabwire/jobs": {}}})));
        for bad in [
            json!(null),
            json!({}),
            json!({"tabwire/jobs": {}}),
            json!({"experimental": {"tabwire/jobs": false}}),
        ] {
            assert!(!asks(bad.clone()), "{bad}");
        }
    }
}
