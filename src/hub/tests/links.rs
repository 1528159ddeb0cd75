//! Extensions that come and go, and what becomes of what they hold.

use futures_util::FutureExt as _;

use super::*;

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
        assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Timeout { .. }));
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
    assert_eq!(old.outbox.next().await.unwrap_err(), CloseReason::Replaced);
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
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Complete { .. }));
    // The acknowledgement was lost: the same again is acknowledged again.
    browser.complete(&id, attempt, "kept").await;
}

#[tokio::test(start_paused = true)]
async fn that_it_never_ran_is_taken_from_the_current_link_alone() {
    let hub = Hub::start(Limits::default());
    let mut old = Extension::connect(&hub, "b", "i");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = old.begin().await;
    let mut new = Extension::attach(&hub, "b", "i");
    let state = InFlightState::Running;
    new.ready(vec![InFlight { correlation_id: id.clone(), attempt, state }]);
    old.report(&id, attempt, ExtensionReport::Cancelled { may_have_run: false });
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Pending { .. }));
    new.complete(&id, attempt, "1").await;
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Complete { .. }));
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
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Pending { .. }));
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
    assert_eq!(deaf.outbox.next().await.unwrap_err(), CloseReason::Overflow);
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

#[tokio::test(start_paused = true)]
async fn an_outcome_is_acknowledged_once_nobody_waits_for_it_any_more() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let (_, attempt) = browser.begin().await;
    let caller = agent("a");
    let mut waiting = Box::pin(hub.wait(&caller, &id, seconds(50), false));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    browser.report(&id, attempt, result("Home"));
    assert!(browser.is_quiet().await, "the caller is told first");
    assert!(futures_util::poll!(&mut waiting).is_ready());
    assert!(matches!(browser.frame().await, ToExtension::ResultAck { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_slow_to_take_its_answer_holds_no_acknowledgement_up() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let (_, attempt) = browser.begin().await;
    let caller = agent("a");
    let mut waiting = Box::pin(hub.wait(&caller, &id, seconds(50), false));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    browser.report(&id, attempt, result("Home"));
    let other = hub.submit(&agent("a"), script_in(2)).await.unwrap().id;
    assert_eq!(browser.command().await.0, other, "other frames pass it");
    let acknowledged = tokio::time::timeout(Duration::from_millis(20), browser.outbox.next());
    assert!(matches!(acknowledged.await, Ok(Ok(ToExtension::ResultAck { .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered_once_its_command_is_written_or_the_extension_does_not_read() {
    let hub = Hub::start(Limits::default());
    let waiting = hub.submit(&agent("a"), script()).await.unwrap().id;
    let began = hub.now();
    hub.orders_written(&waiting).await;
    assert_eq!(hub.now(), began, "no extension has it");
    let mut browser = Extension::connect(&hub, "b", "i");
    let mut written = Box::pin(hub.orders_written(&waiting));
    assert!(futures_util::poll!(&mut written).is_pending());
    assert_eq!(browser.command().await.0, waiting);
    assert!(futures_util::poll!(&mut written).is_pending(), "it is about to be written");
    assert!(browser.is_quiet().await);
    assert!(futures_util::poll!(&mut written).is_ready());
    hub.cancel(&agent("a"), &waiting).await.unwrap();
    let mut written = Box::pin(hub.orders_written(&waiting));
    assert!(futures_util::poll!(&mut written).is_pending());
    assert!(browser.outbox.ended().now_or_never().is_none(), "the transport can write nothing");
    assert!(futures_util::poll!(&mut written).is_ready());
}
