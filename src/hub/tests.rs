//! The hub under virtual time: what an agent, a browser and the clock do to each other.

#![expect(clippy::wildcard_enum_match_arm, reason = "whatever else comes fails the test")]

use std::collections::HashMap;

use serde_json::value::RawValue;
use tokio::time::advance;

use super::*;
use crate::journal::Anchor;
use crate::lifecycle::{Gone, Lane, Peer, limits};
use crate::protocol::{
    Action, Attempt, BrowserId, BrowserSession, ExtensionReport, FromExtension, InFlight,
    InFlightState, InstanceId, NackReason, Ready, ReportedError, Status, Tab, TabId, ToExtension,
    TracePhase,
};

mod recorded;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn agent(client: &str) -> Caller {
    Caller { owner: "user".into(), client: client.into() }
}

fn script() -> Submission {
    let action = Action::ExecuteJs { script: "document.title".to_owned() };
    Submission { action, wish: Wish::default(), timeout: limits::EXECUTE, idempotency_key: None }
}

fn script_in(tab: i64) -> Submission {
    Submission { wish: Wish { browser: None, tab: Some(TabId(tab)) }, ..script() }
}

/// The tabs of a browser with one window. The first one is active.
fn tabs(ids: std::ops::RangeInclusive<i64>, url: &str) -> Vec<Tab> {
    let first = *ids.start();
    let tab = |id| Tab {
        tab_id: TabId(id),
        window_id: 1,
        url: url.to_owned(),
        title: "Home Page".to_owned(),
        active: id == first,
        focused: true,
    };
    ids.map(tab).collect()
}

/// An extension at the hub's own seam: no sockets, so that time can be virtual.
struct Extension {
    link: Link,
    outbox: Outbox,
}

impl Extension {
    fn attach(hub: &Hub, browser: &str, instance: &str) -> Self {
        let peer = Peer { browser: BrowserId::from(browser), instance: InstanceId::from(instance) };
        let (link, outbox) = hub.attach(peer, "0.1.0".to_owned());
        Self { link, outbox }
    }

    fn connect(hub: &Hub, browser: &str, instance: &str) -> Self {
        let extension = Self::attach(hub, browser, instance);
        extension.ready(Vec::new());
        extension
    }

    fn ready(&self, in_flight: Vec<InFlight>) {
        self.ready_with(None, tabs(1..=10, "http://127.0.0.1/"), in_flight);
    }

    /// The same, as the extension of a browser that calls itself so.
    fn ready_as(&self, label: &str) {
        self.ready_in(label, None, tabs(1..=10, "http://127.0.0.1/"), Vec::new());
    }

    fn ready_with(&self, session: Option<&str>, tabs: Vec<Tab>, in_flight: Vec<InFlight>) {
        self.ready_in("Test", session, tabs, in_flight);
    }

    fn ready_in(
        &self,
        label: &str,
        session: Option<&str>,
        tabs: Vec<Tab>,
        in_flight: Vec<InFlight>,
    ) {
        self.link.receive(FromExtension::Ready(Ready {
            label: label.to_owned(),
            user_agent: "Test".to_owned(),
            actions: ["execute_js", "navigate", "tab_list", "tab_open", "tab_close"]
                .map(str::to_owned)
                .to_vec(),
            session: session.map(BrowserSession::from),
            tabs,
            in_flight,
        }));
    }

    async fn frame(&mut self) -> ToExtension {
        tokio::time::timeout(Duration::from_millis(1), self.outbox.next())
            .await
            .expect("a frame is there")
            .expect("the link is up")
    }

    /// Nothing is there to be read.
    async fn is_quiet(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(1), self.outbox.next()).await.is_err()
    }

    async fn command(&mut self) -> (CorrelationId, Attempt, bool) {
        match self.frame().await {
            ToExtension::Command { attempt, command } => {
                (command.correlation_id, attempt, command.redelivered)
            }
            other => panic!("expected a command, got {other:?}"),
        }
    }

    /// The next command, and the tab that it is for.
    async fn command_and_tab(&mut self) -> (CorrelationId, Option<i64>) {
        match self.frame().await {
            ToExtension::Command { command, .. } => {
                (command.correlation_id, command.tab_id.map(|tab| tab.0))
            }
            other => panic!("expected a command, got {other:?}"),
        }
    }

    fn claim(&self, id: &CorrelationId, attempt: Attempt) {
        self.link.receive(FromExtension::Claim { correlation_id: id.clone(), attempt });
    }

    fn report(&self, id: &CorrelationId, attempt: Attempt, report: ExtensionReport) {
        self.link.receive(FromExtension::Report { correlation_id: id.clone(), attempt, report });
    }

    /// Takes the next command up to the point where it runs.
    async fn begin(&mut self) -> (CorrelationId, Attempt) {
        let (id, attempt, _) = self.command().await;
        self.claim(&id, attempt);
        assert!(matches!(self.frame().await, ToExtension::Go { .. }));
        (id, attempt)
    }

    async fn complete(&mut self, id: &CorrelationId, attempt: Attempt, value: &str) {
        self.report(id, attempt, result(value));
        assert!(matches!(self.frame().await, ToExtension::ResultAck { .. }));
    }
}

fn result(value: &str) -> ExtensionReport {
    let json = format!("{{\"success\":true,\"value\":{value:?},\"type\":\"string\"}}");
    ExtensionReport::Complete { result: RawValue::from_string(json).unwrap().into(), origin: None }
}

fn pending() -> ExtensionReport {
    ExtensionReport::Pending { message: None, progress: None }
}

async fn look(hub: &Hub, client: &str, id: &CorrelationId) -> Status {
    match hub.look(&agent(client), id, false).await.unwrap() {
        Seen::Command(report) => report.status,
        other => panic!("{id} should be known: {other:?}"),
    }
}

fn reason(status: &Status) -> &str {
    match status {
        Status::Expired { reason, .. } => reason,
        other => panic!("expected expired, got {other:?}"),
    }
}

fn failures(hub: &Hub, client: &str) -> HashMap<CorrelationId, String> {
    let failures = hub.failures(&agent(client)).into_iter();
    failures.map(|failure| (failure.correlation_id, failure.error.to_string())).collect()
}

/// Lets the reaper have its turn at a deadline that has just come.
async fn pass(length: Duration) {
    advance(length).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
}

// What an agent is promised, in six scenarios.

#[tokio::test(start_paused = true)]
async fn fast_path_the_first_poll_has_the_result() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let accepted = hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    assert_eq!(id, accepted.id);
    advance(seconds(1)).await;
    browser.complete(&id, attempt, "Home Page").await;
    let Status::Complete { result, duration_ms, .. } = look(&hub, "a", &id).await else { panic!() };
    assert!(result.get().contains("Home Page"));
    assert!((1_000.0..1_100.0).contains(&duration_ms), "{duration_ms}");
}

#[tokio::test(start_paused = true)]
async fn slow_path_a_poll_says_pending_and_a_later_one_has_the_result() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    pass(seconds(2)).await;
    browser.report(&id, attempt, pending());
    let Status::Pending { started_at, progress, .. } = look(&hub, "a", &id).await else { panic!() };
    assert!(started_at.is_some() && progress.is_some());
    pass(seconds(6)).await;
    browser.complete(&id, attempt, "done").await;
    assert!(matches!(look(&hub, "a", &id).await, Status::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn timeout_the_extension_says_so_at_ten_seconds_and_the_agent_sees_the_failure() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    pass(seconds(10)).await;
    let error = ReportedError {
        code: "execution_timeout".to_owned(),
        message: "execution exceeded 10 s".to_owned(),
        stack: None,
    };
    browser.report(&id, attempt, ExtensionReport::Timeout { error });
    let Status::Timeout { error, may_have_run, .. } = look(&hub, "a", &id).await else { panic!() };
    assert_eq!(&*error, "execution exceeded 10 s");
    assert!(may_have_run);
    assert_eq!(failures(&hub, "a")[&id], "execution_timeout");
}

#[tokio::test(start_paused = true)]
async fn extension_disconnect_the_command_expires_after_three_seconds_and_is_listed() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, _) = browser.begin().await;
    drop(browser);
    advance(Duration::from_millis(2_900)).await;
    assert!(matches!(look(&hub, "a", &id).await, Status::Pending { .. }));
    pass(Duration::from_millis(100)).await;
    let status = look(&hub, "a", &id).await;
    assert_eq!(reason(&status), "extension_disconnected");
    assert!(matches!(status, Status::Expired { may_have_run: true, .. }));
    assert_eq!(failures(&hub, "a")[&id], "extension_disconnected");
}

#[tokio::test(start_paused = true)]
async fn result_expiration_an_unread_result_goes_after_sixty_seconds_and_is_listed() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    hub.submit(&agent("a"), script()).await.unwrap();
    let (unread, attempt) = browser.begin().await;
    browser.complete(&unread, attempt, "1").await;
    let (read, attempt) = browser.begin().await;
    browser.complete(&read, attempt, "2").await;
    hub.note_read(&agent("a"), &read);
    advance(seconds(59)).await;
    assert!(matches!(look(&hub, "a", &unread).await, Status::Complete { .. }));
    pass(seconds(1)).await;
    assert!(matches!(hub.look(&agent("a"), &unread, false).await.unwrap(), Seen::Gone(_)));
    assert!(matches!(hub.look(&agent("a"), &read, false).await.unwrap(), Seen::Gone(_)));
    assert_eq!(failures(&hub, "a"), HashMap::from([(unread, "expired".to_owned())]));
}

#[tokio::test(start_paused = true)]
async fn concurrent_commands_keep_their_own_results_and_lists() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let mut expected = Vec::new();
    for (n, client) in [(1, "a"), (2, "b"), (3, "a"), (4, "b")] {
        let id = hub.submit(&agent(client), script_in(n)).await.unwrap().id;
        expected.push((client, id, format!("value {n}")));
    }
    let mut running = Vec::new();
    for _ in 0..4 {
        let (id, attempt, _) = browser.command().await;
        running.push((id, attempt));
    }
    for (id, attempt) in &running {
        browser.claim(id, *attempt);
        assert!(matches!(browser.frame().await, ToExtension::Go { .. }));
    }
    for (id, attempt) in running.into_iter().rev() {
        let (_, _, value) = expected.iter().find(|(_, known, _)| *known == id).unwrap();
        browser.complete(&id, attempt, value).await;
    }
    for (client, id, value) in &expected {
        let Status::Complete { result, .. } = look(&hub, client, id).await else { panic!() };
        assert!(result.get().contains(value.as_str()));
        let own = hub.lists(&agent(client)).completed;
        assert_eq!(own.len(), 2);
        assert!(own.iter().any(|finished| finished.correlation_id == *id));
    }
}

// What can go wrong, in three scenarios.

#[tokio::test(start_paused = true)]
async fn scenario_1_nobody_answers_and_the_command_expires_after_thirty_seconds() {
    let hub = Hub::start(Limits::default());
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    advance(Duration::from_millis(29_900)).await;
    assert!(matches!(look(&hub, "a", &id).await, Status::Pending { .. }));
    pass(Duration::from_millis(100)).await;
    assert_eq!(reason(&look(&hub, "a", &id).await), "no_extension");
    assert_eq!(failures(&hub, "a")[&id], "no_extension");
}

#[tokio::test(start_paused = true)]
async fn scenario_2_a_new_instance_takes_the_command_up_and_its_result_counts() {
    let hub = Hub::start(Limits::default());
    let mut first = Extension::connect(&hub, "b", "i1");
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let (delivered, attempt, redelivered) = first.command().await;
    assert_eq!((&delivered, attempt, redelivered), (&id, Attempt(1), false));
    drop(first);
    advance(seconds(1)).await;
    let mut second = Extension::connect(&hub, "b", "i2");
    let (again, attempt, redelivered) = second.command().await;
    assert_eq!((&again, attempt, redelivered), (&id, Attempt(2), true));
    second.claim(&id, attempt);
    assert!(matches!(second.frame().await, ToExtension::Go { .. }));
    second.complete(&id, attempt, "by the second").await;
    assert!(matches!(look(&hub, "a", &id).await, Status::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn scenario_3_a_poll_that_comes_too_late_is_told_expired_and_not_not_found() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "1").await;
    pass(seconds(60)).await;
    assert!(matches!(hub.look(&agent("a"), &id, false).await.unwrap(), Seen::Gone(_)));
    let stranger = Caller { owner: "ci".into(), client: "ci/a".into() };
    assert!(matches!(hub.look(&stranger, &id, false).await.unwrap(), Seen::NotFound));
}

// Waiting.

#[tokio::test(start_paused = true)]
async fn a_waiter_wakes_the_moment_the_command_is_over_however_it_ends() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let waiting = tokio::spawn({
        let (hub, id) = (hub.clone(), id.clone());
        async move {
            let began = hub.now();
            let seen = hub.wait(&agent("a"), &id, seconds(50), false).await.unwrap();
            (hub.now().since(began), seen)
        }
    });
    tokio::task::yield_now().await;
    let (_, attempt) = browser.begin().await;
    advance(seconds(5)).await;
    browser.complete(&id, attempt, "1").await;
    let (took, seen) = waiting.await.unwrap();
    assert!(took < seconds(6), "{took:?}");
    let Seen::Command(report) = seen else { panic!() };
    assert!(matches!(report.status, Status::Complete { .. }));

    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let seen = hub.wait(&agent("a"), &id, seconds(50), false).await.unwrap();
    let Seen::Command(report) = seen else { panic!() };
    assert_eq!(reason(&report.status), "extension_no_response");
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_after_its_time_or_fifty_five_seconds_with_pending() {
    let hub = Hub::start(Limits::default());
    let long = Submission { timeout: seconds(300), ..script() };
    let id = hub.submit(&agent("a"), long).await.unwrap().id;
    for (asked, at_most) in [(2, 2), (500, 55)] {
        let began = hub.now();
        let seen = hub.wait(&agent("a"), &id, seconds(asked), false).await.unwrap();
        let took = hub.now().since(began);
        assert!(took >= seconds(at_most) && took < seconds(at_most + 1), "{took:?}");
        let Seen::Command(report) = seen else { panic!() };
        assert!(matches!(report.status, Status::Pending { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn the_sixty_fifth_waiter_of_a_client_is_refused_and_others_are_not() {
    let hub = Hub::start(Limits::default());
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let wait = |client: &str| {
        let (hub, id, caller) = (hub.clone(), id.clone(), agent(client));
        async move { hub.wait(&caller, &id, seconds(20), false).await }
    };
    let waiting: Vec<_> = (0..64).map(|_| tokio::spawn(wait("a"))).collect();
    // Time passes only when every task waits.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let refused = wait("a").await.unwrap_err();
    assert!(matches!(refused.why, Refusal::TooManyWaiters { waiters: 64 }));
    let other = tokio::spawn(wait("b"));
    for task in waiting {
        assert!(task.await.unwrap().is_ok());
    }
    assert!(other.await.unwrap().is_ok());
    assert!(wait("a").await.is_ok(), "the seats are free again");
}

#[tokio::test(start_paused = true)]
async fn a_wait_wakes_at_once_at_whatever_moment_of_it_the_command_ends() {
    for turns in 0..8 {
        let hub = Hub::start(Limits::default());
        let mut browser = Extension::connect(&hub, "b", "i");
        hub.submit(&agent("a"), script()).await.unwrap();
        let (id, attempt) = browser.begin().await;
        let began = hub.now();
        let waiting = tokio::spawn({
            let (hub, id) = (hub.clone(), id.clone());
            async move { hub.wait(&agent("a"), &id, seconds(50), false).await }
        });
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        browser.report(&id, attempt, result("Home"));
        waiting.await.unwrap().unwrap();
        assert!(hub.now().since(began) < seconds(1), "after {turns} turns");
    }
}

// Caps.

#[tokio::test(start_paused = true)]
async fn the_sixth_queued_command_is_refused_and_listed_and_nothing_accepted_is_touched() {
    let hub = Hub::start(Limits::default());
    let mut accepted = Vec::new();
    for _ in 0..5 {
        accepted.push(hub.submit(&agent("a"), script()).await.unwrap().id);
    }
    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    assert!(matches!(refused.why, Refusal::QueueFull { queued: 5, .. }));
    assert_eq!(failures(&hub, "a"), HashMap::from([(refused.id, "queue_full".to_owned())]));
    let listed: Vec<_> =
        hub.lists(&agent("a")).pending.into_iter().map(|p| p.correlation_id).collect();
    assert_eq!(listed, accepted);
    assert!(hub.submit(&agent("b"), script()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_calls_too_often_is_told_when_to_come_back() {
    let hub = Hub::start(Limits { calls_per_minute: 60, ..Limits::default() });
    for _ in 0..60 {
        hub.admit(&agent("a")).unwrap();
    }
    let refused = hub.admit(&agent("a")).unwrap_err();
    let wait = refused.why.retry_after().unwrap();
    assert!(hub.admit(&agent("b")).is_ok());
    advance(wait).await;
    assert!(hub.admit(&agent("a")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn of_too_many_results_the_oldest_read_one_goes_first_and_an_unread_one_is_listed() {
    let hub = Hub::start(Limits { retained: 2, ..Limits::default() });
    let mut browser = Extension::connect(&hub, "b", "i1");
    let mut ids = Vec::new();
    for n in 0..4 {
        hub.submit(&agent("a"), script()).await.unwrap();
        let (id, attempt) = browser.begin().await;
        browser.complete(&id, attempt, "x").await;
        if n == 1 {
            hub.note_read(&agent("a"), &id);
        }
        ids.push(id);
    }
    let mut are_gone = Vec::new();
    for id in &ids {
        let seen = hub.look(&agent("a"), id, false).await.unwrap();
        are_gone.push(matches!(seen, Seen::Gone(_)));
    }
    assert_eq!(are_gone, [true, true, false, false]);
    assert_eq!(failures(&hub, "a"), HashMap::from([(ids[0].clone(), "expired".to_owned())]));
}

#[tokio::test(start_paused = true)]
async fn a_tab_whose_last_command_is_dropped_for_newer_ones_is_free_for_the_next() {
    let hub = Hub::start(Limits { retained: 1, ..Limits::default() });
    let mut browser = Extension::connect(&hub, "b", "i");
    let held = hub.submit(&agent("a"), script_in(1)).await.unwrap().id;
    browser.begin().await;
    let next = hub.submit(&agent("a"), script_in(1)).await.unwrap().id;
    let other = hub.submit(&agent("a"), script_in(2)).await.unwrap().id;
    browser.command().await;
    // The page may still be at it, so its tab stays taken for a while.
    let _ = hub.cancel(&agent("a"), &held).await.unwrap();
    assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
    let _ = hub.cancel(&agent("a"), &other).await.unwrap();
    assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
    assert_eq!(browser.command().await.0, next);
}

#[tokio::test(start_paused = true)]
async fn a_client_is_forgotten_when_there_are_too_many_and_it_was_idle_the_longest() {
    let hub = Hub::start(Limits { clients: 2, ..Limits::default() });
    for client in ["first", "second", "third"] {
        hub.admit(&agent(client)).unwrap();
        advance(seconds(1)).await;
    }
    let known: Vec<_> =
        hub.clients(&"user".into()).into_iter().map(|c| c.client.to_string()).collect();
    assert_eq!(known, ["third", "second"]);
}

// Links.

#[tokio::test(start_paused = true)]
async fn a_command_is_delivered_the_moment_its_tab_is_free_and_not_before() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let first = hub.submit(&agent("a"), script_in(3)).await.unwrap().id;
    let second = hub.submit(&agent("a"), script_in(3)).await.unwrap().id;
    let (id, attempt) = browser.begin().await;
    assert_eq!(id, first);
    assert!(browser.is_quiet().await);
    browser.complete(&first, attempt, "1").await;
    assert_eq!(browser.command().await.0, second);
}

#[tokio::test(start_paused = true)]
async fn a_tab_stays_taken_for_two_seconds_after_a_timeout_unless_the_page_reports() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    for reports in [false, true] {
        let short = Submission { timeout: seconds(1), ..script() };
        hub.submit(&agent("a"), short).await.unwrap();
        let (id, attempt) = browser.begin().await;
        hub.submit(&agent("a"), script()).await.unwrap();
        pass(seconds(3)).await;
        assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
        assert!(matches!(look(&hub, "a", &id).await, Status::Timeout { .. }));
        assert!(browser.is_quiet().await);
        if reports {
            browser.report(&id, attempt, result("late"));
            let nack = browser.frame().await;
            assert!(
                matches!(nack, ToExtension::Nack { reason: NackReason::AlreadyTerminal, .. }),
                "{nack:?}"
            );
        } else {
            pass(seconds(2)).await;
        }
        let (next, attempt) = browser.begin().await;
        browser.complete(&next, attempt, "ok").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_takeover_redelivers_what_was_not_begun_and_a_late_end_of_the_old_link_is_harmless() {
    let hub = Hub::start(Limits::default());
    let mut old = Extension::connect(&hub, "b", "i1");
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    old.command().await;
    let mut new = Extension::connect(&hub, "b", "i2");
    assert_eq!(old.outbox.next().await.unwrap_err(), Farewell::Replaced);
    assert_eq!(new.command().await, (id.clone(), Attempt(2), true));
    // The old socket's claim arrives late, and its end even later.
    old.claim(&id, Attempt(1));
    drop(old);
    assert!(new.is_quiet().await);
    new.claim(&id, Attempt(2));
    assert!(matches!(new.frame().await, ToExtension::Go { .. }));
    assert!(hub.browsers()[0].connected);
}

#[tokio::test(start_paused = true)]
async fn the_same_instance_gets_go_again_and_another_one_does_not_run_it_twice() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    let says = |state| vec![InFlight { correlation_id: id.clone(), attempt, state }];
    drop(browser);
    let mut browser = Extension::attach(&hub, "b", "i1");
    browser.ready(says(InFlightState::Claimed));
    assert!(matches!(browser.frame().await, ToExtension::Go { .. }));
    drop(browser);
    let mut browser = Extension::attach(&hub, "b", "i1");
    browser.ready(says(InFlightState::Running));
    assert!(browser.is_quiet().await);
    drop(browser);
    let mut browser = Extension::connect(&hub, "b", "i2");
    assert!(browser.is_quiet().await);
    assert_eq!(reason(&look(&hub, "a", &id).await), "extension_disconnected");
}

#[tokio::test(start_paused = true)]
async fn a_result_in_the_outbox_of_a_killed_worker_counts_when_it_is_replayed() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    drop(browser);
    let mut browser = Extension::attach(&hub, "b", "i2");
    let state = InFlightState::Done;
    browser.ready(vec![InFlight { correlation_id: id.clone(), attempt, state }]);
    browser.complete(&id, attempt, "kept").await;
    assert!(matches!(look(&hub, "a", &id).await, Status::Complete { .. }));
    // The acknowledgement was lost: the same again is acknowledged again.
    browser.complete(&id, attempt, "kept").await;
}

#[tokio::test(start_paused = true)]
async fn a_report_from_another_browser_or_of_another_attempt_changes_nothing() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    let mut thief = Extension::connect(&hub, "other", "i1");
    thief.report(&id, attempt, result("forged"));
    browser.report(&id, Attempt(7), result("forged"));
    for extension in [&mut thief, &mut browser] {
        let nack = extension.frame().await;
        assert!(
            matches!(nack, ToExtension::Nack { reason: NackReason::StaleAttempt, .. }),
            "{nack:?}"
        );
    }
    assert!(matches!(look(&hub, "a", &id).await, Status::Pending { .. }));
    thief.report(&"exec_0_0".into(), attempt, result("forged"));
    let nack = thief.frame().await;
    assert!(matches!(nack, ToExtension::Nack { reason: NackReason::UnknownCommand, .. }));
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_does_not_read_loses_its_link_and_its_commands_go_back() {
    let hub = Hub::start(Limits { outbound: 8, ..Limits::default() });
    let mut deaf = Extension::connect(&hub, "b", "i1");
    let first = hub.submit(&agent("a"), script_in(1)).await.unwrap().id;
    for _ in 0..20 {
        deaf.link.refuse(NackReason::Malformed);
    }
    assert_eq!(deaf.outbox.next().await.unwrap_err(), Farewell::Overflow);
    assert!(!hub.browsers()[0].connected);
    let mut back = Extension::connect(&hub, "b", "i1");
    assert_eq!(back.command().await, (first, Attempt(2), true));
}

#[tokio::test(start_paused = true)]
async fn commands_wait_for_room_rather_than_fill_an_outbox_and_go_once_it_is_read() {
    let hub = Hub::start(Limits { outbound: 8, lanes: 100, queued: 100, ..Limits::default() });
    let mut slow = Extension::connect(&hub, "b", "i1");
    for tab in 1..=10 {
        hub.submit(&agent("a"), script_in(tab)).await.unwrap();
    }
    assert!(hub.browsers()[0].connected, "waiting is no overflow");
    for _ in 0..10 {
        slow.command().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_waited_for_a_browser_takes_its_target_when_one_connects() {
    let hub = Hub::start(Limits::default());
    let accepted = hub.submit(&agent("a"), script()).await.unwrap();
    assert!(!accepted.reachable);
    pass(seconds(8)).await;
    let mut browser = Extension::connect(&hub, "b", "i1");
    assert_eq!(browser.command().await.0, accepted.id);
    let current = hub.tabs(&agent("a")).into_iter().find(|tab| tab.current).unwrap();
    assert_eq!(current.tab.tab_id, TabId(1));
}

// Targets.

#[tokio::test(start_paused = true)]
async fn several_browsers_and_none_named_is_ambiguous_and_says_which_there_are() {
    let hub = Hub::start(Limits::default());
    let _one = Extension::connect(&hub, "b1", "i1");
    let mut two = Extension::connect(&hub, "b2", "i1");
    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    let Refusal::AmbiguousBrowser { browsers } = refused.why else { panic!("{refused:?}") };
    assert_eq!(browsers.len(), 2);
    let named = Wish { browser: Some("b2".to_owned()), tab: None };
    let id = hub.submit(&agent("a"), Submission { wish: named, ..script() }).await.unwrap().id;
    assert_eq!(two.command().await.0, id);
    // From here on it is the client's own.
    assert!(hub.submit(&agent("a"), script()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_is_gone_is_refused_and_a_browser_that_is_away_is_waited_for() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let refused = hub.submit(&agent("a"), script_in(99)).await.unwrap_err();
    let Refusal::TabGone { wanted: TabId(99), tabs } = refused.why else { panic!("{refused:?}") };
    assert_eq!(tabs.len(), 10);
    hub.submit(&agent("a"), script_in(2)).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "x").await;
    drop(browser);
    assert!(hub.submit(&agent("a"), script()).await.is_ok());
    let nowhere = Wish { browser: Some("no such".to_owned()), tab: None };
    let refused =
        hub.submit(&agent("a"), Submission { wish: nowhere, ..script() }).await.unwrap_err();
    assert!(matches!(refused.why, Refusal::BrowserGone { .. }), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_was_opened_is_the_clients_current_one_and_no_one_elses() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let open = Submission { action: Action::TabOpen { url: None, focus: None }, ..script() };
    hub.submit(&agent("a"), open.clone()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    let opened = r#"{"success":true,"value":{"tab_id":5,"url":"","title":""},"type":"object"}"#;
    let result = RawValue::from_string(opened.to_owned()).unwrap().into();
    browser.report(&id, attempt, ExtensionReport::Complete { result, origin: None });
    browser.frame().await;
    let current = |client| {
        hub.tabs(&agent(client)).into_iter().find(|tab| tab.current).map(|tab| tab.tab.tab_id.0)
    };
    assert_eq!((current("a"), current("b")), (Some(5), None));

    // What names no tab changes nothing.
    hub.submit(&agent("a"), open).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "tab 6").await;
    assert_eq!(current("a"), Some(5));
}

#[tokio::test(start_paused = true)]
async fn a_tab_is_closed_while_a_command_runs_in_it_and_does_not_become_the_current_one() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script_in(2)).await.unwrap();
    browser.begin().await;
    hub.submit(&agent("b"), script_in(3)).await.unwrap();
    browser.begin().await;
    let close = Submission { action: Action::TabClose {}, ..script_in(2) };
    let closing = hub.submit(&agent("b"), close).await.unwrap().id;
    let (id, attempt) = browser.begin().await;
    assert_eq!(id, closing);
    browser.complete(&id, attempt, "closed").await;
    let current = hub.tabs(&agent("b")).into_iter().find(|tab| tab.current);
    assert_eq!(current.map(|tab| tab.tab.tab_id), Some(TabId(3)));
}

#[tokio::test(start_paused = true)]
async fn browsers_of_a_kind_are_told_apart_by_a_number_that_stays_with_them() {
    let hub = Hub::start(Limits::default());
    let connect = |id: &str, label: &str| {
        let extension = Extension::attach(&hub, id, "i1");
        extension.ready_as(label);
        extension
    };
    let labels = || {
        let known = hub.browsers().into_iter();
        known.map(|b| (b.browser.to_string(), b.label)).collect::<HashMap<_, _>>()
    };
    // One that calls itself what another would be numbered as.
    let odd = connect("odd", "Chromium 2");
    let first = connect("first", "Chromium");
    let mut third = connect("third", "Chromium");
    assert_eq!(labels()["third"], "Chromium 3");
    drop((odd, first));
    let _last = connect("last", "Chromium");
    let _first = connect("first", "Chromium");
    let expected = [
        ("odd", "Chromium 2"),
        ("first", "Chromium"),
        ("third", "Chromium 3"),
        ("last", "Chromium 4"),
    ];
    assert_eq!(labels(), expected.map(|(id, label)| (id.to_owned(), label.to_owned())).into());

    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    let Refusal::AmbiguousBrowser { browsers } = refused.why else { panic!("{refused:?}") };
    let shown: Vec<_> = browsers.into_iter().map(|choice| choice.label).collect();
    assert_eq!(shown, ["Chromium", "Chromium 3", "Chromium 4"]);
    let named = Wish { browser: Some("Chromium 3".to_owned()), tab: None };
    let id = hub.submit(&agent("a"), Submission { wish: named, ..script() }).await.unwrap().id;
    assert_eq!(third.command().await.0, id);
    // A browser that was updated may call itself something else.
    third.ready_as("Chrome");
    assert_eq!(labels()["third"], "Chrome");
}

/// A browser whose run `before` is over, with two commands that wait for it: one for the
/// tab that client `a` used last, which is 3, and one of client `b` for tab 4 by name.
async fn away_with_two_waiting(hub: &Hub, before: Option<&str>) -> [CorrelationId; 2] {
    let mut browser = Extension::attach(hub, "b", "i1");
    browser.ready_with(before, tabs(1..=10, "http://127.0.0.1/"), Vec::new());
    hub.submit(&agent("a"), script_in(3)).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "x").await;
    let implicit = hub.submit(&agent("a"), script()).await.unwrap().id;
    // Delivered and not begun: it may be sent again, to whatever tab.
    assert_eq!(browser.command_and_tab().await, (implicit.clone(), Some(3)));
    drop(browser);
    [implicit, hub.submit(&agent("b"), script_in(4)).await.unwrap().id]
}

/// Which tabs the two commands and client `a` have when the browser is back.
async fn tabs_after(
    hub: &Hub,
    [implicit, explicit]: [CorrelationId; 2],
    now: Option<&str>,
    open: Vec<Tab>,
) -> [Option<i64>; 3] {
    let mut browser = Extension::attach(hub, "b", "i2");
    browser.ready_with(now, open, Vec::new());
    let delivered: HashMap<_, _> =
        [browser.command_and_tab().await, browser.command_and_tab().await].into();
    let own = hub.clients(&"user".into()).into_iter().find(|c| c.client.as_str() == "a").unwrap();
    [delivered[&implicit], delivered[&explicit], own.tab_id.map(|tab| tab.0)]
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_of_the_browser_its_active_tab_is_used_even_if_numbers_come_again() {
    for open in [tabs(21..=22, "http://127.0.0.1/"), tabs(1..=10, "http://other.test/")] {
        let active = Some(open[0].tab_id.0);
        let hub = Hub::start(Limits::default());
        let waiting = away_with_two_waiting(&hub, Some("s1")).await;
        let nowhere = Some(TabId::OF_FORMER_SESSION.0);
        let after = tabs_after(&hub, waiting, Some("s2"), open).await;
        assert_eq!(after, [active, nowhere, active]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tab_is_still_the_same_after_a_worker_was_killed_or_the_extension_reloaded() {
    let elsewhere = tabs(1..=10, "http://other.test/");
    let unchanged = tabs(1..=10, "http://127.0.0.1/");
    for (now, open) in [("s1", elsewhere), ("s2", unchanged)] {
        let hub = Hub::start(Limits::default());
        let waiting = away_with_two_waiting(&hub, Some("s1")).await;
        let after = tabs_after(&hub, waiting, Some(now), open).await;
        assert_eq!(after, [Some(3), Some(4), Some(3)]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_names_no_session_is_in_a_new_one_if_none_of_its_tabs_is_left() {
    let nowhere = Some(TabId::OF_FORMER_SESSION.0);
    for (open, expected) in [
        (tabs(21..=22, "http://127.0.0.1/"), [Some(21), nowhere, Some(21)]),
        (tabs(4..=22, "http://127.0.0.1/"), [Some(3), Some(4), Some(3)]),
    ] {
        let hub = Hub::start(Limits::default());
        let waiting = away_with_two_waiting(&hub, None).await;
        assert_eq!(tabs_after(&hub, waiting, None, open).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_client_keeps_its_browser_and_a_tab_that_it_names_must_be_there() {
    let hub = Hub::start(Limits::default());
    let other = Extension::connect(&hub, "other", "i1");
    let mut browser = Extension::attach(&hub, "b", "i1");
    browser.ready_with(Some("s1"), tabs(41..=42, "http://127.0.0.1/"), Vec::new());
    hub.submit(&agent("a"), script_in(42)).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "x").await;
    // As a browser that is quit says, before it goes.
    browser.link.receive(FromExtension::Tabs { tabs: Vec::new() });
    drop(browser);
    let mut browser = Extension::attach(&hub, "b", "i2");
    browser.ready_with(Some("s2"), tabs(51..=52, "http://127.0.0.1/"), Vec::new());
    let refused = hub.submit(&agent("a"), script_in(42)).await.unwrap_err();
    assert!(matches!(refused.why, Refusal::TabGone { .. }));
    hub.submit(&agent("a"), script()).await.unwrap();
    assert_eq!(browser.command_and_tab().await.1, Some(51));
    drop(other);
}

// Cancelling and ending.

#[tokio::test(start_paused = true)]
async fn cancel_reaches_the_page_and_says_whether_it_may_have_run() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let running = hub.submit(&agent("a"), script()).await.unwrap().id;
    let waiting = hub.submit(&agent("a"), script()).await.unwrap().id;
    browser.begin().await;
    let ran = |seen| match seen {
        Seen::Command(report) => match report.status {
            Status::Cancelled { may_have_run, .. } => may_have_run,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert!(!ran(hub.cancel(&agent("a"), &waiting).await.unwrap()));
    assert!(browser.is_quiet().await);
    assert!(ran(hub.cancel(&agent("a"), &running).await.unwrap()));
    assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
    assert!(failures(&hub, "a").is_empty());
    let stranger = Caller { owner: "ci".into(), client: "ci/a".into() };
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    assert!(matches!(hub.cancel(&stranger, &id).await.unwrap(), Seen::NotFound));
    assert!(matches!(look(&hub, "a", &id).await, Status::Pending { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_trace_has_every_phase_in_order() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    pass(seconds(2)).await;
    browser.report(&id, attempt, pending());
    browser.complete(&id, attempt, "x").await;
    hub.note_read(&agent("a"), &id);
    let Seen::Command(report) = hub.look(&agent("a"), &id, true).await.unwrap() else { panic!() };
    let trace = report.trace.unwrap();
    let phases: Vec<_> = trace.iter().map(|entry| entry.phase).collect();
    use TracePhase::{Claimed, Delivered, Done, FirstPending, FirstRead, Queued, Started};
    assert_eq!(phases, [Queued, Delivered, Claimed, Started, FirstPending, Done, FirstRead]);
    assert!(trace.is_sorted_by_key(|entry| entry.at));
}

#[tokio::test(start_paused = true)]
async fn shutting_down_ends_links_and_waits_and_refuses_what_comes_after() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let waiting = tokio::spawn({
        let (hub, id) = (hub.clone(), id.clone());
        async move { hub.wait(&agent("a"), &id, seconds(50), false).await }
    });
    tokio::task::yield_now().await;
    let began = hub.now();
    hub.shut_down().await;
    assert!(waiting.await.unwrap().is_ok());
    assert_eq!(hub.now().since(began), Duration::ZERO);
    assert_eq!(browser.outbox.next().await.unwrap_err(), Farewell::Shutdown);
    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    assert!(matches!(refused.why, Refusal::ShuttingDown));
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_has_been_away_for_long_is_forgotten() {
    let hub = Hub::start(Limits::default());
    drop(Extension::connect(&hub, "b", "i1"));
    pass(seconds(590)).await;
    assert_eq!(hub.browsers().len(), 1);
    pass(seconds(70)).await;
    assert!(hub.browsers().is_empty());
}
