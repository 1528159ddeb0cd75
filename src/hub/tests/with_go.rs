//! Extensions that begin on delivery: `go` comes with the command.

use super::recorded::{recording, settle, write};
use super::*;
use crate::engine::JournalEntry;
use crate::protocol::actions::TabListAction;

const FIRST: Attempt = Attempt(1);

impl Extension {
    /// One that begins on delivery.
    fn beginning(hub: &Hub, browser: &str, instance: &str, in_flight: Vec<InFlight>) -> Self {
        let extension = Self::attach(hub, browser, instance);
        extension.link.receive(FromExtension::Ready(ReadyFrame {
            tabs: tabs(1..=10, "http://127.0.0.1/"),
            in_flight,
            begins_on_delivery: Some(true),
            ..ready("Test", Vec::new())
        }));
        extension
    }

    /// The next command: its id, its attempt, and whether `go` comes with it.
    async fn delivery(&mut self) -> (CorrelationId, Attempt, bool) {
        match self.frame().await {
            ToExtension::Command { attempt, command } => {
                (command.correlation_id, attempt, command.go)
            }
            other => panic!("expected a command, got {other:?}"),
        }
    }
}

async fn submitted(hub: &Hub) -> CorrelationId {
    hub.submit(&agent("a"), script()).await.unwrap().id
}

fn submitting(hub: &Hub) -> tokio::task::JoinHandle<CorrelationId> {
    let hub = hub.clone();
    tokio::spawn(async move { submitted(&hub).await })
}

#[tokio::test(start_paused = true)]
async fn go_comes_with_the_command_and_its_result_counts_without_a_claim() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::beginning(&hub, "b", "i", Vec::new());
    let id = submitted(&hub).await;
    assert_eq!(browser.delivery().await, (id.clone(), FIRST, true));
    assert!(browser.is_quiet().await, "nothing else tells it to begin");
    browser.complete(&id, FIRST, "1").await;
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_safe_command_and_one_over_http_come_without_go() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::beginning(&hub, "b", "i", Vec::new());
    let safe = Submission::of(Action::TabList(TabListAction {}));
    hub.submit(&agent("a"), safe).await.unwrap();
    assert!(!browser.delivery().await.2);

    let peer = Peer { browser: "over http".into(), instance: "i".into() };
    let (link, outbox) = hub.attach(peer, Transport::Http, "0.1.0".to_owned());
    let mut browser = Extension { link, outbox };
    browser.link.receive(FromExtension::Ready(ReadyFrame {
        tabs: tabs(11..=20, "http://127.0.0.1/"),
        begins_on_delivery: Some(true),
        ..ready("Http", Vec::new())
    }));
    hub.submit(&agent("a"), script_in(11)).await.unwrap();
    assert!(!browser.delivery().await.2);
}

#[tokio::test(start_paused = true)]
async fn a_command_with_go_leaves_after_its_start_is_recorded() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::beginning(&hub, "b", "i", Vec::new());
    let submitting = submitting(&hub);
    assert!(browser.is_quiet().await);
    browser.link.ping();
    assert!(matches!(browser.frame().await, ToExtension::Ping { .. }), "others pass it");
    let entries = write(&mut pages);
    let is_started =
        |entry: &JournalEntry| matches!(entry, JournalEntry::Changed(c) if c.may_go(FIRST));
    assert!(entries.iter().any(is_started), "{entries:?}");
    let (id, _, go) = browser.delivery().await;
    assert!(go);
    assert_eq!(submitting.await.unwrap(), id);
}

#[tokio::test(start_paused = true)]
async fn a_command_with_go_never_leaves_once_it_is_cancelled() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::beginning(&hub, "b", "i", Vec::new());
    let submitting = submitting(&hub);
    settle().await;
    let [pending] = &hub.lists(&agent("a")).pending[..] else { panic!("one is pending") };
    let id = pending.correlation_id.clone();
    let cancelling = tokio::spawn({
        let (hub, id) = (hub.clone(), id.clone());
        async move { hub.cancel(&agent("a"), &id).await }
    });
    assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
    let _ = write(&mut pages);
    assert!(browser.is_quiet().await, "no command");
    let CommandLookup::Command(report) = cancelling.await.unwrap().unwrap() else { panic!() };
    assert!(matches!(report.status, CommandStatus::Cancelled { may_have_run: false, .. }));
    submitting.await.unwrap();

    // Nor does the answer of the next call wait for it.
    let next = self::submitting(&hub);
    settle().await;
    let _ = write(&mut pages);
    let (next_id, ..) = browser.delivery().await;
    assert!(browser.is_quiet().await);
    tokio::time::timeout(seconds(1), hub.orders_written(&next_id)).await.expect("all are written");
    next.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_command_with_go_that_cannot_be_recorded_is_refused_and_never_leaves() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::beginning(&hub, "b", "i", Vec::new());
    let submitting = tokio::spawn({
        let hub = hub.clone();
        async move { hub.submit(&agent("a"), script()).await }
    });
    settle().await;
    pages.take_batch();
    pages.failed("the disk is full");
    let refused = submitting.await.unwrap().unwrap_err();
    assert!(matches!(refused.why, RefusalReason::StorageUnavailable { .. }), "{refused:?}");
    assert_eq!(hub.health().pending, 0);
    let _ = write(&mut pages);
    while let Ok(frame) =
        tokio::time::timeout(Duration::from_millis(1), browser.outbox.next()).await
    {
        assert!(!matches!(frame, Ok(ToExtension::Command { .. })), "{frame:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_back_and_never_got_it_gets_it_again() {
    let hub = Hub::start(Limits::default());
    let mut first = Extension::beginning(&hub, "b", "i", Vec::new());
    let id = submitted(&hub).await;
    assert_eq!(first.delivery().await, (id.clone(), FIRST, true));
    drop(first);
    let mut again = Extension::beginning(&hub, "b", "i", Vec::new());
    assert_eq!(again.delivery().await, (id.clone(), Attempt(2), true));
    again.complete(&id, Attempt(2), "1").await;
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_names_any_attempt_of_it_gets_it_no_second_time() {
    let hub = Hub::start(Limits::default());
    let mut first = Extension::beginning(&hub, "b", "i", Vec::new());
    let id = submitted(&hub).await;
    first.delivery().await;
    drop(first);
    for attempt in [FIRST, Attempt(7)] {
        let named = InFlight { correlation_id: id.clone(), attempt, state: InFlightState::Running };
        let mut again = Extension::beginning(&hub, "b", "i", vec![named]);
        assert!(again.is_quiet().await, "{attempt:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_worker_of_the_same_run_of_the_browser_is_believed_that_it_never_came() {
    let hub = Hub::start(Limits::default());
    let of_session = |instance: &str, session: &str| {
        let extension = Extension::attach(&hub, "b", instance);
        extension.link.receive(FromExtension::Ready(ReadyFrame {
            session: Some(BrowserSession::from(session)),
            tabs: tabs(1..=10, "http://127.0.0.1/"),
            begins_on_delivery: Some(true),
            ..ready("Test", Vec::new())
        }));
        extension
    };
    let mut first = of_session("i1", "s1");
    let id = submitted(&hub).await;
    first.delivery().await;
    drop(first);
    let mut second = of_session("i2", "s1");
    assert_eq!(second.delivery().await, (id.clone(), Attempt(2), true));
    drop(second);
    // Its notes are gone with the browser.
    let mut third = of_session("i3", "s2");
    assert!(third.is_quiet().await);
    let status = look(&hub, "a", &id).await;
    assert!(matches!(status, CommandStatus::Expired { may_have_run: true, .. }), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn another_worker_or_an_extension_that_says_nothing_of_it_ends_what_came_with_go() {
    let hub = Hub::start(Limits::default());
    for (number, (instance, says)) in [("other", true), ("i", false)].into_iter().enumerate() {
        let name = format!("b{number}");
        let mut first = Extension::beginning(&hub, &name, "i", Vec::new());
        let target = TargetSelector { browser: Some(name.clone()), tab: None };
        let call = Submission { selector: target, ..script() };
        let id = hub.submit(&agent("a"), call).await.unwrap().id;
        first.delivery().await;
        drop(first);
        let mut next = if says {
            Extension::beginning(&hub, &name, instance, Vec::new())
        } else {
            Extension::connect(&hub, &name, instance)
        };
        assert!(next.is_quiet().await);
        let status = look(&hub, "a", &id).await;
        assert_eq!(reason(&status), "extension_disconnected");
        assert!(matches!(status, CommandStatus::Expired { may_have_run: true, .. }), "{status:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_about_what_came_with_go_ends_it_and_stops_it() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::beginning(&hub, "b", "i", Vec::new());
    let id = submitted(&hub).await;
    browser.delivery().await;
    pass(seconds(3)).await;
    let status = look(&hub, "a", &id).await;
    assert_eq!(reason(&status), "extension_no_response");
    assert!(matches!(status, CommandStatus::Expired { may_have_run: true, .. }), "{status:?}");
    assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
}

#[tokio::test(start_paused = true)]
async fn that_it_never_ran_is_taken_from_the_current_link_alone() {
    let hub = Hub::start(Limits::default());
    let mut old = Extension::beginning(&hub, "b", "i", Vec::new());
    let id = submitted(&hub).await;
    old.delivery().await;
    let running =
        InFlight { correlation_id: id.clone(), attempt: FIRST, state: InFlightState::Running };
    let mut new = Extension::beginning(&hub, "b", "i", vec![running]);
    old.report(&id, FIRST, ExtensionReport::Cancelled { may_have_run: false });
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Pending { .. }));
    new.complete(&id, FIRST, "1").await;
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Complete { .. }));
}
