//! The transitions table of `docs/lifecycle.md`, row by row.
//!
//! A test `row_<id>_…` takes its row from the page itself: what it sees must stand in
//! the row's From and To cells, and each word in them must be seen. So the page and
//! the code cannot drift apart.

use std::collections::BTreeSet;

use super::page::{all_rows, words};
use super::*;
use crate::protocol::actions::TabListAction;

/// One row of the transitions table. When it is dropped, each of its From and To words
/// must have been seen.
pub(super) struct Row {
    id: &'static str,
    from: BTreeSet<&'static str>,
    to: BTreeSet<&'static str>,
    guard: &'static str,
    effect: &'static str,
    seen_from: BTreeSet<&'static str>,
    seen_to: BTreeSet<&'static str>,
}

impl Row {
    pub(super) fn of(id: &'static str) -> Self {
        let row = all_rows().into_iter().find(|cells| cells[0] == id);
        let row = row.unwrap_or_else(|| panic!("the page has no row {id}"));
        let [_, from, _event, guard, to, effect] = row[..] else { panic!("row {id}: {row:?}") };
        let (seen_from, seen_to) = (BTreeSet::new(), BTreeSet::new());
        Self { id, from: words(from), to: words(to), guard, effect, seen_from, seen_to }
    }

    /// Lets the row's event happen; the states around it must be the row's.
    #[track_caller]
    pub(super) fn take(
        &mut self,
        command: &mut Command,
        event: LifecycleEvent,
        now: Timestamp,
    ) -> Transition {
        let (before, was) = (word(command), format!("{:?}", ending(command)));
        let step = command.apply(event, now);
        let unchanged = self.to.contains("unchanged");
        let to = if unchanged { "unchanged" } else { word(command) };
        self.see(before, to);
        if unchanged {
            assert_eq!(format!("{:?}", ending(command)), was, "row {}", self.id);
        }
        step
    }

    /// The daemon is restarted; the states before and after must be the row's.
    #[track_caller]
    pub(super) fn restart(
        &mut self,
        command: &Command,
        is_same_boot: bool,
        now: Timestamp,
    ) -> Command {
        let after = Command::restore(saved(command), is_same_boot, now);
        self.see(word(command), word(&after));
        after
    }

    #[track_caller]
    fn see(&mut self, from: &'static str, to: &'static str) {
        assert!(self.from.contains(from), "row {}: from {from}, not {:?}", self.id, self.from);
        assert!(self.to.contains(to), "row {}: to {to}, not {:?}", self.id, self.to);
        self.seen_from.insert(from);
        self.seen_to.insert(to);
    }

    /// The page names this word in the row's Effect cell.
    #[track_caller]
    pub(super) fn names(&self, word: &str) {
        let named = self.effect.contains(&format!("`{word}`"));
        assert!(named, "row {}: `{word}` is not in {:?}", self.id, self.effect);
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.seen_from, self.from, "row {}: from", self.id);
            assert_eq!(self.seen_to, self.to, "row {}: to", self.id);
        }
    }
}

#[test]
fn row_3_a_delivery_sends_it_under_the_next_attempt() {
    let mut row = Row::of("3");
    let mut command = command();
    let step =
        row.take(&mut command, LifecycleEvent::Deliver(holder(), Transport::WebSocket), SENT_AT);
    assert_eq!(step, moved(CommandPhase::Queued, CommandPhase::Sent, EventReply::Nothing));
    assert_eq!(
        command.delivery(),
        Some(&Delivery { attempt: FIRST, peer: holder(), transport: Transport::WebSocket })
    );
    assert_eq!(command.next_deadline(), SENT_AT + limits::RESPOND);
    assert_eq!(RESPOND_BY, SENT_AT + limits::RESPOND);
}

#[test]
fn row_4_a_command_that_nobody_takes_expires_at_total() {
    let mut row = Row::of("4");
    let mut unreachable = command();
    let mut waiting = after(command(), [(LifecycleEvent::Reachable, ms(5))]);
    for (command, reason) in
        [(&mut unreachable, ExpiryReason::NoExtension), (&mut waiting, ExpiryReason::NotDelivered)]
    {
        assert_eq!(command.apply(LifecycleEvent::Tick, just_before(TOTAL_BY)), IGNORED);
        let step = row.take(command, LifecycleEvent::Tick, TOTAL_BY);
        assert_eq!(step, moved(CommandPhase::Queued, CommandPhase::Ended, EventReply::Nothing));
        assert_ended(command, &expired(reason, false), TOTAL_BY);
        row.names(reason.code());
    }
}

#[test]
fn row_5_a_claim_of_the_held_attempt_starts_it() {
    let mut row = Row::of("5");
    let mut command = sent();
    assert!(!command.may_go(FIRST));
    let step = row.take(&mut command, LifecycleEvent::Claim(holder(), FIRST), STARTED_AT);
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Started, EventReply::Go));
    assert!(command.may_go(FIRST));
    assert!(!command.may_go(SECOND));
    assert_eq!(command.next_deadline(), STARTED_AT + limits::EXECUTE + limits::REPORT_GRACE);
    row.names("go");
}

#[test]
fn row_5a_it_may_have_run_from_the_moment_that_go_leaves() {
    let mut row = Row::of("5a");
    let mut command = claimed();
    assert!(!command.may_have_run());
    let step = row.take(&mut command, LifecycleEvent::Go(FIRST), STARTED_AT);
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Started, EventReply::Go));
    assert!(command.may_have_run());
    assert_eq!(command.apply(LifecycleEvent::Go(SECOND), STARTED_AT), IGNORED);
    row.names("go");
}

#[test]
fn row_6_a_safe_command_may_report_without_a_claim() {
    let mut row = Row::of("6");
    assert!(row.guard.contains("`safe`"));
    for report in [complete("1"), error("no"), timed_out()] {
        let mut command = safe_sent();
        let step = row.take(&mut command, hears(report.clone()), ENDED_AT);
        assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Ended, EventReply::Ack));
        assert_ended(&command, &outcome_of(report), ENDED_AT);
    }
}

#[test]
fn row_6a_a_safe_command_starts_when_it_is_first_heard_of() {
    let mut row = Row::of("6a");
    let mut command = safe_sent();
    let step = row.take(&mut command, hears(pending()), STARTED_AT);
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Started, EventReply::Nothing));
    assert_eq!(command.next_deadline(), STARTED_AT + limits::EXECUTE + limits::REPORT_GRACE);
    assert_eq!(progress_of(&command), Some((STARTED_AT, Some(0.5))));
}

#[test]
fn row_6b_a_command_that_the_extension_refuses_before_its_claim_never_ran() {
    let mut row = Row::of("6b");
    let mut command = sent();
    let refusal = |may_have_run| {
        let error = ReportedError { may_have_run, ..failure("not there") };
        hears(ExtensionReport::Error { error })
    };
    // Whoever does not say that nothing has run has run it without `go`.
    for may_have_run in [None, Some(true)] {
        let step = command.apply(refusal(may_have_run), ENDED_AT);
        assert_eq!(step, Transition::Unchanged(EventReply::Nack(NackReason::StaleAttempt)));
    }
    let step = row.take(&mut command, refusal(Some(false)), ENDED_AT);
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Ended, EventReply::Ack));
    assert!(!command.may_have_run());
}

#[test]
fn row_7_a_lost_link_puts_it_back_and_respond_runs_on() {
    let mut row = Row::of("7");
    assert_eq!(row.guard, format!("attempt < {}", limits::ATTEMPTS));
    let mut command = sent();
    let step = row.take(&mut command, LifecycleEvent::LinkClosed, ms(1_500));
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Queued, EventReply::Nothing));
    assert_eq!(command.delivery(), None);
    assert_eq!(command.next_deadline(), RESPOND_BY);
}

#[test]
fn row_7a_the_third_lost_link_is_the_last() {
    let mut row = Row::of("7a");
    assert_eq!(row.guard, format!("attempt = {}", limits::ATTEMPTS));
    let mut command = command();
    for attempt in 1..limits::ATTEMPTS {
        let lost = [
            (LifecycleEvent::Deliver(holder(), Transport::WebSocket), SENT_AT),
            (LifecycleEvent::LinkClosed, SENT_AT),
        ];
        command = after(command, lost);
        assert_eq!(count_marks(&command, TracePhase::Requeued), attempt as usize);
    }
    command = after(command, [(LifecycleEvent::Deliver(holder(), Transport::WebSocket), SENT_AT)]);
    let step = row.take(&mut command, LifecycleEvent::LinkClosed, ms(1_500));
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Ended, EventReply::Nothing));
    assert_ended(&command, &expired(ExpiryReason::DeliveryFailed, false), ms(1_500));
    row.names("delivery_failed");
    row.names("may_have_run: false");
}

#[test]
fn row_8_an_extension_that_says_nothing_loses_it_at_respond() {
    let mut row = Row::of("8");
    for (mut command, from) in [(sent(), CommandPhase::Sent), (requeued(), CommandPhase::Queued)] {
        assert_eq!(command.apply(LifecycleEvent::Tick, just_before(RESPOND_BY)), IGNORED);
        let step = row.take(&mut command, LifecycleEvent::Tick, RESPOND_BY);
        assert_eq!(step, moved(from, CommandPhase::Ended, EventReply::Nothing));
        assert_ended(&command, &expired(ExpiryReason::ExtensionNoResponse, false), RESPOND_BY);
    }
    row.names(ExpiryReason::ExtensionNoResponse.code());
}

#[test]
fn row_9_progress_is_recorded_with_its_time() {
    let mut row = Row::of("9");
    let mut command = started();
    for now in [ms(3_000), ms(3_500)] {
        let step = row.take(&mut command, hears(pending()), now);
        assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Started, EventReply::Nothing));
        assert_eq!(progress_of(&command), Some((now, Some(0.5))));
    }
    assert_eq!(command.next_deadline(), EXECUTE_BY);
    assert_eq!(count_marks(&command, TracePhase::FirstPending), 1);
}

#[test]
fn row_10_a_last_word_ends_it() {
    let mut row = Row::of("10");
    for report in [complete("1"), error("no"), timed_out()] {
        let mut command = started();
        let step = row.take(&mut command, hears(report.clone()), ENDED_AT);
        assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Ack));
        assert_ended(&command, &outcome_of(report), ENDED_AT);
    }
    row.names("result_ack");
}

#[test]
fn row_11_a_started_command_waits_for_its_browser() {
    let mut row = Row::of("11");
    let mut command = started();
    let step = row.take(&mut command, LifecycleEvent::LinkClosed, ms(2_000));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Started, EventReply::Nothing));
    assert_eq!(command.next_deadline(), ms(2_000) + limits::AWAY);
    assert_eq!(
        command.apply(LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(2_100)),
        IGNORED,
        "sent again"
    );
    assert_eq!(command.apply(LifecycleEvent::LinkClosed, ms(2_200)), IGNORED);
    assert_eq!(command.next_deadline(), ms(2_000) + limits::AWAY, "a second loss starts nothing");
}

#[test]
fn row_11a_the_same_life_that_only_claimed_it_gets_go_again() {
    let mut row = Row::of("11a");
    let mut command = away();
    let back = LifecycleEvent::Reconnected(holder(), Some(InFlightState::Claimed));
    let step = row.take(&mut command, back, ms(3_000));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Started, EventReply::Go));
    assert_eq!(command.next_deadline(), EXECUTE_BY, "execute is not started anew");
    row.names("go");
}

#[test]
fn row_12_a_browser_without_a_result_for_it_ends_it() {
    let mut row = Row::of("12");
    let gone = expired(ExpiryReason::ExtensionDisconnected, true);

    let mut command = away();
    assert_eq!(command.apply(LifecycleEvent::Tick, ms(4_999)), IGNORED);
    let step = row.take(&mut command, LifecycleEvent::Tick, ms(9_000));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Nothing));
    assert_ended(&command, &gone, ms(5_000));

    let (claimed, running) = (Some(InFlightState::Claimed), Some(InFlightState::Running));
    let reborn = [None, claimed, running].map(|says| (holder_reborn(), says));
    for (peer, says) in reborn.into_iter().chain([(holder(), None)]) {
        let mut command = away();
        let step = row.take(&mut command, LifecycleEvent::Reconnected(peer, says), ms(3_000));
        assert_eq!(
            step,
            moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Nothing),
            "{says:?}"
        );
        assert_ended(&command, &gone, ms(3_000));
    }

    let mut command = restored(&started(), ms(3_000));
    let step = row.take(&mut command, LifecycleEvent::Reconnected(holder(), None), ms(3_500));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Nothing));
    assert_ended(&command, &expired(ExpiryReason::DaemonRestarted, true), ms(3_500));
    row.names("extension_disconnected");
    row.names("daemon_restarted");
    row.names("may_have_run: true");
}

#[test]
fn row_13_a_command_that_runs_too_long_is_timed_out_and_stopped() {
    let mut row = Row::of("13");
    let mut command = started();
    assert_eq!(command.apply(LifecycleEvent::Tick, just_before(EXECUTE_BY)), IGNORED);
    let step = row.take(&mut command, LifecycleEvent::Tick, EXECUTE_BY);
    let why = CancelReason::ExecutionTimeout;
    assert_eq!(step, stops(CommandPhase::Started, CommandPhase::Leaving, EventReply::Nothing, why));
    assert_ended(&command, &overran(), EXECUTE_BY);
    assert_eq!(command.next_deadline(), EXECUTE_BY + limits::LANE_HOLD);
    row.names(CommandOutcome::EXECUTION_TIMEOUT);
    row.names("cancel");
}

#[test]
fn row_14_a_command_that_started_late_is_given_up_at_total() {
    let mut row = Row::of("14");
    let late = [
        (LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(24_000)),
        (LifecycleEvent::Claim(holder(), FIRST), ms(25_000)),
        (LifecycleEvent::Go(FIRST), ms(25_000)),
    ];
    let mut command = after(command(), late);
    assert_eq!(command.apply(LifecycleEvent::Tick, just_before(TOTAL_BY)), IGNORED);
    let step = row.take(&mut command, LifecycleEvent::Tick, TOTAL_BY);
    let why = CancelReason::CommandExpired;
    assert_eq!(step, stops(CommandPhase::Started, CommandPhase::Leaving, EventReply::Nothing, why));
    assert_ended(&command, &expired(ExpiryReason::CommandExpired, true), TOTAL_BY);
    assert_eq!(command.next_deadline(), TOTAL_BY + limits::LANE_HOLD);
    row.names("command_expired");
    row.names("may_have_run: true");
    row.names("cancel");
}

#[test]
fn row_15_a_command_cancelled_before_it_began_never_ran() {
    let mut row = Row::of("15");
    let never_ran = CommandOutcome::cancelled(false);
    for mut command in [command(), requeued()] {
        let step = row.take(&mut command, LifecycleEvent::Cancel, ENDED_AT);
        assert_eq!(step, moved(CommandPhase::Queued, CommandPhase::Ended, EventReply::Nothing));
        assert_ended(&command, &never_ran, ENDED_AT);
    }
    let mut command = sent();
    let step = row.take(&mut command, LifecycleEvent::Cancel, ENDED_AT);
    let why = CancelReason::Cancelled;
    assert_eq!(step, stops(CommandPhase::Sent, CommandPhase::Ended, EventReply::Nothing, why));
    assert_ended(&command, &never_ran, ENDED_AT);
    row.names("may_have_run: false");
}

#[test]
fn row_16_a_command_cancelled_in_the_page_is_stopped_and_may_have_run() {
    let mut row = Row::of("16");
    let mut command = started();
    let step = row.take(&mut command, LifecycleEvent::Cancel, ENDED_AT);
    let why = CancelReason::Cancelled;
    assert_eq!(step, stops(CommandPhase::Started, CommandPhase::Leaving, EventReply::Nothing, why));
    assert_ended(&command, &CommandOutcome::cancelled(true), ENDED_AT);
    assert_eq!(command.next_deadline(), ENDED_AT + limits::LANE_HOLD);
    row.names("may_have_run: true");
    row.names("cancel");
    let mut command = claimed();
    let step = row.take(&mut command, LifecycleEvent::Cancel, ENDED_AT);
    assert_eq!(step, stops(CommandPhase::Started, CommandPhase::Ended, EventReply::Nothing, why));
    assert_ended(&command, &CommandOutcome::cancelled(false), ENDED_AT);
    row.names("false");
}

#[test]
fn row_16b_a_command_that_the_person_stops_says_who_did_it() {
    let mut row = Row::of("16b");
    for (mut command, may_have_run) in [(command(), false), (sent(), false), (started(), true)] {
        let _ = row.take(&mut command, LifecycleEvent::Stop, ENDED_AT);
        let CommandStatus::Cancelled { reason, hint, may_have_run: may, .. } =
            command.report(false).status
        else {
            panic!("it is cancelled")
        };
        assert_eq!((reason, may), (Some("stopped_by_user"), may_have_run));
        assert!(hint.is_some());
    }
    row.names("stopped_by_user");
}

#[test]
fn row_16a_a_person_pressed_stop_and_the_extension_says_whether_it_ran() {
    let mut row = Row::of("16a");
    for (state, phase) in [
        (sent(), CommandPhase::Sent),
        (safe_sent(), CommandPhase::Sent),
        (started(), CommandPhase::Started),
    ] {
        for may_have_run in [false, true] {
            let mut command = state.clone();
            let step = row.take(&mut command, hears(stopped(may_have_run)), ENDED_AT);
            assert_eq!(step, moved(phase, CommandPhase::Ended, EventReply::Ack));
            assert_ended(&command, &CommandOutcome::cancelled(may_have_run), ENDED_AT);
        }
    }
    row.names("may_have_run");
}

#[test]
fn row_17_what_had_not_started_waits_again_with_the_rest_of_its_time() {
    let mut row = Row::of("17");
    for before in [command(), sent(), requeued()] {
        let mut command = row.restart(&before, true, ms(5_000));
        assert_eq!(command.next_deadline(), TOTAL_BY);
        assert_eq!(command.delivery(), None);
        assert_eq!(command.spec().id, before.spec().id);
        let step =
            command.apply(LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(6_000));
        assert_eq!(step, moved(CommandPhase::Queued, CommandPhase::Sent, EventReply::Nothing));
        assert_eq!(command.delivery().map(|delivery| delivery.attempt), Some(FIRST));
    }
    let command = row.restart(&command(), true, just_before(TOTAL_BY));
    assert_eq!(command.next_deadline(), TOTAL_BY);
}

#[test]
fn row_17a_what_had_not_started_is_over_if_its_whole_time_is() {
    let mut row = Row::of("17a");
    for before in [command(), sent(), requeued()] {
        for now in [TOTAL_BY, LATER] {
            let command = row.restart(&before, true, now);
            assert_ended(&command, &expired(ExpiryReason::DaemonRestarted, false), now);
        }
    }
    row.names("daemon_restarted");
    row.names("may_have_run: false");
}

#[test]
fn row_17b_what_had_started_waits_for_its_browser_and_is_never_sent_again() {
    let mut row = Row::of("17b");
    for (before, now) in [(started(), ms(5_000)), (away(), ms(5_000)), (started(), LATER)] {
        let mut command = row.restart(&before, true, now);
        assert_eq!(command.next_deadline(), now + limits::AWAY);
        assert_eq!(command.delivery(), before.delivery());
        assert_eq!(
            command.apply(LifecycleEvent::Deliver(holder(), Transport::WebSocket), now),
            IGNORED,
            "sent again"
        );
        assert_eq!(command.apply(LifecycleEvent::Tick, just_before(now + limits::AWAY)), IGNORED);
        let step = command.apply(LifecycleEvent::Tick, now + limits::AWAY);
        assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Nothing));
        let gone = expired(ExpiryReason::DaemonRestarted, true);
        assert_ended(&command, &gone, now + limits::AWAY);
    }
}

#[test]
fn row_17c_after_a_restart_of_the_machine_nothing_goes_on() {
    let mut row = Row::of("17c");
    for (before, may_have_run) in [(command(), false), (sent(), false), (started(), true)] {
        for now in [ms(5_000), LATER] {
            let command = row.restart(&before, false, now);
            assert_ended(&command, &expired(ExpiryReason::MachineRebooted, may_have_run), now);
        }
    }
    row.names("machine_rebooted");
    row.names("may_have_run");
}

#[test]
fn row_18_the_end_stands_whatever_is_reported_later() {
    let mut row = Row::of("18");
    for mut command in one_of_each_end() {
        for report in every_report() {
            let _ = row.take(&mut command, hears(report), ms(2_500));
        }
        let other = complete("\"another\"");
        let step = row.take(&mut command, hears(other), ms(2_600));
        assert_eq!(step, moved(CommandPhase::Ended, CommandPhase::Ended, OVER));
        assert!(marks(&command).contains(&TracePhase::LateResult));
    }
    let mut command = ended_by(complete("1"));
    let step = row.take(&mut command, hears(complete("1")), ms(2_500));
    assert_eq!(step, moved(CommandPhase::Ended, CommandPhase::Ended, EventReply::Ack));
    assert!(!marks(&command).contains(&TracePhase::LateResult));
    row.names("result_ack");
    row.names("nack: already_terminal");
    row.names("late_result");
}

#[test]
fn row_19_every_end_is_kept_for_the_same_time_from_that_end() {
    let mut row = Row::of("19");
    for mut command in [command(), sent(), started()] {
        assert_eq!(command.retain_until(), None);
        let _ = command.apply(LifecycleEvent::Cancel, ENDED_AT);
        assert_eq!(command.retain_until(), Some(ENDED_AT + limits::RETAIN));
    }
    for mut command in one_of_each_end() {
        let retain_until = ENDED_AT + limits::RETAIN;
        assert_eq!(command.retain_until(), Some(retain_until));
        assert_eq!(command.next_deadline(), retain_until);
        assert_eq!(
            command.apply(LifecycleEvent::Tick, retain_until),
            IGNORED,
            "its keeper drops it"
        );
        row.see(word(&command), "gone");
    }
}

#[test]
fn row_19a_an_outcome_that_is_read_part_by_part_is_kept_meanwhile_and_no_longer_than_ten_minutes() {
    let mut row = Row::of("19a");
    for mut command in one_of_each_end() {
        let usual = ENDED_AT + limits::RETAIN;
        let read_at = ENDED_AT + Duration::from_secs(59);
        let _ = row.take(&mut command, LifecycleEvent::ReadOn, read_at);
        assert_eq!(command.retain_until(), Some(read_at + limits::RETAIN));
        assert_eq!(command.next_deadline(), read_at + limits::RETAIN);
        assert_eq!(command.apply(LifecycleEvent::Tick, usual), IGNORED);
        let late = ENDED_AT + Duration::from_secs(595);
        let _ = row.take(&mut command, LifecycleEvent::ReadOn, late);
        assert_eq!(command.retain_until(), Some(ENDED_AT + limits::RETAIN_READ));
    }
    let mut running = started();
    assert_eq!(running.apply(LifecycleEvent::ReadOn, ms(1_000)), IGNORED);
}

#[test]
fn row_20_an_unread_result_is_told_from_a_read_one() {
    let mut row = Row::of("20");
    let mut command = ended_by(complete("1"));
    assert!(!is_read(&command));
    row.see(word(&command), "gone");
    let read = command.apply(LifecycleEvent::Read, ms(3_000));
    assert_eq!(read, moved(CommandPhase::Ended, CommandPhase::Ended, EventReply::Nothing));
    assert!(is_read(&command));
    assert_eq!(command.apply(LifecycleEvent::Read, ms(4_000)), IGNORED);
    assert_eq!(command.retain_until(), Some(ENDED_AT + limits::RETAIN), "reading keeps nothing");
    assert_eq!(count_marks(&command, TracePhase::FirstRead), 1);
    assert_eq!(trace(&command).last().map(|entry| entry.at), Some(ms(3_000)));
    for mut command in
        [command_of(Action::TabList(TabListAction {}), limits::EXECUTE), sent(), started()]
    {
        assert_eq!(
            command.apply(LifecycleEvent::Read, ms(1_200)),
            IGNORED,
            "there is nothing to read"
        );
    }
}

#[test]
fn row_21_failures_are_listed_and_results_and_cancelled_ones_are_not() {
    let mut row = Row::of("21");
    let failures = [
        (command(), LifecycleEvent::Tick, LATER, "no_extension"),
        (sent(), LifecycleEvent::Tick, LATER, "extension_no_response"),
        (started(), LifecycleEvent::Tick, LATER, "execution_timeout"),
        (started(), hears(timed_out()), ENDED_AT, "execution_timeout"),
        (started(), hears(error("no")), ENDED_AT, "script_threw"),
        (
            started(),
            LifecycleEvent::Reconnected(holder(), None),
            ENDED_AT,
            "extension_disconnected",
        ),
    ];
    for (mut command, event, now, error) in failures {
        assert!(command.as_failed(None).is_none());
        let _ = row.take(&mut command, event, now);
        let failed = command.as_failed(None).expect("a failure");
        assert_eq!(&*failed.error, error);
        assert_eq!(Some(failed.at), ending(&command).map(|(_, at)| at));
    }
    for command in [ended_by(complete("1")), ended_by(stopped(true)), cancelled_in_the_page()] {
        assert!(command.as_failed(None).is_none(), "{}", word(&command));
    }
}
