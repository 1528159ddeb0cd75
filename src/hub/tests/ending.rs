//! Cancelling, traces, shutting down, forgetting.

use super::*;

#[tokio::test(start_paused = true)]
async fn cancel_reaches_the_page_and_says_whether_it_may_have_run() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let running = hub.submit(&agent("a"), script()).await.unwrap().id;
    let waiting = hub.submit(&agent("a"), script()).await.unwrap().id;
    browser.begin().await;
    let ran = |seen| match seen {
        CommandLookup::Command(report) => match report.status {
            CommandStatus::Cancelled { may_have_run, .. } => may_have_run,
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
    assert!(matches!(hub.cancel(&stranger, &id).await.unwrap(), CommandLookup::NotFound));
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Pending { .. }));
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
    hub.mark_read(&agent("a"), &id);
    let CommandLookup::Command(report) = hub.get(&agent("a"), &id, true).await.unwrap() else {
        panic!()
    };
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
    assert_eq!(browser.outbox.next().await.unwrap_err(), CloseReason::Shutdown);
    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::ShuttingDown));
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

#[tokio::test(start_paused = true)]
async fn a_result_that_its_owner_reads_on_in_is_kept_for_another_minute() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let (_, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "x").await;
    let is_kept = async || {
        let seen = hub.get(&agent("a"), &id, false).await.unwrap();
        matches!(seen, CommandLookup::Command(_))
    };
    pass(seconds(50)).await;
    // Somebody else's reading keeps nothing.
    hub.read_on(&Caller { owner: "ci".into(), client: "ci·a".into() }, &id);
    hub.read_on(&agent("a"), &id);
    pass(seconds(50)).await;
    assert!(is_kept().await);
    pass(seconds(15)).await;
    assert!(!is_kept().await);
}
