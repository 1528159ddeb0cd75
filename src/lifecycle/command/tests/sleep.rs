//! Sleep of the machine, during which the clock of the deadlines stands still: the chapter of
//! `docs/lifecycle.md` on it.

use super::holding::held;
use super::*;

const HOUR: Duration = Duration::from_secs(3_600);
const AWAKE: Timestamp = ms(1_200);

const ONCE: LifecycleEvent = LifecycleEvent::Release { is_once: true };

/// The same command after the machine has slept.
fn slept(mut command: Command, length: Duration) -> Command {
    // What changes nothing has nothing to tell.
    let _ = command.apply(LifecycleEvent::Slept(length), AWAKE);
    command
}

fn deliver() -> LifecycleEvent {
    LifecycleEvent::Deliver(holder(), Transport::WebSocket)
}

#[test]
fn a_queued_command_loses_the_time_for_which_the_machine_slept() {
    let mut command = slept(command(), Duration::from_secs(25));
    assert_eq!(command.next_deadline(), TOTAL_BY - Duration::from_secs(25));
    assert_eq!(command.apply(LifecycleEvent::Reachable, AWAKE), {
        moved(CommandPhase::Queued, CommandPhase::Queued, EventReply::Nothing)
    });
    let mut command = slept(command, HOUR);
    let step = command.apply(deliver(), AWAKE);
    assert_eq!(step, moved(CommandPhase::Queued, CommandPhase::Ended, EventReply::Nothing));
    // When the machine wakes, and not in the middle of the night.
    assert_ended(&command, &expired(ExpiryReason::NotDelivered, false), AWAKE);
}

#[test]
fn a_command_that_nobody_claimed_before_a_sleep_is_not_begun_after_it() {
    for event in [LifecycleEvent::Claim(holder(), FIRST), hears(complete("1"))] {
        let mut command = slept(sent(), HOUR);
        let step = command.apply(event, AWAKE);
        assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Ended, OVER));
        assert_ended(&command, &expired(ExpiryReason::ExtensionNoResponse, false), AWAKE);
    }
    // Nor is it sent again to a link that is back.
    let mut command = slept(requeued(), Duration::from_secs(4));
    let step = command.apply(deliver(), AWAKE);
    assert_eq!(step, moved(CommandPhase::Queued, CommandPhase::Ended, EventReply::Nothing));
}

#[test]
fn a_short_sleep_takes_no_more_from_the_time_to_claim_than_it_lasted() {
    let mut command = slept(sent(), Duration::from_secs(2));
    assert_eq!(command.next_deadline(), RESPOND_BY - Duration::from_secs(2));
    let step = command.apply(LifecycleEvent::Claim(holder(), FIRST), AWAKE);
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Started, EventReply::Go));
}

#[test]
fn go_does_not_leave_after_a_sleep_that_took_the_whole_time() {
    let mut command = slept(claimed(), HOUR);
    let step = command.apply(LifecycleEvent::Go(FIRST), AWAKE);
    let Transition::Changed { to, reply, .. } = step else { panic!("{step:?}") };
    assert!(to.is_terminal() && reply == EventReply::Nothing, "{to:?} {reply:?}");
    assert_ended(&command, &expired(ExpiryReason::CommandExpired, false), AWAKE);
    // After a shorter one it leaves, and the command has its running time.
    let mut command = slept(claimed(), Duration::from_secs(25));
    let step = command.apply(LifecycleEvent::Go(FIRST), AWAKE);
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Started, EventReply::Go));
    assert_eq!(command.next_deadline(), EXECUTE_BY);
}

#[test]
fn what_runs_or_waits_for_a_person_or_is_over_loses_no_time() {
    let polled = after(command(), [(LifecycleEvent::Deliver(holder(), Transport::Poll), SENT_AT)]);
    let ended = ended_by(complete("1"));
    for command in [started(), away(), held(), polled, ended] {
        let before = command.next_deadline();
        assert_eq!(slept(command, HOUR).next_deadline(), before);
    }
}

#[test]
fn a_hold_through_a_sleep_leaves_the_command_its_time() {
    let mut command = slept(held(), HOUR);
    let step = command.apply(ONCE, AWAKE);
    assert_eq!(step, moved(CommandPhase::Held, CommandPhase::Queued, EventReply::Nothing));
    assert_eq!(command.total_by(), TOTAL_BY);
    assert_eq!(command.holds().asleep, HOUR);
    assert_eq!(
        command.apply(deliver(), AWAKE),
        moved(CommandPhase::Queued, CommandPhase::Sent, EventReply::Nothing)
    );
}

#[test]
fn a_sleep_while_no_daemon_ran_counts_as_well() {
    let back = |command: &Command| Command::restore_after_sleep(saved(command), true, AWAKE, HOUR);
    for command in [command(), sent(), requeued()] {
        let lost = expired(ExpiryReason::DaemonRestarted, false);
        assert_ended(&back(&command), &lost, AWAKE);
    }
    // Nothing is taken from what has started, nor from a person.
    assert_eq!(back(&started()).phase(), CommandPhase::Started);
    let held = back(&held());
    assert_eq!((held.phase(), held.holds().asleep), (CommandPhase::Held, HOUR));
    // Once it is allowed, the sleep does not count either, in this life and in the next one.
    let released = after(held, [(ONCE, AWAKE)]);
    assert_eq!(released.total_by(), TOTAL_BY);
    assert_eq!(back(&released).phase(), CommandPhase::Queued);
}

#[test]
fn a_command_of_a_version_that_counted_no_sleep_has_its_time() {
    let mut saved = saved(&command());
    saved.spec.asleep = None;
    let command = Command::restore_after_sleep(saved, true, AWAKE, HOUR);
    assert_eq!((command.phase(), command.total_by()), (CommandPhase::Queued, TOTAL_BY));
}
