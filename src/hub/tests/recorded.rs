//! What waits for the journal, and how a hub goes on with what another has recorded.

use super::*;
use crate::engine::{JournalEntry, RecordedCommand, RecordedKey, UsedTab};
use crate::journal::JournalReader;
use crate::lifecycle::{Command, CommandHold, CommandState, SavedCommand, SavedStage};
use crate::protocol::actions::{BackAction, RefreshAction};

/// A hub whose journal is written when a test says so.
pub(super) fn recording() -> (Hub, JournalReader) {
    let (journal, pages) = Journal::channel();
    let hub =
        Hub::open(Limits::default(), journal, RecordedHistory::default(), &reading("boot", 100));
    (hub, pages)
}

fn reading(boot: &str, monotonic: u64) -> ClockSample {
    let system = Timestamp::from_unix_micros(1_795_298_985_000_000);
    ClockSample { boot: boot.into(), monotonic: seconds(monotonic), asleep: Duration::ZERO, system }
}

pub(super) fn write(pages: &mut JournalReader) -> Vec<JournalEntry> {
    pages.take_batch();
    let batch: Vec<_> = pages.batch().cloned().collect();
    pages.recorded();
    batch
}

/// Lets other tasks have their turn; what can happen without the journal has happened.
pub(super) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// A command that runs: its start is recorded, and `go` has left.
async fn running(hub: &Hub, pages: &mut JournalReader, browser: &mut Extension) -> CorrelationId {
    let _ = write(pages);
    let submitting = tokio::spawn(submit(hub.clone(), script()));
    let (id, attempt, _) = browser.command().await;
    browser.claim(&id, attempt);
    let _ = write(pages);
    assert!(matches!(browser.frame().await, ToExtension::Go { .. }));
    assert_eq!(submitting.await.unwrap().unwrap().id, id);
    id
}

async fn submit(hub: Hub, call: Submission) -> Result<CommandReceipt, CallRefusal> {
    hub.submit(&agent("a"), call).await
}

const FIRST: Attempt = Attempt(1);

#[tokio::test(start_paused = true)]
async fn a_command_is_sent_before_it_is_recorded_and_its_caller_is_answered_after() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::connect(&hub, "b", "i");
    let submitting = tokio::spawn(submit(hub.clone(), script()));
    let (id, ..) = browser.command().await;
    settle().await;
    assert!(!submitting.is_finished());
    let entries = write(&mut pages);
    assert!(entries.iter().any(|entry| matches!(entry, JournalEntry::Accepted(_))), "{entries:?}");
    assert_eq!(submitting.await.unwrap().unwrap().id, id);
}

#[tokio::test(start_paused = true)]
async fn go_leaves_after_the_start_is_recorded_and_other_frames_do_not_wait_for_it() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::connect(&hub, "b", "i");
    let submitting = tokio::spawn(submit(hub.clone(), script()));
    let (id, attempt, _) = browser.command().await;
    browser.claim(&id, attempt);
    assert!(browser.is_quiet().await);
    browser.link.ping();
    assert!(matches!(browser.frame().await, ToExtension::Ping { .. }));
    let entries = write(&mut pages);
    let is_started =
        |entry: &JournalEntry| matches!(entry, JournalEntry::Changed(c) if c.may_go(FIRST));
    assert!(entries.iter().any(is_started), "{entries:?}");
    assert!(matches!(browser.frame().await, ToExtension::Go { .. }));
    submitting.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn go_never_leaves_for_a_command_that_was_cancelled_while_its_start_was_recorded() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::connect(&hub, "b", "i");
    let submitting = tokio::spawn(submit(hub.clone(), script()));
    let (id, attempt, _) = browser.command().await;
    browser.claim(&id, attempt);
    let cancelling = tokio::spawn({
        let (hub, id) = (hub.clone(), id.clone());
        async move { hub.cancel(&agent("a"), &id).await }
    });
    assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
    let _ = write(&mut pages);
    assert!(browser.is_quiet().await, "no go");
    let CommandLookup::Command(report) = cancelling.await.unwrap().unwrap() else { panic!() };
    assert!(matches!(report.status, CommandStatus::Cancelled { may_have_run: false, .. }));
    submitting.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_result_is_acknowledged_and_told_after_it_is_recorded() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = running(&hub, &mut pages, &mut browser).await;
    let waiting = tokio::spawn({
        let (hub, id) = (hub.clone(), id.clone());
        async move { hub.wait(&agent("a"), &id, seconds(5), false).await }
    });
    settle().await;
    browser.report(&id, FIRST, result("Home"));
    assert!(browser.is_quiet().await, "no acknowledgement");
    assert!(!waiting.is_finished());
    let _ = write(&mut pages);
    assert!(matches!(browser.frame().await, ToExtension::ResultAck { .. }));
    let CommandLookup::Command(report) = waiting.await.unwrap().unwrap() else { panic!() };
    assert!(matches!(report.status, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn that_a_command_is_pending_is_told_at_once() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = running(&hub, &mut pages, &mut browser).await;
    browser.report(&id, FIRST, pending());
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Pending { .. }));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_is_refused_taken_back_and_never_runs() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::connect(&hub, "b", "i");
    let call = Submission { idempotency_key: Some("k".into()), ..script() };
    let submitting = tokio::spawn(submit(hub.clone(), call.clone()));
    let (id, attempt, _) = browser.command().await;
    pages.take_batch();
    pages.failed("the disk is full");
    let refused = submitting.await.unwrap().unwrap_err();
    let RefusalReason::StorageUnavailable { why } = &refused.why else { panic!("{refused:?}") };
    assert_eq!(&**why, "the disk is full");
    browser.claim(&id, attempt);
    assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
    assert_eq!(hub.health().pending, 0);
    assert_eq!(failures(&hub, "a")[&refused.id], "storage_unavailable");
    // The next one is not even sent; and once there is room, the key is free.
    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::StorageUnavailable { .. }));
    assert_eq!(hub.storage(), StorageStatus::Unavailable { why: "the disk is full".into() });
    let _ = write(&mut pages);
    let _ = write(&mut pages);
    assert_eq!(hub.storage(), StorageStatus::Journal { moved_aside: None });
    let submitting = tokio::spawn(submit(hub.clone(), call));
    settle().await;
    let _ = write(&mut pages);
    assert_ne!(submitting.await.unwrap().unwrap().id, id);
}

#[tokio::test(start_paused = true)]
async fn a_known_key_is_its_command_although_what_came_after_cannot_be_recorded() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::connect(&hub, "b", "i");
    let call = || Submission { idempotency_key: Some("k".into()), ..script() };
    let submitting = tokio::spawn(submit(hub.clone(), call()));
    let (id, attempt, _) = browser.command().await;
    let _ = write(&mut pages);
    assert_eq!(submitting.await.unwrap().unwrap().id, id);
    browser.claim(&id, attempt);
    pages.take_batch();
    pages.failed("the disk is full");
    assert_eq!(submit(hub.clone(), call()).await.unwrap().id, id);
    let _ = write(&mut pages);
    assert!(matches!(browser.frame().await, ToExtension::Go { .. }), "and it is untouched");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_twice_and_cannot_be_recorded_is_taken_back_for_both() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::connect(&hub, "b", "i");
    let call = || Submission { idempotency_key: Some("k".into()), ..script() };
    let first = tokio::spawn(submit(hub.clone(), call()));
    let (id, attempt, _) = browser.command().await;
    // Its caller goes away before it is answered, and calls again.
    first.abort();
    assert!(first.await.is_err());
    browser.claim(&id, attempt);
    pages.take_batch();
    pages.failed("the disk is full");
    let refused = submit(hub.clone(), call()).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::StorageUnavailable { .. }));
    let entries = write(&mut pages);
    let is_withdrawn =
        |entry: &JournalEntry| matches!(entry, JournalEntry::Withdrawn(gone) if *gone == id);
    assert!(entries.iter().any(is_withdrawn), "{entries:?}");
    assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
    assert!(browser.is_quiet().await, "no go");
}

#[tokio::test(start_paused = true)]
async fn in_trouble_what_was_recorded_can_be_read_and_what_was_not_is_not_told() {
    let (hub, mut pages) = recording();
    let mut browser = Extension::connect(&hub, "b", "i");
    let first = running(&hub, &mut pages, &mut browser).await;
    browser.report(&first, FIRST, result("Home"));
    let _ = write(&mut pages);
    assert!(matches!(browser.frame().await, ToExtension::ResultAck { .. }));
    let second = running(&hub, &mut pages, &mut browser).await;
    browser.report(&second, FIRST, result("Home"));
    pages.take_batch();
    pages.failed("the disk is full");
    assert!(matches!(look(&hub, "a", &first).await, CommandStatus::Complete { .. }));
    let refused = hub.get(&agent("a"), &second, false).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::StorageUnavailable { .. }));
    let _ = write(&mut pages);
    assert!(matches!(look(&hub, "a", &second).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn long_scripts_are_recorded_one_at_a_time_and_what_is_short_does_not_wait_for_them() {
    let (hub, mut pages) = recording();
    let _ = write(&mut pages);
    let long = || script_of(&"x".repeat(100 << 10));
    let waiting = [0; 3].map(|_| tokio::spawn(submit(hub.clone(), long())));
    settle().await;
    let short = tokio::spawn(submit(hub.clone(), script()));
    for recorded in [2, 1, 1] {
        settle().await;
        let entries = write(&mut pages);
        let accepted = entries.iter().filter(|entry| matches!(entry, JournalEntry::Accepted(_)));
        assert_eq!(accepted.count(), recorded, "{entries:?}");
    }
    short.await.unwrap().unwrap();
    for one in waiting {
        one.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn more_results_than_may_be_kept_refuse_what_is_new_until_some_have_gone() {
    let hub = Hub::start(Limits { kept_mib: 1, ..Limits::default() });
    let mut browser = Extension::connect(&hub, "b", "i");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, &"x".repeat(1 << 20)).await;
    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    let RefusalReason::StorageUnavailable { why } = &refused.why else { panic!("{refused:?}") };
    assert!(why.contains("1 MiB"), "{why}");
    pass(limits::RETAIN).await;
    hub.submit(&agent("a"), script()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_owner_who_keeps_as_much_as_they_may_leaves_room_for_others() {
    let hub = Hub::start(Limits { kept_mib: 1, ..Limits::default() });
    let large = || script_of(&"x".repeat(200 << 10));
    let mut taken = Vec::new();
    for client in ["a", "b", "c", "d"] {
        taken.push(hub.submit(&agent(client), large()).await.unwrap().id);
    }
    // A name is free: what counts is the owner.
    let refused = hub.submit(&agent("e"), script()).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::StorageUnavailable { .. }), "{refused:?}");
    let other = Caller { owner: "ci".into(), client: "a".into() };
    hub.submit(&other, large()).await.unwrap();
    // What has ended is kept as well, for as long as it can be read.
    let _ = hub.cancel(&agent("a"), &taken[0]).await.unwrap();
    hub.submit(&agent("e"), script()).await.unwrap_err();
    pass(limits::RETAIN).await;
    hub.submit(&agent("e"), script()).await.unwrap();
}

// Idempotency.

#[tokio::test(start_paused = true)]
async fn the_same_key_from_the_same_client_is_the_same_command() {
    let hub = Hub::start(Limits::default());
    let call = || Submission { idempotency_key: Some("k".into()), ..script() };
    let first = hub.submit(&agent("a"), call()).await.unwrap();
    let again = hub.submit(&agent("a"), call()).await.unwrap();
    assert_eq!((&again.id, &again.query_id), (&first.id, &first.query_id));
    let stranger = Caller { owner: "other".into(), client: "a".into() };
    for another in [agent("another client"), stranger] {
        assert_ne!(hub.submit(&another, call()).await.unwrap().id, first.id, "{another:?}");
    }
    assert_eq!(hub.lists(&agent("a")).pending.len(), 1);
    pass(limits::IDEMPOTENT).await;
    assert_ne!(hub.submit(&agent("a"), call()).await.unwrap().id, first.id);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_stands_for_another_call_is_refused_and_names_it() {
    let hub = Hub::start(Limits::default());
    let call = |action| Submission { action, idempotency_key: Some("k".into()), ..script() };
    let first = hub.submit(&agent("a"), call(Action::Refresh(RefreshAction {}))).await.unwrap();
    let refused = hub.submit(&agent("a"), call(Action::Back(BackAction {}))).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::KeyReused { id } if id == first.id));
    // Also once nothing but the key is left of the first call.
    let _ = hub.cancel(&agent("a"), &first.id).await.unwrap();
    pass(limits::RETAIN).await;
    assert!(matches!(hub.get(&agent("a"), &first.id, false).await, Ok(CommandLookup::Evicted(_))));
    let refused = hub.submit(&agent("a"), call(Action::Back(BackAction {}))).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::KeyReused { id } if id == first.id));
    assert_eq!(
        hub.submit(&agent("a"), call(Action::Refresh(RefreshAction {}))).await.unwrap().id,
        first.id
    );
}

#[tokio::test(start_paused = true)]
async fn a_key_that_stands_for_the_same_work_in_another_tab_or_browser_is_refused() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let call = |browser: Option<&str>, tab: Option<i64>| {
        let selector = TargetSelector { browser: browser.map(str::to_owned), tab: tab.map(TabId) };
        Submission { selector, idempotency_key: Some("k".into()), ..script() }
    };
    let first = hub.submit(&agent("a"), call(None, Some(1))).await.unwrap();
    for other in [call(None, Some(2)), call(None, None), call(Some("b"), Some(1))] {
        let refused = hub.submit(&agent("a"), other).await.unwrap_err();
        assert!(matches!(refused.why, RefusalReason::KeyReused { id } if id == first.id));
    }
    assert_eq!(hub.submit(&agent("a"), call(None, Some(1))).await.unwrap().id, first.id);
    let _ = browser.command().await;
    assert!(browser.is_quiet().await, "one command, once");
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_target_is_the_same_call_although_the_current_tab_has_changed() {
    let hub = Hub::start(Limits::default());
    let _browser = Extension::connect(&hub, "b", "i");
    let call = || Submission { idempotency_key: Some("k".into()), ..script() };
    let first = hub.submit(&agent("a"), call()).await.unwrap();
    let elsewhere = TargetSelector { browser: None, tab: Some(TabId(2)) };
    hub.submit(&agent("a"), Submission { selector: elsewhere, ..script() }).await.unwrap();
    assert_eq!(hub.submit(&agent("a"), call()).await.unwrap().id, first.id);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_leaves_its_key_free() {
    let hub = Hub::start(Limits::default());
    for _ in 0..5 {
        hub.submit(&agent("a"), script()).await.unwrap();
    }
    let call = || Submission { idempotency_key: Some("k".into()), ..script() };
    hub.submit(&agent("a"), call()).await.unwrap_err();
    let waiting = hub.lists(&agent("a")).pending[0].correlation_id.clone();
    let _ = hub.cancel(&agent("a"), &waiting).await.unwrap();
    hub.submit(&agent("a"), call()).await.unwrap();
}

// Ending.

#[tokio::test(start_paused = true)]
async fn an_ending_daemon_lets_running_commands_finish_and_begins_no_other() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    hub.submit(&agent("a"), script_in(1)).await.unwrap();
    let (running, attempt) = browser.begin().await;
    hub.submit(&agent("a"), script_in(2)).await.unwrap();
    let (delivered, ..) = browser.command().await;
    let draining = tokio::spawn({
        let hub = hub.clone();
        async move { hub.drain(limits::DRAIN).await }
    });
    settle().await;
    browser.claim(&delivered, attempt);
    assert!(browser.is_quiet().await, "no go");
    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::ShuttingDown));
    assert!(!draining.is_finished());
    browser.complete(&running, attempt, "Home").await;
    settle().await;
    assert!(draining.is_finished());
}

#[tokio::test(start_paused = true)]
async fn an_ending_daemon_waits_no_longer_than_two_seconds() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    hub.submit(&agent("a"), script()).await.unwrap();
    let _running = browser.begin().await;
    let began = hub.now();
    hub.drain(limits::DRAIN).await;
    assert_eq!(hub.now().since(began).as_secs(), limits::DRAIN.as_secs());
}

// The next life.

/// What a hub that was killed has left: its commands, each as far as it was recorded.
pub(super) fn history(commands: Vec<(Command, Option<i64>)>) -> RecordedHistory {
    let kept = commands.into_iter().map(|(command, tab)| {
        let stage = match command.state() {
            CommandState::Queued { .. } | CommandState::Sent { .. }
                if command.holds().times > 0 =>
            {
                SavedStage::Released { at: command.spec().created }
            }
            CommandState::Queued { .. } | CommandState::Sent { .. } | CommandState::Waiting => {
                SavedStage::Accepted
            }
            CommandState::Held { hold, .. } => SavedStage::Held(CommandHold::clone(hold)),
            CommandState::Working { .. } => SavedStage::Working { at: command.started_at() },
            CommandState::Started { delivery, .. } => {
                SavedStage::Started { delivery: delivery.clone(), at: command.started_at() }
            }
            CommandState::Ended { at, outcome, delivery, read, .. } => SavedStage::Ended {
                at: *at,
                outcome: outcome.clone(),
                delivery: delivery.clone(),
                read: *read,
            },
        };
        let lane = tab.map(|tab| Lane { browser: "b".into(), tab: Some(TabId(tab)) });
        let (spec, holds) = (command.spec().clone(), command.holds().clone());
        let saved = SavedCommand { spec, stage, trace: command.marks().into(), holds };
        RecordedCommand { saved, lane, selector: TargetSelector::default() }
    });
    let anchor =
        ClockAnchor { boot: "boot".into(), monotonic: seconds(100), at: reading("", 0).system };
    RecordedHistory { commands: kept.collect(), anchor: Some(anchor), ..RecordedHistory::default() }
}

/// The next life of the daemon, a second after the last one began.
pub(super) fn next_life(history: RecordedHistory) -> (Hub, JournalReader) {
    next_life_after(history, Duration::ZERO)
}

/// The same on a machine that has slept for this long since it was started.
pub(super) fn next_life_after(history: RecordedHistory, asleep: Duration) -> (Hub, JournalReader) {
    let (journal, pages) = Journal::channel();
    let reading = ClockSample { asleep, ..reading("boot", 101) };
    let hub = Hub::open(Limits::default(), journal, history, &reading);
    (hub, pages)
}

/// Has a command brought to some point by a hub, and takes it as it is then.
async fn left_by(
    bring: impl AsyncFn(&Hub, &mut Extension, &CorrelationId),
) -> (CorrelationId, Command) {
    let hub = Hub::open(
        Limits::default(),
        Journal::ephemeral(),
        RecordedHistory::default(),
        &reading("boot", 100),
    );
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    bring(&hub, &mut browser, &id).await;
    let command = hub.tracked(&agent("a"), &id).unwrap().borrow().clone();
    (id, command)
}

async fn begin(_: &Hub, browser: &mut Extension, _: &CorrelationId) {
    browser.begin().await;
}

fn in_flight(id: &CorrelationId, state: InFlightState) -> Vec<InFlight> {
    vec![InFlight { correlation_id: id.clone(), attempt: FIRST, state }]
}

#[tokio::test(start_paused = true)]
async fn a_command_that_had_not_begun_is_sent_again_in_the_next_life() {
    let (id, command) = left_by(async |_, browser, _| drop(browser.command().await)).await;
    let (hub, mut pages) = next_life(history(vec![(command, Some(1))]));
    let mut browser = Extension::connect(&hub, "b", "i");
    let (again, attempt, _) = browser.command().await;
    assert_eq!((&again, attempt), (&id, FIRST));
    browser.claim(&id, attempt);
    let _ = write(&mut pages);
    assert!(matches!(browser.frame().await, ToExtension::Go { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_had_begun_is_never_sent_again_and_its_tab_waits_for_it() {
    let (id, command) = left_by(begin).await;
    let (hub, mut pages) = next_life(history(vec![(command, Some(1))]));
    let waiting = tokio::spawn(submit(hub.clone(), script_in(1)));
    settle().await;
    let _ = write(&mut pages);
    waiting.await.unwrap().unwrap();
    let mut browser = Extension::attach(&hub, "b", "i");
    browser.ready(in_flight(&id, InFlightState::Running));
    assert!(browser.is_quiet().await);
    browser.report(&id, FIRST, result("Home"));
    let (next, ..) = browser.command().await;
    assert_ne!(next, id);
    let _ = write(&mut pages);
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_command_whose_browser_does_not_know_it_or_stays_away_ends_as_daemon_restarted() {
    for comes_back in [true, false] {
        let (id, command) = left_by(begin).await;
        let (hub, mut pages) = next_life(history(vec![(command, Some(1))]));
        let _browser = comes_back.then(|| Extension::connect(&hub, "b", "i"));
        if !comes_back {
            pass(limits::AWAY).await;
        }
        let entries = write(&mut pages);
        assert!(
            entries.iter().any(|entry| matches!(entry, JournalEntry::Changed(_))),
            "it is recorded"
        );
        let status = look(&hub, "a", &id).await;
        assert_eq!(reason(&status), "daemon_restarted");
        assert!(matches!(status, CommandStatus::Expired { may_have_run: true, .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_is_kept_for_the_rest_of_its_time_and_whether_it_was_read() {
    let (id, command) = left_by(async |hub, browser, id| {
        browser.begin().await;
        browser.complete(id, FIRST, "Home").await;
        hub.mark_read(&agent("a"), id);
    })
    .await;
    let (hub, mut pages) = next_life(history(vec![(command, Some(1))]));
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Complete { .. }));
    // A second of it has passed between the two lives.
    pass(limits::RETAIN - seconds(1)).await;
    let _ = write(&mut pages);
    assert!(matches!(hub.get(&agent("a"), &id, false).await.unwrap(), CommandLookup::Evicted(_)));
    assert!(failures(&hub, "a").is_empty(), "it was read");
}

#[tokio::test(start_paused = true)]
async fn after_a_reboot_nothing_is_sent_again() {
    let (id, command) = left_by(async |_, browser, _| drop(browser.command().await)).await;
    let (journal, _pages) = Journal::channel();
    let history = history(vec![(command, Some(1))]);
    let hub = Hub::open(Limits::default(), journal, history, &reading("another boot", 7));
    let mut browser = Extension::connect(&hub, "b", "i");
    assert!(browser.is_quiet().await);
    let entry = failures(&hub, "a");
    assert_eq!(entry[&id], "machine_rebooted");
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_was_restarted_with_the_daemon_is_in_another_session() {
    let current = crate::engine::CurrentTabRecord {
        client: "a".into(),
        owner: "user".into(),
        browser: "b".into(),
        tab: Some(TabId(4)),
        at: reading("", 0).system,
        used: Vec::new(),
    };
    for (session, tab) in [("of before", 4), ("another", 1)] {
        let left = RecordedHistory {
            clients: vec![current.clone()],
            sessions: vec![("b".into(), "of before".into())],
            ..history(Vec::new())
        };
        let (hub, mut pages) = next_life(left);
        let mut browser = Extension::attach(&hub, "b", "i");
        browser.ready_with(Some(session), tabs(1..=10, "http://127.0.0.1/"), Vec::new());
        let submitting = tokio::spawn(submit(hub.clone(), script()));
        let ToExtension::Command { command, .. } = browser.frame().await else { panic!() };
        assert_eq!(command.tab_id, Some(TabId(tab)), "{session}");
        let _ = write(&mut pages);
        submitting.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn tombstones_keys_and_current_tabs_outlive_the_daemon() {
    let now = reading("", 0).system;
    let gone = Tombstone { owner: "user".into(), at: now, may_have_run: true };
    let current = crate::engine::CurrentTabRecord {
        client: "a".into(),
        owner: "user".into(),
        browser: "b".into(),
        tab: Some(TabId(4)),
        at: now,
        used: [3, 4].map(|tab| UsedTab { browser: "b".into(), tab: TabId(tab), at: now }).into(),
    };
    let key = RecordedKey {
        owner: "user".into(),
        key: "k".into(),
        client: "a".into(),
        id: "exec_1".into(),
        query_id: "q".into(),
        accepted: now,
        digest: None,
    };
    let left = RecordedHistory {
        gone: vec![("exec_1".into(), "a".into(), gone)],
        keys: vec![key],
        clients: vec![current],
        ..history(Vec::new())
    };
    let (hub, mut pages) = next_life(left);
    assert!(matches!(
        hub.get(&agent("a"), &"exec_1".into(), false).await,
        Ok(CommandLookup::Evicted(_))
    ));
    let call = Submission { idempotency_key: Some("k".into()), ..script() };
    assert_eq!(hub.submit(&agent("a"), call).await.unwrap().id.as_str(), "exec_1");
    // So do the tabs that it has to tell apart, before their browser is back, too.
    let unnamed = Submission { takes_tab: true, ..script() };
    let refused = hub.submit(&agent("a"), unnamed).await.unwrap_err();
    assert!(matches!(&refused.why, RefusalReason::WhichTab { tabs } if tabs.len() == 2));
    // The browser is not back yet: the command waits for it, in the tab of the last life.
    let waiting = tokio::spawn(submit(hub.clone(), script()));
    settle().await;
    let _ = write(&mut pages);
    waiting.await.unwrap().unwrap();
    let mut browser = Extension::connect(&hub, "b", "i");
    let ToExtension::Command { command, .. } = browser.frame().await else { panic!() };
    assert_eq!(command.tab_id, Some(TabId(4)));
}

#[tokio::test(start_paused = true)]
async fn a_key_keeps_its_client_and_its_target_over_a_restart() {
    let now = reading("", 0).system;
    let call = |tab| {
        let selector = TargetSelector { browser: None, tab: Some(TabId(tab)) };
        Submission { selector, idempotency_key: Some("k".into()), ..script() }
    };
    let digest = call(1).key().map(|key| key.digest);
    let key = RecordedKey {
        owner: "user".into(),
        key: "k".into(),
        client: "a".into(),
        id: "exec_1".into(),
        query_id: "q".into(),
        accepted: now,
        digest,
    };
    let (hub, mut pages) = next_life(RecordedHistory { keys: vec![key], ..history(Vec::new()) });
    assert_eq!(hub.submit(&agent("a"), call(1)).await.unwrap().id.as_str(), "exec_1");
    let refused = hub.submit(&agent("a"), call(2)).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::KeyReused { id } if id.as_str() == "exec_1"));
    let of_another = tokio::spawn(async move { hub.submit(&agent("b"), call(1)).await });
    settle().await;
    let _ = write(&mut pages);
    assert_ne!(of_another.await.unwrap().unwrap().id.as_str(), "exec_1");
}

#[tokio::test(start_paused = true)]
async fn a_key_of_an_older_journal_stands_for_what_its_command_was_asked_for() {
    let (id, command) = left_by(async |_, _, _| {}).await;
    let spec = command.spec().clone();
    let key = RecordedKey {
        owner: spec.owner,
        key: "k".into(),
        client: spec.client,
        id: id.clone(),
        query_id: spec.query_id,
        accepted: spec.created,
        digest: None,
    };
    let action = spec.work.action().unwrap().clone();
    let call = |tab| {
        let selector = TargetSelector { browser: None, tab: Some(TabId(tab)) };
        let action = action.clone();
        Submission { action, selector, idempotency_key: Some("k".into()), ..script() }
    };
    let mut left = RecordedHistory { keys: vec![key], ..history(vec![(command, Some(1))]) };
    left.commands[0].selector = call(1).selector;
    let (hub, _pages) = next_life(left);
    assert_eq!(hub.submit(&agent("a"), call(1)).await.unwrap().id, id);
    let refused = hub.submit(&agent("a"), call(2)).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::KeyReused { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_key_from_before_the_clock_was_set_back_makes_no_younger_one_look_old() {
    let now = reading("", 0).system;
    let key = |key: &str, accepted| RecordedKey {
        owner: "user".into(),
        key: key.into(),
        client: "a".into(),
        id: format!("exec_{key}").into(),
        query_id: "q".into(),
        accepted,
        digest: None,
    };
    let keys = vec![key("young", now), key("from the future", now + seconds(3_600))];
    let (hub, _pages) = next_life(RecordedHistory { keys, ..history(Vec::new()) });
    let call = Submission { idempotency_key: Some("young".into()), ..script() };
    assert_eq!(hub.submit(&agent("a"), call).await.unwrap().id.as_str(), "exec_young");
}
