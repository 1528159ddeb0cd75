//! The machine sleeps under a running daemon. The sleep is pretended: the clock that counts it jumps, the
//! others stand still.

use super::recorded::{history, next_life_after, recording, settle, write};
use super::*;
use crate::protocol::actions::TabListAction;

const NIGHT: Duration = Duration::from_secs(8 * 3_600);

fn sleeps(hub: &Hub, length: Duration) {
    hub.0.clock.pretend_sleep(length);
}

#[track_caller]
fn assert_never_ran(status: &CommandStatus, expected: &str) {
    let CommandStatus::Expired { reason, may_have_run, .. } = status else { panic!("{status:?}") };
    assert_eq!((*reason, *may_have_run), (expected, false));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_waited_for_its_browser_through_a_sleep_is_not_sent() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let running = hub.submit(&agent("a"), script_in(1)).await.unwrap().id;
    let (_, attempt) = browser.begin().await;
    let waiting = hub.submit(&agent("a"), script_in(1)).await.unwrap().id;
    sleeps(&hub, NIGHT);
    // The end of the first frees the lane of the second.
    browser.complete(&running, attempt, "done").await;
    assert!(browser.is_quiet().await);
    assert_never_ran(&look(&hub, "a", &waiting).await, "not_delivered");
    let status = look(&hub, "a", &running).await;
    assert!(
        matches!(status, CommandStatus::Complete { .. }),
        "what runs loses no time: {status:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_comes_after_a_sleep_gets_no_go() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let (_, attempt, _) = browser.command().await;
    sleeps(&hub, NIGHT);
    browser.claim(&id, attempt);
    let ToExtension::Nack { reason, .. } = browser.frame().await else { panic!("no nack") };
    assert_eq!(reason, NackReason::AlreadyTerminal);
    assert_never_ran(&look(&hub, "a", &id).await, "extension_no_response");
}

#[tokio::test(start_paused = true)]
async fn go_that_waited_for_the_disk_through_a_sleep_does_not_leave() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::connect(&hub, "b", "i");
    let submitting = tokio::spawn({
        let hub = hub.clone();
        async move { hub.submit(&agent("a"), script()).await }
    });
    let (id, attempt, _) = browser.command().await;
    browser.claim(&id, attempt);
    assert!(browser.is_quiet().await, "the start is not recorded");
    sleeps(&hub, NIGHT);
    let _ = write(&mut pages);
    let ToExtension::Cancel { .. } = browser.frame().await else { panic!("no cancel") };
    assert!(browser.is_quiet().await, "no go");
    let _ = write(&mut pages);
    submitting.await.unwrap().unwrap();
    assert_never_ran(&look(&hub, "a", &id).await, "command_expired");
}

#[tokio::test(start_paused = true)]
async fn a_frame_that_lay_in_the_outbox_through_a_sleep_is_not_sent() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    // One that only looks, which an extension runs as soon as it has it.
    let looks = Submission::of(Action::TabList(TabListAction {}));
    hub.submit(&agent("a"), looks.clone()).await.unwrap();
    sleeps(&hub, NIGHT);
    assert!(browser.is_quiet().await);
    let next = hub.submit(&agent("a"), looks).await.unwrap().id;
    assert_eq!(browser.command().await.0, next);
    // Nor does the answer of the next call wait for it.
    assert!(browser.is_quiet().await);
    tokio::time::timeout(seconds(1), hub.orders_written(&next)).await.expect("all are written");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_command_hears_within_a_second_after_a_sleep_that_it_is_over() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    hub.submit(&agent("a"), script_in(1)).await.unwrap();
    let _running = browser.begin().await;
    // The timer has long ended its look at the first one when the second one comes.
    tokio::time::advance(seconds(2)).await;
    settle().await;
    let long = Submission { timeout: seconds(200), ..script_in(1) };
    let id = hub.submit(&agent("a"), long).await.unwrap().id;
    let waiting = tokio::spawn({
        let (hub, id) = (hub.clone(), id.clone());
        async move { hub.wait(&agent("a"), &id, seconds(8), false).await }
    });
    settle().await;
    sleeps(&hub, NIGHT);
    let began = hub.now();
    let seen = waiting.await.unwrap().unwrap();
    let CommandLookup::Command(report) = seen else { panic!("{seen:?}") };
    assert_never_ran(&report.status, "not_delivered");
    assert!(hub.now().since(began) <= seconds(1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_later_than_its_client_waits_is_refused_and_not_recorded() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let by = hub.run_clock().elapsed + seconds(10);
    let call = || Submission { record_by: Some(by), ..script() };
    hub.submit(&agent("a"), call()).await.unwrap();
    let _running = browser.begin().await;
    sleeps(&hub, seconds(11));
    let refused = hub.submit(&agent("a"), call()).await.unwrap_err();
    assert_eq!(refused.why.code(), "too_late");
    let task = HostTask { record_by: Some(by), ..super::asks::approve() };
    let refused = hub.start_host_task(&agent("a"), task).unwrap_err();
    assert_eq!(refused.why.code(), "too_late");
    // The time of a clock that is set, or of a machine that is awake, counts as well.
    let by = hub.run_clock().elapsed + seconds(10);
    tokio::time::advance(seconds(11)).await;
    let late = Submission { record_by: Some(by), ..script() };
    assert_eq!(hub.submit(&agent("a"), late).await.unwrap_err().why.code(), "too_late");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_accepted_in_time_is_found_by_its_key_however_late_it_is_repeated() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let by = hub.run_clock().elapsed + seconds(10);
    let call =
        || Submission { record_by: Some(by), idempotency_key: Some("key".into()), ..script() };
    let id = hub.submit(&agent("a"), call()).await.unwrap().id;
    let _running = browser.begin().await;
    sleeps(&hub, seconds(11));
    assert_eq!(hub.submit(&agent("a"), call()).await.unwrap().id, id);
}

#[tokio::test(start_paused = true)]
async fn a_command_of_the_last_life_that_the_machine_slept_through_is_not_sent_in_this_one() {
    let hub = Hub::start(Limits::default());
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let left = hub.tracked(&agent("a"), &id).unwrap().borrow().clone();
    for (asleep, is_sent) in [(seconds(5), true), (NIGHT, false)] {
        let (hub, mut pages) = next_life_after(history(vec![(left.clone(), Some(1))]), asleep);
        let mut browser = Extension::connect(&hub, "b", "i");
        settle().await;
        if is_sent {
            assert_eq!(browser.command().await.0, id);
        } else {
            assert!(browser.is_quiet().await);
            let _ = write(&mut pages);
            assert_never_ran(&look(&hub, "a", &id).await, "daemon_restarted");
        }
    }
}
