//! Whose word counts, and for which attempt.

use super::*;

#[test]
fn a_report_of_another_attempt_or_another_browser_is_stale() {
    for state in [sent(), safe_sent(), started(), requeued(), command()] {
        for (peer, attempt) in [(holder(), SECOND), (holder(), Attempt(0)), (stranger(), FIRST)] {
            for report in every_report() {
                let mut command = state.clone();
                let event = LifecycleEvent::Report(peer.clone(), attempt, report);
                assert_eq!(command.apply(event, ms(1_600)), STALE);
                assert_eq!(format!("{command:?}"), format!("{state:?}"));
            }
        }
    }
}

#[test]
fn an_outbox_replayed_by_a_restarted_worker_counts() {
    let mut command = away();
    let event = LifecycleEvent::Report(holder_reborn(), FIRST, complete("1"));
    let step = command.apply(event, ms(3_000));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Ack));
    assert_ended(&command, &outcome_of(complete("1")), ms(3_000));
}

#[test]
fn a_report_of_a_lost_delivery_is_stale_in_the_queue_and_at_the_next_one() {
    let mut command = requeued();
    assert_eq!(command.apply(hears(complete("1")), ms(1_600)), STALE);
    command =
        after(command, [(LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(1_700))]);
    assert_eq!(command.apply(hears(complete("1")), ms(1_800)), STALE);
    assert_eq!(command.phase(), CommandPhase::Sent);
}

#[test]
fn a_claim_of_another_attempt_or_another_browser_is_stale() {
    for state in [sent(), started(), requeued(), command()] {
        for (peer, attempt) in [(holder(), SECOND), (stranger(), FIRST)] {
            let mut command = state.clone();
            assert_eq!(command.apply(LifecycleEvent::Claim(peer, attempt), ms(1_600)), STALE);
            assert_eq!(format!("{command:?}"), format!("{state:?}"));
        }
    }
}

#[test]
fn a_claim_after_the_end_is_already_terminal() {
    for mut command in one_of_each_end() {
        for peer in [holder(), stranger()] {
            let step = command.apply(LifecycleEvent::Claim(peer, FIRST), ms(2_500));
            assert_eq!(step, Transition::Unchanged(OVER));
        }
    }
}

#[test]
fn a_repeated_claim_gets_go_again_and_does_not_restart_execute() {
    let mut command = started();
    let step = command.apply(LifecycleEvent::Claim(holder(), FIRST), ms(3_000));
    assert_eq!(step, Transition::Unchanged(EventReply::Go));
    assert_eq!(command.next_deadline(), EXECUTE_BY);
    assert_eq!(count_marks(&command, TracePhase::Claimed), 1);
}

#[test]
fn a_claim_from_another_life_of_the_browser_that_started_it_gets_no_go() {
    let mut command = started();
    assert_eq!(command.apply(LifecycleEvent::Claim(holder_reborn(), FIRST), ms(1_200)), STALE);
    assert_eq!(command.phase(), CommandPhase::Started);
}

#[test]
fn an_unsafe_result_without_a_start_does_not_count() {
    for report in [pending(), complete("1"), error("no"), timed_out()] {
        let mut command = sent();
        assert_eq!(command.apply(hears(report), ms(1_200)), STALE);
        assert_eq!(command.phase(), CommandPhase::Sent);
        assert_eq!(command.next_deadline(), RESPOND_BY, "it must still be claimed");
        let step = command.apply(LifecycleEvent::Claim(holder(), FIRST), ms(1_300));
        assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Started, EventReply::Go));
    }
}

#[test]
fn go_does_not_leave_when_a_cancel_came_in_between() {
    let mut command = claimed();
    assert!(command.may_go(FIRST));
    let _ = command.apply(LifecycleEvent::Cancel, STARTED_AT);
    assert!(!command.may_go(FIRST));
    for mut command in [command, sent(), requeued(), ended_by(complete("1"))] {
        assert!(!command.may_go(FIRST), "{}", word(&command));
        assert_eq!(command.apply(LifecycleEvent::Go(FIRST), STARTED_AT), IGNORED);
    }
}

#[test]
fn whatever_ends_a_command_before_go_has_left_it_has_not_run() {
    let away = || after(claimed(), [(LifecycleEvent::LinkClosed, ms(2_000))]);
    let ends = [
        (claimed(), LifecycleEvent::Cancel, ms(1_200)),
        (away(), LifecycleEvent::Cancel, ms(2_100)),
        (away(), LifecycleEvent::Tick, ms(5_000)),
        (claimed(), LifecycleEvent::Reconnected(holder_reborn(), None), ms(2_100)),
    ];
    for (mut command, event, at) in ends {
        assert!(!command.may_have_run());
        let _ = command.apply(event, at);
        assert_eq!(command.phase(), CommandPhase::Ended, "its tab is free at once");
        assert!(!command.may_have_run(), "{command:?}");
    }
}

#[test]
fn a_go_that_is_asked_for_again_leaves_again() {
    let mut command = after(started(), [(LifecycleEvent::LinkClosed, ms(2_000))]);
    let back = LifecycleEvent::Reconnected(holder(), Some(InFlightState::Claimed));
    let step = command.apply(back, ms(2_100));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Started, EventReply::Go));
    assert_eq!(
        command.apply(LifecycleEvent::Go(FIRST), ms(2_100)),
        Transition::Unchanged(EventReply::Go)
    );
    assert!(command.may_have_run());
}

#[test]
fn go_does_not_leave_for_an_earlier_attempt() {
    let begun = [
        (LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(1_600)),
        (LifecycleEvent::Claim(holder(), SECOND), ms(1_700)),
    ];
    let command = after(requeued(), begun);
    assert!(command.may_go(SECOND));
    assert!(!command.may_go(FIRST));
}

#[test]
fn only_the_first_word_of_its_owner_cancels() {
    for mut command in one_of_each_end() {
        assert_eq!(command.apply(LifecycleEvent::Cancel, ms(2_500)), IGNORED);
    }
}

#[test]
fn a_safe_command_that_was_sent_may_have_run_and_one_that_was_not_has_not() {
    let lost = after(safe_sent(), [(LifecycleEvent::LinkClosed, ms(1_500))]);
    for (mut command, may_have_run) in [(safe_command(), false), (safe_sent(), true), (lost, true)]
    {
        let mut forgotten = command.clone();
        let _ = command.apply(LifecycleEvent::Cancel, ms(1_600));
        assert_ended(&command, &CommandOutcome::cancelled(may_have_run), ms(1_600));
        let _ = forgotten.apply(LifecycleEvent::Tick, LATER);
        let (outcome, _) = ending(&forgotten).expect("an end");
        assert!(
            matches!(outcome, CommandOutcome::Expired { may_have_run: m, .. } if *m == may_have_run)
        );
    }
}
