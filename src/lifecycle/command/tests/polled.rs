//! Commands that were delivered in the answer to a poll: nobody claims them, so from their
//! delivery on they may be running.

use super::*;

fn polled() -> Command {
    after(command(), [(Event::Deliver(holder(), Transport::Poll), SENT_AT)])
}

/// One whose extension says nothing of it before it is done.
fn polled_silently() -> Command {
    after(safe_command(), [(Event::Deliver(holder(), Transport::Poll), SENT_AT)])
}

fn expired(command: &Command) -> (Expiry, bool) {
    let State::Ended { outcome: Outcome::Expired { reason, may_have_run }, .. } = command.state()
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
    assert_eq!(step, moved(Phase::Sent, Phase::Started, Reply::Nothing));
    let step = command.apply(hears(complete("5")), ms(5_000));
    assert_eq!(step, moved(Phase::Started, Phase::Ended, Reply::Ack));
}

#[test]
fn a_result_counts_without_a_claim() {
    let mut command = polled();
    let step = command.apply(hears(complete("5")), ms(1_500));
    assert_eq!(step, moved(Phase::Sent, Phase::Ended, Reply::Ack));
}

#[test]
fn silence_expires_it_after_5_s_and_says_that_it_may_have_run() {
    let command = after(polled(), [(Event::Tick, SENT_AT + limits::RESPOND_POLL)]);
    assert_eq!(expired(&command), (Expiry::ExtensionNoResponse, true));
    assert_eq!(command.phase(), Phase::Leaving, "the page may still be at it");
}

#[test]
fn what_is_answered_only_when_it_is_done_has_its_whole_time() {
    let mut command = polled_silently();
    assert_eq!(command.next_deadline(), TOTAL_BY);
    assert_eq!(command.apply(Event::Tick, just_before(TOTAL_BY)), IGNORED);
    assert_eq!(expired(&after(command, [(Event::Tick, TOTAL_BY)])).0, Expiry::ExtensionNoResponse);
}

#[test]
fn another_life_of_the_extension_is_offered_it_again_while_nothing_was_heard() {
    let command = after(polled(), [(Event::LinkClosed, ms(2_000))]);
    assert_eq!(command.phase(), Phase::Queued);
    assert!(command.may_have_run(), "the life before may have begun it");
    let again = after(command, [(Event::Deliver(holder_reborn(), Transport::Poll), ms(2_000))]);
    assert_eq!(again.hold().map(|hold| hold.attempt), Some(SECOND));
}

#[test]
fn one_that_said_pending_is_never_offered_again() {
    let mut command = after(polled(), [(hears(pending()), ms(4_000))]);
    assert_eq!(command.apply(Event::LinkClosed, ms(4_500)), IGNORED);
    let step = command.apply(Event::Report(holder_reborn(), FIRST, complete("5")), ms(5_000));
    assert_eq!(step, moved(Phase::Started, Phase::Ended, Reply::Ack), "any life may report it");
}

#[test]
fn a_cancelled_one_may_have_run_and_keeps_its_lane_for_a_while() {
    let command = after(polled(), [(Event::Cancel, ms(2_000))]);
    let State::Ended { outcome, .. } = command.state() else { panic!("{command:?}") };
    assert_eq!(*outcome, Outcome::cancelled(true));
    assert_eq!(command.phase(), Phase::Leaving);
}

#[test]
fn after_a_restart_of_the_daemon_it_counts_as_started_until_its_time_is_over() {
    let command = polled();
    assert!(command.is_to_be_recorded_since(Phase::Queued), "it may be running from now on");
    let hold = command.hold().cloned().unwrap();
    let saved = Saved {
        facts: command.facts().clone(),
        stage: Stage::Started { hold, at: SENT_AT },
        trace: command.marks().to_vec(),
    };
    let mut command = Command::restore(saved, true, ms(2_000));
    assert_eq!(command.phase(), Phase::Started);
    let over = SENT_AT + limits::EXECUTE + limits::REPORT_GRACE;
    assert_eq!(command.apply(Event::Tick, just_before(over)), IGNORED);
    let step = command.apply(Event::Report(holder_reborn(), FIRST, complete("5")), ms(9_000));
    assert_eq!(step, moved(Phase::Started, Phase::Ended, Reply::Ack));
}

#[test]
fn the_trace_alone_tells_what_carried_it() {
    let command = after(polled(), [(hears(complete("5")), ENDED_AT)]);
    let carriers: Vec<_> =
        command.report(true).trace.unwrap().iter().filter_map(|entry| entry.carrier).collect();
    assert_eq!(carriers, [Transport::Poll]);
}
