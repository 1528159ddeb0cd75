//! Commands that were delivered in the answer to a poll: nobody claims them, so from their
//! delivery on they may be running.

use super::*;

fn polled() -> Command {
    after(command(), [(LifecycleEvent::Deliver(holder(), Transport::Poll), SENT_AT)])
}

/// One whose extension says nothing of it before it is done.
fn polled_silently() -> Command {
    after(safe_command(), [(LifecycleEvent::Deliver(holder(), Transport::Poll), SENT_AT)])
}

fn expired(command: &Command) -> (ExpiryReason, bool) {
    let CommandState::Ended { outcome: CommandOutcome::Expired { reason, may_have_run }, .. } =
        command.state()
    else {
        panic!("not expired: {command:?}");
    };
    (*reason, *may_have_run)
}

#[test]
fn its_first_report_is_its_acknowledgement() {
    let mut command = polled();
    assert_eq!(command.next_deadline(), SENT_AT + limits::RESPOND_POLL);
    let step = command.apply(hears(pending()), ms(4_000));
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Started, EventReply::Nothing));
    let step = command.apply(hears(complete("5")), ms(5_000));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Ack));
}

#[test]
fn a_result_counts_without_a_claim() {
    let mut command = polled();
    let step = command.apply(hears(complete("5")), ms(1_500));
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Ended, EventReply::Ack));
}

#[test]
fn silence_expires_it_after_5_s_and_says_that_it_may_have_run() {
    let command = after(polled(), [(LifecycleEvent::Tick, SENT_AT + limits::RESPOND_POLL)]);
    assert_eq!(expired(&command), (ExpiryReason::ExtensionNoResponse, true));
    assert_eq!(command.phase(), CommandPhase::Leaving, "the page may still be at it");
}

#[test]
fn what_is_answered_only_when_it_is_done_has_its_whole_time() {
    let mut command = polled_silently();
    assert_eq!(command.next_deadline(), TOTAL_BY);
    assert_eq!(command.apply(LifecycleEvent::Tick, just_before(TOTAL_BY)), IGNORED);
    assert_eq!(
        expired(&after(command, [(LifecycleEvent::Tick, TOTAL_BY)])).0,
        ExpiryReason::ExtensionNoResponse
    );
}

#[test]
fn another_life_of_the_extension_is_offered_it_again_while_nothing_was_heard() {
    let command = after(polled(), [(LifecycleEvent::LinkClosed, ms(2_000))]);
    assert_eq!(command.phase(), CommandPhase::Queued);
    assert!(command.may_have_run(), "the life before may have begun it");
    let again =
        after(command, [(LifecycleEvent::Deliver(holder_reborn(), Transport::Poll), ms(2_000))]);
    assert_eq!(again.delivery().map(|delivery| delivery.attempt), Some(SECOND));
}

#[test]
fn one_that_said_pending_is_never_offered_again() {
    let mut command = after(polled(), [(hears(pending()), ms(4_000))]);
    assert_eq!(command.apply(LifecycleEvent::LinkClosed, ms(4_500)), IGNORED);
    let step =
        command.apply(LifecycleEvent::Report(holder_reborn(), FIRST, complete("5")), ms(5_000));
    assert_eq!(
        step,
        moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Ack),
        "any life may report it"
    );
}

#[test]
fn a_cancelled_one_may_have_run_and_keeps_its_lane_for_a_while() {
    let command = after(polled(), [(LifecycleEvent::Cancel, ms(2_000))]);
    let CommandState::Ended { outcome, .. } = command.state() else { panic!("{command:?}") };
    assert_eq!(*outcome, CommandOutcome::cancelled(true));
    assert_eq!(command.phase(), CommandPhase::Leaving);
}

#[test]
fn after_a_restart_of_the_daemon_it_counts_as_started_until_its_time_is_over() {
    let command = polled();
    assert!(command.is_to_be_recorded_since(CommandPhase::Queued), "it may be running from now on");
    let delivery = command.delivery().cloned().unwrap();
    let saved = SavedCommand {
        spec: command.spec().clone(),
        stage: SavedStage::Started { delivery, at: SENT_AT },
        trace: command.marks().to_vec(),
        holds: command.holds().clone(),
    };
    let mut command = Command::restore(saved, true, ms(2_000));
    assert_eq!(command.phase(), CommandPhase::Started);
    let over = SENT_AT + limits::EXECUTE + limits::REPORT_GRACE;
    assert_eq!(command.apply(LifecycleEvent::Tick, just_before(over)), IGNORED);
    let step =
        command.apply(LifecycleEvent::Report(holder_reborn(), FIRST, complete("5")), ms(9_000));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Ack));
}

#[test]
fn the_trace_alone_tells_what_carried_it() {
    let command = after(polled(), [(hears(complete("5")), ENDED_AT)]);
    let carriers: Vec<_> =
        command.report(true).trace.unwrap().iter().filter_map(|entry| entry.carrier).collect();
    assert_eq!(carriers, [Transport::Poll]);
}
