//! What becomes of a command when the daemon is restarted, between the rows 17 to 17c.

use super::*;
use crate::protocol::InFlightState::{Claimed, Done, Running};

/// The daemon is back; the command had started.
const BACK_AT: Timestamp = ms(5_000);
/// When a browser that is still away is given up.
const GIVEN_UP_AT: Timestamp = ms(8_000);
/// The daemon is back, and all of the command's time is over.
const TOO_LATE: Timestamp = LATER;

fn waits_for_its_browser() -> Command {
    restored(&started(), BACK_AT)
}

fn given_up() -> CommandOutcome {
    expired(ExpiryReason::DaemonRestarted, true)
}

// ── It had started ──────────────────────────────────────────────────────────────────

#[test]
fn a_browser_that_still_runs_it_goes_on_without_a_second_go() {
    let mut command = waits_for_its_browser();
    let step = command.apply(LifecycleEvent::Reconnected(holder(), Some(Running)), ms(6_000));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Started, EventReply::Nothing));
    assert_eq!(command.next_deadline(), EXECUTE_BY, "as if nothing had happened");
    let step = command.apply(hears(complete("1")), ms(7_000));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Ack));
    assert_ended(&command, &outcome_of(complete("1")), ms(7_000));
}

#[test]
fn a_browser_that_only_claimed_it_gets_go_again() {
    let mut command = waits_for_its_browser();
    let step = command.apply(LifecycleEvent::Reconnected(holder(), Some(Claimed)), ms(6_000));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Started, EventReply::Go));
    assert!(command.may_go(FIRST));
}

#[test]
fn a_result_that_was_made_while_nobody_listened_counts_however_late_it_is() {
    for peer in [holder(), holder_reborn()] {
        for now in [BACK_AT, TOO_LATE] {
            let mut command = restored(&started(), now);
            let done = LifecycleEvent::Reconnected(peer.clone(), Some(Done));
            assert_eq!(command.apply(done, now), IGNORED, "the result will follow");
            let replay = LifecycleEvent::Report(peer.clone(), FIRST, complete("1"));
            let arrives = now + Duration::from_millis(2_999);
            let step = command.apply(replay, arrives);
            assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Ack));
            assert_ended(&command, &outcome_of(complete("1")), arrives);
        }
    }
}

#[test]
fn a_result_that_was_announced_and_does_not_come_is_waited_for_no_longer() {
    let mut command = waits_for_its_browser();
    let _ = command.apply(LifecycleEvent::Reconnected(holder(), Some(Done)), ms(6_000));
    assert_eq!(command.apply(LifecycleEvent::LinkClosed, ms(6_500)), IGNORED);
    let _ = command.apply(LifecycleEvent::Reconnected(holder(), Some(Done)), ms(7_500));
    assert_eq!(command.next_deadline(), GIVEN_UP_AT, "nothing prolongs it");
    let step = command.apply(hears(complete("1")), GIVEN_UP_AT);
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, OVER));
    assert_ended(&command, &given_up(), GIVEN_UP_AT);
}

#[test]
fn a_browser_that_knows_nothing_of_it_or_has_a_new_life_ends_it_at_once() {
    let reborn = [None, Some(Claimed), Some(Running)].map(|says| (holder_reborn(), says));
    for (peer, says) in reborn.into_iter().chain([(holder(), None)]) {
        let mut command = waits_for_its_browser();
        let step = command.apply(LifecycleEvent::Reconnected(peer, says), ms(6_000));
        assert_eq!(
            step,
            moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Nothing),
            "{says:?}"
        );
        assert_ended(&command, &given_up(), ms(6_000));
    }
}

#[test]
fn another_browser_means_nothing_to_it() {
    for says in [None, Some(Claimed), Some(Running), Some(Done)] {
        let mut command = waits_for_its_browser();
        assert_eq!(
            command.apply(LifecycleEvent::Reconnected(stranger(), says), ms(6_000)),
            IGNORED
        );
        assert_eq!(command.next_deadline(), GIVEN_UP_AT);
    }
}

#[test]
fn what_comes_after_the_wait_for_the_browser_loses_against_its_end() {
    for (event, reply) in [
        (LifecycleEvent::Reconnected(holder(), Some(Running)), EventReply::Nothing),
        (hears(complete("1")), OVER),
        (hears(pending()), EventReply::Nothing),
        (LifecycleEvent::Cancel, EventReply::Nothing),
    ] {
        let mut command = waits_for_its_browser();
        let step = command.apply(event, ms(9_000));
        assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, reply));
        assert_ended(&command, &given_up(), GIVEN_UP_AT);
    }
}

#[test]
fn it_can_be_cancelled_while_it_waits_for_its_browser() {
    let mut command = waits_for_its_browser();
    let step = command.apply(LifecycleEvent::Cancel, ms(6_000));
    let why = CancelReason::Cancelled;
    assert_eq!(step, stops(CommandPhase::Started, CommandPhase::Leaving, EventReply::Nothing, why));
    assert_ended(&command, &CommandOutcome::cancelled(true), ms(6_000));
}

#[test]
fn execute_and_total_wait_for_the_browser_and_take_effect_when_it_is_back() {
    let overrun = (overran(), CancelReason::ExecutionTimeout);
    let begun_late = after(
        command(),
        [
            (LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(24_000)),
            (LifecycleEvent::Claim(holder(), FIRST), ms(25_000)),
        ],
    );
    let late = (expired(ExpiryReason::CommandExpired, true), CancelReason::CommandExpired);
    for (before, due, (outcome, why)) in
        [(started(), EXECUTE_BY, overrun), (begun_late, TOTAL_BY, late)]
    {
        for (back, late_by) in [
            (LifecycleEvent::Reconnected(holder(), Some(Running)), 0),
            (LifecycleEvent::Reconnected(holder(), Some(Running)), 700),
            (LifecycleEvent::Reconnected(holder(), Some(Claimed)), 700),
            (hears(pending()), 700),
        ] {
            let speaks_at = due + Duration::from_millis(late_by);
            let mut command = restored(&before, due - Duration::from_secs(1));
            assert_eq!(command.apply(LifecycleEvent::Tick, speaks_at), IGNORED, "they wait");
            let step = command.apply(back, speaks_at);
            assert_eq!(
                step,
                stops(CommandPhase::Started, CommandPhase::Leaving, EventReply::Nothing, why)
            );
            assert_ended(&command, &outcome, speaks_at);
            assert!(trace(&command).is_sorted_by_key(|entry| entry.at));
            assert_eq!(command.next_deadline(), speaks_at + limits::LANE_HOLD);
        }
    }
}

#[test]
fn a_link_that_is_lost_after_the_browser_was_back_is_an_ordinary_loss() {
    let mut command = waits_for_its_browser();
    let _ = command.apply(LifecycleEvent::Reconnected(holder(), Some(Running)), ms(6_000));
    let _ = command.apply(LifecycleEvent::LinkClosed, ms(7_000));
    let _ = command.apply(LifecycleEvent::Tick, LATER);
    assert_ended(&command, &expired(ExpiryReason::ExtensionDisconnected, true), ms(10_000));
}

// ── It had not ──────────────────────────────────────────────────────────────────────

#[test]
fn a_report_or_claim_from_before_the_restart_is_stale_until_it_is_delivered_again() {
    let mut command = restored(&sent(), ms(2_000));
    assert_eq!(command.apply(LifecycleEvent::Claim(holder(), FIRST), ms(2_100)), STALE);
    assert_eq!(command.apply(hears(complete("1")), ms(2_100)), STALE);
    command = after(
        command,
        [(LifecycleEvent::Deliver(holder_reborn(), Transport::WebSocket), ms(2_200))],
    );
    let step = command.apply(LifecycleEvent::Claim(holder_reborn(), FIRST), ms(2_300));
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Started, EventReply::Go));
}

#[test]
fn after_a_restart_it_has_all_its_attempts_again_and_no_respond_runs() {
    let twice = [
        (LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(1_600)),
        (LifecycleEvent::LinkClosed, ms(1_700)),
    ];
    let mut command = restored(&after(requeued(), twice), ms(2_000));
    assert_eq!(command.next_deadline(), TOTAL_BY);
    for _ in 0..limits::ATTEMPTS - 1 {
        let lost = [
            (LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(2_500)),
            (LifecycleEvent::LinkClosed, ms(2_500)),
        ];
        command = after(command, lost);
        assert_eq!(command.phase(), CommandPhase::Queued);
    }
}

#[test]
fn a_safe_command_from_before_the_restart_may_have_run_since_it_may_have_been_sent() {
    for before in [safe_command(), safe_sent()] {
        assert_ended(
            &rebooted(&before, BACK_AT),
            &expired(ExpiryReason::MachineRebooted, true),
            BACK_AT,
        );
        assert_ended(
            &restored(&before, LATER),
            &expired(ExpiryReason::DaemonRestarted, true),
            LATER,
        );
        let mut command = restored(&before, BACK_AT);
        assert!(command.may_have_run());
        let _ = command.apply(LifecycleEvent::Cancel, ms(6_000));
        assert_ended(&command, &CommandOutcome::cancelled(true), ms(6_000));
    }
}

// ── It was over ─────────────────────────────────────────────────────────────────────

#[test]
fn what_was_over_stays_as_it_was_to_the_byte_and_keeps_the_rest_of_its_retention() {
    for before in one_of_each_end() {
        let read = after(before.clone(), [(LifecycleEvent::Read, ms(2_500))]);
        for (before, is_same_boot) in [(&before, true), (&before, false), (&read, true)] {
            let mut command = Command::restore(saved(before), is_same_boot, LATER);
            assert_eq!(ending(&command), ending(before));
            assert_eq!(is_read(&command), is_read(before));
            assert_eq!(command.delivery(), before.delivery());
            assert_eq!(command.retain_until(), Some(ENDED_AT + limits::RETAIN));
            assert_eq!(shown(&command), shown(before));
            assert_eq!(trace(&command).len(), trace(before).len());
            assert_eq!(command.apply(LifecycleEvent::Tick, LATER), IGNORED);
        }
    }
}

#[test]
fn a_report_that_is_replayed_after_the_restart_is_still_told_from_another_one() {
    let mut command = restored(&ended_by(complete("1")), BACK_AT);
    let replay = LifecycleEvent::Report(holder_reborn(), FIRST, complete("1"));
    assert_eq!(
        command.apply(replay, ms(6_000)),
        moved(CommandPhase::Ended, CommandPhase::Ended, EventReply::Ack)
    );
    let step = command.apply(hears(complete("2")), ms(6_000));
    assert_eq!(step, moved(CommandPhase::Ended, CommandPhase::Ended, OVER));
}

// ── Whatever it was ─────────────────────────────────────────────────────────────────

#[test]
fn a_clock_that_was_set_back_gives_nothing_more_than_its_whole_time() {
    let long_ago = ACCEPTED_AT - Duration::from_secs(3_600);
    let command = restored(&sent(), long_ago);
    assert_eq!(command.total_by(), long_ago + TOTAL_BY.since(ACCEPTED_AT));
    assert_eq!(command.spec().created, long_ago);
    assert!(trace(&command).is_sorted_by_key(|entry| entry.at));

    let mut command = restored(&started(), long_ago);
    assert_eq!(command.next_deadline(), long_ago + limits::AWAY);
    let _ = command.apply(LifecycleEvent::Reconnected(holder(), Some(Running)), long_ago);
    assert_eq!(command.next_deadline(), long_ago + limits::EXECUTE + limits::REPORT_GRACE);

    let command = restored(&ended_by(complete("1")), long_ago);
    assert_eq!(command.retain_until(), Some(long_ago + limits::RETAIN));
    assert!(trace(&command).iter().all(|entry| entry.at <= long_ago));
}

#[test]
fn a_second_restart_changes_nothing_that_the_first_one_has_not() {
    let twice = |command: &Command| restored(&restored(command, ms(4_000)), BACK_AT);
    for before in [command(), sent(), requeued(), safe_sent(), started(), away()] {
        let (once, again) = (restored(&before, BACK_AT), twice(&before));
        assert_eq!(format!("{:?}", once.state()), format!("{:?}", again.state()));
        assert_eq!(once.may_have_run(), again.may_have_run());
        assert_eq!(once.next_deadline(), again.next_deadline());
    }
    for before in one_of_each_end() {
        assert_eq!(format!("{:?}", twice(&before)), format!("{:?}", restored(&before, BACK_AT)));
    }
    let over = rebooted(&started(), ms(4_000));
    assert_eq!(ending(&restored(&over, LATER)), ending(&over), "its reason stays");
    assert_eq!(ending(&rebooted(&over, LATER)), ending(&over));
}

#[test]
fn every_reason_can_be_told_by_its_code_and_nothing_else_can() {
    let codes: std::collections::BTreeSet<_> = ExpiryReason::ALL.map(ExpiryReason::code).into();
    assert_eq!(codes.len(), ExpiryReason::ALL.len(), "no two are the same");
    for reason in ExpiryReason::ALL {
        assert_eq!(ExpiryReason::of_code(reason.code()), Some(reason));
        assert!(!reason.message().is_empty() && !reason.hint().is_empty());
    }
    for other in ["", "execution_timeout", "No_extension", "no_extension "] {
        assert_eq!(ExpiryReason::of_code(other), None);
    }
}
