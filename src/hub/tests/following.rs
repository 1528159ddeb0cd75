//! Those who follow one command.

use super::*;

fn said(message: &str, progress: Option<f64>) -> ExtensionReport {
    ExtensionReport::Pending { message: Some(message.to_owned()), progress, dialog: None }
}

/// The message of a command that is not over, or the word of its end.
fn word(report: &crate::protocol::CommandReport) -> String {
    match &report.status {
        CommandStatus::Pending { progress, .. } => {
            progress.as_ref().unwrap().message.as_deref().unwrap().to_owned()
        }
        CommandStatus::Complete { .. } => "complete".to_owned(),
        other => panic!("{other:?}"),
    }
}

async fn followed() -> (Hub, Extension, CommandFollower, CorrelationId, Attempt) {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let following = hub.follow(&agent("a"), &id).unwrap();
    let (id, attempt) = browser.begin().await;
    (hub, browser, following, id, attempt)
}

#[tokio::test(start_paused = true)]
async fn each_progress_is_told_once_and_then_the_end_and_then_nothing() {
    let (hub, mut browser, mut following, id, attempt) = followed().await;
    for message in ["one", "two"] {
        browser.report(&id, attempt, said(message, None));
        assert_eq!(word(&following.next().await.unwrap()), message);
        let again = tokio::time::timeout(seconds(1), following.next()).await;
        assert!(again.is_err(), "nothing that was told already");
    }
    browser.report(&id, attempt, said("three", None));
    browser.complete(&id, attempt, "1").await;
    assert_eq!(word(&following.next().await.unwrap()), "complete");
    assert!(following.next().await.is_none());
    let mut late = hub.follow(&agent("a"), &id).unwrap();
    assert_eq!(word(&late.next().await.unwrap()), "complete");
    assert!(hub.follow(&Caller { owner: "ci".into(), client: "a".into() }, &id).is_none());
}

#[tokio::test(start_paused = true)]
async fn of_what_comes_too_fast_the_newest_is_told_at_most_ten_times_a_second() {
    let (hub, browser, mut following, id, attempt) = followed().await;
    let mut told: Vec<(crate::protocol::Timestamp, String)> = Vec::new();
    for n in 0..100 {
        browser.report(&id, attempt, said(&n.to_string(), None));
        let until = tokio::time::sleep(Duration::from_millis(10));
        tokio::pin!(until);
        loop {
            tokio::select! {
                biased;
                report = following.next() => told.push((hub.now(), word(&report.unwrap()))),
                () = &mut until => break,
            }
        }
    }
    let last = told.last().map(|(_, word)| word.as_str());
    assert_eq!((told.len(), last), (11, Some("99")), "{told:?}");
    for pair in told.windows(2) {
        assert!(pair[1].0.since(pair[0].0) >= Duration::from_millis(100), "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_follows_late_is_told_how_it_is_now() {
    let (hub, browser, _, id, attempt) = followed().await;
    browser.report(&id, attempt, said("half", Some(0.5)));
    let mut late = hub.follow(&agent("b"), &id).unwrap();
    assert_eq!(word(&late.next().await.unwrap()), "half");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_hub_is_the_end_of_following() {
    let (hub, _browser, mut following, ..) = followed().await;
    let next = tokio::spawn(async move { following.next().await.is_none() });
    tokio::task::yield_now().await;
    hub.shut_down().await;
    assert!(next.await.unwrap());
}
