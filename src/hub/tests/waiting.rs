//! Calls that wait for a command.

use super::*;
use crate::engine::DialogHandling;
use crate::protocol::HeldDialog;

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
    let CommandLookup::Command(report) = seen else { panic!() };
    assert!(matches!(report.status, CommandStatus::Complete { .. }));

    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let seen = hub.wait(&agent("a"), &id, seconds(50), false).await.unwrap();
    let CommandLookup::Command(report) = seen else { panic!() };
    assert_eq!(reason(&report.status), "extension_no_response");
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_at_once_while_a_dialog_waits_for_its_answer() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.handle_dialogs(&agent("a"), DialogHandling::Hold);
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let (_, attempt) = browser.begin().await;
    let asks = |dialog| ExtensionReport::Pending { message: None, progress: None, dialog };
    let question =
        HeldDialog { kind: "confirm".into(), message: "Remove it?".into(), default_text: None };
    browser.report(&id, attempt, asks(Some(question)));
    let began = hub.now();
    let seen = hub.wait(&agent("a"), &id, seconds(50), false).await.unwrap();
    assert!(hub.now().since(began) < seconds(1));
    let CommandLookup::Command(report) = seen else { panic!() };
    let CommandStatus::Pending { blocked_by, hint, .. } = report.status else { panic!() };
    assert_eq!(blocked_by, Some("dialog"));
    assert!(hint.contains("action:\"dialog\"") && hint.contains(id.as_str()), "{hint}");
    // Answered, it is waited for again; a command that holds dialogs has a minute.
    browser.report(&id, attempt, asks(None));
    let seen = hub.wait(&agent("a"), &id, seconds(30), false).await.unwrap();
    assert!(hub.now().since(began) >= seconds(30));
    let CommandLookup::Command(report) = seen else { panic!() };
    assert!(matches!(report.status, CommandStatus::Pending { blocked_by: None, .. }));
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
        let CommandLookup::Command(report) = seen else { panic!() };
        assert!(matches!(report.status, CommandStatus::Pending { .. }));
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
    assert!(matches!(refused.why, RefusalReason::TooManyWaiters { waiters: 64 }));
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
