//! Commands that wait for the person's word: their rows of `docs/lifecycle.md`, and what is between
//! them.

use super::rows::Row;
use super::*;
use crate::protocol::{ConsentKind, ConsentNeed, ConsentSite};

const HELD_AT: Timestamp = ms(1_200);
const ALLOWED_AT: Timestamp = ms(301_200);

pub(super) fn need(site: &str) -> ConsentNeed {
    let site = ConsentSite::parse(site).expect("a site");
    ConsentNeed {
        kind: ConsentKind::Act,
        site,
        document: Some("d1".into()),
        detail: None,
        files: Vec::new(),
    }
}

pub(super) fn hold(attempt: Attempt) -> LifecycleEvent {
    LifecycleEvent::Hold(holder(), attempt, need("https://shop.example"))
}

pub(super) fn held() -> Command {
    after(sent(), [(hold(FIRST), HELD_AT)])
}

const ONCE: LifecycleEvent = LifecycleEvent::Release { is_once: true };

/// Allowed after five minutes, and sent again.
fn sent_again() -> Command {
    let deliver = LifecycleEvent::Deliver(holder(), Transport::WebSocket);
    after(held(), [(ONCE, ALLOWED_AT), (deliver, ALLOWED_AT)])
}

fn denied() -> LifecycleEvent {
    let error =
        ReportedError { may_have_run: Some(false), ..ReportedError::new("denied_by_user", "no") };
    LifecycleEvent::Finish(CommandOutcome::Error { error: error.into() })
}

#[test]
fn row_29_a_command_that_needs_the_persons_word_waits_for_it() {
    let mut row = Row::of("29");
    let mut command = sent();
    let step = row.take(&mut command, hold(FIRST), HELD_AT);
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Held, EventReply::Nothing));
    assert_eq!(command.next_deadline(), HELD_AT + limits::PERSON);
    assert!(!command.may_have_run() && command.delivery().is_none());
    assert!(command.is_to_be_recorded_since(CommandPhase::Sent));
    assert!(
        safe_sent().apply(hold(FIRST), HELD_AT) != STALE,
        "one that only looks can need it, too"
    );
    let mut other = sent();
    assert_eq!(other.apply(hold(SECOND), HELD_AT), STALE);
    let stranger = LifecycleEvent::Hold(stranger(), FIRST, need("https://shop.example"));
    assert_eq!(other.apply(stranger, HELD_AT), STALE);
    for mut other in [command, started(), requeued()] {
        assert_eq!(other.apply(hold(FIRST), ms(1_600)), STALE, "{other:?}");
    }
    let over = Transition::Unchanged(OVER);
    assert_eq!(ended_by(complete("1")).apply(hold(FIRST), ms(2_500)), over);
    let polls = LifecycleEvent::Deliver(holder(), Transport::Poll);
    let mut polled = after(self::command(), [(polls, SENT_AT)]);
    assert_eq!(polled.apply(hold(FIRST), HELD_AT), STALE, "it runs already");
}

#[test]
fn row_29a_a_page_that_is_another_one_after_each_answer_does_not_ask_for_ever() {
    let mut row = Row::of("29a");
    let mut command = sent();
    let mut now = HELD_AT;
    for n in 1..=limits::HOLDS {
        let deliver = LifecycleEvent::Deliver(holder(), Transport::WebSocket);
        command = after(command, [(hold(Attempt(n)), now), (ONCE, now), (deliver, now)]);
        now = now + Duration::from_millis(100);
    }
    let _ = row.take(&mut command, hold(Attempt(limits::HOLDS + 1)), now);
    row.names(shown(&command)["reason"].as_str().expect("a code"));
    assert_eq!(shown(&command)["may_have_run"], false);
}

#[test]
fn row_29b_the_daemon_asks_where_an_extension_asks_nobody() {
    let mut row = Row::of("29b");
    let mut command = self::command();
    let need = need("https://shop.example");
    let event = LifecycleEvent::HoldUndelivered(need.clone());
    let step = row.take(&mut command, event, HELD_AT);
    assert_eq!(step, moved(CommandPhase::Queued, CommandPhase::Held, EventReply::Nothing));
    let polls = LifecycleEvent::Deliver(holder(), Transport::Poll);
    let lost = after(self::command(), [(polls, SENT_AT), (LifecycleEvent::LinkClosed, ms(1_500))]);
    for mut other in [sent(), started(), lost] {
        assert_eq!(other.apply(LifecycleEvent::HoldUndelivered(need.clone()), ms(1_600)), IGNORED);
    }
}

#[test]
fn row_30_what_the_person_allows_goes_on_with_all_of_its_time() {
    let mut row = Row::of("30");
    for is_once in [true, false] {
        let mut command = held();
        let total = sent().total_by();
        let step = row.take(&mut command, LifecycleEvent::Release { is_once }, ALLOWED_AT);
        assert_eq!(step, moved(CommandPhase::Held, CommandPhase::Queued, EventReply::Nothing));
        let allowed = [need("https://shop.example")];
        assert_eq!(command.holds().allowed, if is_once { &allowed[..] } else { &[] });
        assert_eq!(command.total_by(), total + ALLOWED_AT.since(HELD_AT));
        assert!(command.is_to_be_recorded_since(CommandPhase::Held));
    }
    let mut command = sent_again();
    assert_eq!(command.delivery().map(|delivery| delivery.attempt), Some(SECOND));
    assert_eq!(command.apply(LifecycleEvent::Claim(holder(), FIRST), ALLOWED_AT), STALE);
    let command = after(command, [(LifecycleEvent::Claim(holder(), SECOND), ALLOWED_AT)]);
    assert_eq!(word(&command), "Started");
}

#[test]
fn row_31_what_the_person_does_not_allow_has_not_run() {
    let mut row = Row::of("31");
    let mut command = held();
    let _ = row.take(&mut command, denied(), ALLOWED_AT);
    row.names(shown(&command)["reason"].as_str().expect("a code"));
    assert!(!command.may_have_run());
    assert_eq!(command.retain_until(), Some(ACCEPTED_AT + limits::PERSON));
}

#[test]
fn row_32_without_a_word_it_expires_after_ten_minutes() {
    let mut row = Row::of("32");
    let mut command = held();
    let due = HELD_AT + limits::PERSON;
    assert_eq!(command.apply(LifecycleEvent::Tick, just_before(due)), IGNORED);
    let _ = row.take(&mut command, LifecycleEvent::Tick, due);
    assert_ended(&command, &expired(ExpiryReason::NobodyAnswered, false), due);
    row.names(ExpiryReason::NobodyAnswered.code());
    assert_eq!(
        held().apply(ONCE, due),
        moved(CommandPhase::Held, CommandPhase::Ended, EventReply::Nothing)
    );
}

#[test]
fn row_33_cancel_and_stop_end_it() {
    let mut row = Row::of("33");
    for (event, by_user) in [(LifecycleEvent::Cancel, false), (LifecycleEvent::Stop, true)] {
        let mut command = held();
        let step = row.take(&mut command, event, ENDED_AT);
        assert_eq!(step, moved(CommandPhase::Held, CommandPhase::Ended, EventReply::Nothing));
        let outcome = CommandOutcome::Cancelled { may_have_run: false, by_user };
        assert_ended(&command, &outcome, ENDED_AT);
    }
}

#[test]
fn row_34_a_restart_of_the_daemon_takes_none_of_the_persons_time() {
    let mut row = Row::of("34");
    let mut command = row.restart(&held(), true, ms(60_000));
    assert_eq!(command.next_deadline(), HELD_AT + limits::PERSON);
    assert_eq!(command.hold().map(|hold| &hold.need), Some(&need("https://shop.example")));
    let step = command.apply(ONCE, ALLOWED_AT);
    assert_eq!(step, moved(CommandPhase::Held, CommandPhase::Queued, EventReply::Nothing));
    // A word that was given before the restart is not asked for again.
    let command = restored(&command, ALLOWED_AT);
    assert_eq!(word(&command), "Queued");
    assert_eq!(command.holds().allowed.len(), 1);
    assert!(command.total_by() > ALLOWED_AT);
}

#[test]
fn row_34a_a_restart_of_the_machine_ends_it() {
    let mut row = Row::of("34a");
    let command = row.restart(&held(), false, ms(5_000));
    assert_ended(&command, &expired(ExpiryReason::MachineRebooted, false), ms(5_000));
    row.names(ExpiryReason::MachineRebooted.code());
}

#[test]
fn no_extension_has_a_word_in_a_hold() {
    let mut command = held();
    for event in [
        LifecycleEvent::Reachable,
        LifecycleEvent::Deliver(holder(), Transport::WebSocket),
        LifecycleEvent::Claim(holder(), FIRST),
        LifecycleEvent::Go(FIRST),
        hears(complete("1")),
        LifecycleEvent::LinkClosed,
        LifecycleEvent::Reconnected(holder(), None),
        LifecycleEvent::Begin,
    ] {
        let step = command.apply(event, ms(1_500));
        assert!(matches!(step, Transition::Unchanged(_)), "{step:?}");
    }
    assert_eq!(word(&command), "Held");
}

#[test]
fn a_held_command_says_who_decides_and_where() {
    let told = shown(&held());
    assert_eq!(told["status"], "waiting_for_user");
    let message = told["message"].as_str().expect("text");
    assert!(message.contains("https://shop.example") && message.contains("popup"), "{message}");
    assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("exec_1")));
}

#[test]
fn a_lost_link_after_the_word_leaves_as_many_deliveries_as_ever() {
    let mut command = sent_again();
    for _ in 1..limits::ATTEMPTS {
        let deliver = LifecycleEvent::Deliver(holder(), Transport::WebSocket);
        command = after(command, [(LifecycleEvent::LinkClosed, ALLOWED_AT), (deliver, ALLOWED_AT)]);
    }
    let command = after(command, [(LifecycleEvent::LinkClosed, ALLOWED_AT)]);
    assert_ended(&command, &expired(ExpiryReason::DeliveryFailed, false), ALLOWED_AT);
}
