//! Missed deadlines: which of them counts, and from when.

use super::*;
use crate::protocol::actions::ExecuteJsAction;

#[test]
fn what_comes_after_respond_loses_against_it_at_its_own_moment() {
    let lost = expired(ExpiryReason::ExtensionNoResponse, false);
    for late_by in [0, 1, 500] {
        let now = RESPOND_BY + Duration::from_millis(late_by);
        for (event, reply) in [
            (LifecycleEvent::Claim(holder(), FIRST), OVER),
            (hears(complete("1")), OVER),
            (hears(pending()), EventReply::Nothing),
            (LifecycleEvent::Cancel, EventReply::Nothing),
            (LifecycleEvent::LinkClosed, EventReply::Nothing),
            (LifecycleEvent::Tick, EventReply::Nothing),
        ] {
            let mut command = sent();
            assert_eq!(
                command.apply(event, now),
                moved(CommandPhase::Sent, CommandPhase::Ended, reply)
            );
            assert_ended(&command, &lost, RESPOND_BY);
        }
        let mut command = requeued();
        let step = command.apply(LifecycleEvent::Deliver(holder(), Transport::WebSocket), now);
        assert_eq!(step, moved(CommandPhase::Queued, CommandPhase::Ended, EventReply::Nothing));
        assert_ended(&command, &lost, RESPOND_BY);
    }
}

#[test]
fn what_comes_after_execute_loses_against_it_at_its_own_moment() {
    let why = CancelReason::ExecutionTimeout;
    for (event, to, reply) in [
        (LifecycleEvent::Claim(holder(), FIRST), CommandPhase::Leaving, OVER),
        (hears(complete("1")), CommandPhase::Ended, OVER),
        (hears(pending()), CommandPhase::Leaving, EventReply::Nothing),
        (LifecycleEvent::Cancel, CommandPhase::Leaving, EventReply::Nothing),
        (LifecycleEvent::LinkClosed, CommandPhase::Leaving, EventReply::Nothing),
        (
            LifecycleEvent::Reconnected(holder_reborn(), None),
            CommandPhase::Leaving,
            EventReply::Nothing,
        ),
        (LifecycleEvent::Read, CommandPhase::Leaving, EventReply::Nothing),
    ] {
        let mut command = started();
        let step = command.apply(event, EXECUTE_BY + Duration::from_millis(700));
        assert_eq!(step, stops(CommandPhase::Started, to, reply, why));
        assert_ended(&command, &overran(), EXECUTE_BY);
    }
}

#[test]
fn what_comes_after_away_loses_against_it_at_its_own_moment() {
    let gone = expired(ExpiryReason::ExtensionDisconnected, true);
    for (event, reply) in [
        (LifecycleEvent::Reconnected(holder(), Some(InFlightState::Claimed)), EventReply::Nothing),
        (hears(complete("1")), OVER),
        (hears(pending()), EventReply::Nothing),
        (LifecycleEvent::Cancel, EventReply::Nothing),
    ] {
        let mut command = away();
        assert_eq!(
            command.apply(event, ms(5_000)),
            moved(CommandPhase::Started, CommandPhase::Ended, reply)
        );
        assert_ended(&command, &gone, ms(5_000));
    }
}

#[test]
fn what_comes_after_total_loses_against_it_at_its_own_moment() {
    for event in [
        LifecycleEvent::Deliver(holder(), Transport::WebSocket),
        LifecycleEvent::Reachable,
        LifecycleEvent::Cancel,
        LifecycleEvent::LinkClosed,
    ] {
        let mut command = command();
        let step = command.apply(event, LATER);
        assert_eq!(step, moved(CommandPhase::Queued, CommandPhase::Ended, EventReply::Nothing));
        assert_ended(&command, &expired(ExpiryReason::NoExtension, false), TOTAL_BY);
    }
}

#[test]
fn what_comes_just_before_a_deadline_wins() {
    let mut command = sent();
    let step = command.apply(LifecycleEvent::Claim(holder(), FIRST), just_before(RESPOND_BY));
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Started, EventReply::Go));
    let mut command = started();
    let step = command.apply(hears(complete("1")), just_before(EXECUTE_BY));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Ack));
}

#[test]
fn a_very_late_timer_takes_every_deadline_in_turn_and_still_stops_the_page() {
    let mut command = started();
    let step = command.apply(LifecycleEvent::Tick, LATER);
    let why = CancelReason::ExecutionTimeout;
    assert_eq!(step, stops(CommandPhase::Started, CommandPhase::Ended, EventReply::Nothing, why));
    assert_ended(&command, &overran(), EXECUTE_BY);
    assert_eq!(command.next_deadline(), EXECUTE_BY + limits::RETAIN);
    assert_eq!(command.apply(LifecycleEvent::Tick, LATER), IGNORED);
}

#[test]
fn of_two_missed_deadlines_the_earlier_one_counts() {
    let mut command = after(started(), [(LifecycleEvent::LinkClosed, ms(10_000))]);
    let step = command.apply(LifecycleEvent::Tick, LATER);
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Nothing));
    assert_ended(&command, &expired(ExpiryReason::ExtensionDisconnected, true), ms(13_000));

    let mut command = after(started(), [(LifecycleEvent::LinkClosed, ms(11_000))]);
    let _ = command.apply(LifecycleEvent::Tick, LATER);
    assert_ended(&command, &overran(), EXECUTE_BY);
}

// ── Total caps everything ───────────────────────────────────────────────────────────

#[test]
fn a_delivery_near_total_gets_no_more_time_than_total() {
    let mut command =
        after(command(), [(LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(29_000))]);
    assert_eq!(command.next_deadline(), TOTAL_BY);
    let _ = command.apply(LifecycleEvent::Tick, LATER);
    assert_eq!(ending(&command).map(|(_, at)| at), Some(TOTAL_BY));
    assert_eq!(word(&command), "Expired");
}

#[test]
fn a_command_that_came_back_near_total_is_not_delivered_in_time() {
    let lost = [
        (LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(28_000)),
        (LifecycleEvent::LinkClosed, ms(29_000)),
    ];
    let mut command = after(command(), lost);
    assert_eq!(command.next_deadline(), TOTAL_BY);
    let _ = command.apply(LifecycleEvent::Tick, LATER);
    assert_ended(&command, &expired(ExpiryReason::NotDelivered, false), TOTAL_BY);
}

#[test]
fn neither_away_nor_execute_reach_beyond_total() {
    let late = [
        (LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(27_000)),
        (LifecycleEvent::Claim(holder(), FIRST), ms(28_000)),
        (LifecycleEvent::Go(FIRST), ms(28_000)),
        (LifecycleEvent::LinkClosed, ms(29_000)),
    ];
    let mut command = after(command(), late);
    assert_eq!(command.next_deadline(), TOTAL_BY);
    let _ = command.apply(LifecycleEvent::Tick, LATER);
    assert_ended(&command, &expired(ExpiryReason::CommandExpired, true), TOTAL_BY);
}

#[test]
fn a_longer_timeout_makes_execute_and_total_longer() {
    let script = Action::ExecuteJs(ExecuteJsAction { script: "1".into(), user_gesture: None });
    let long = command_of(script, limits::EXECUTE_MAX);
    assert_eq!(long.total_by(), ms(320_000));
    let begun = [
        (LifecycleEvent::Deliver(holder(), Transport::WebSocket), SENT_AT),
        (LifecycleEvent::Claim(holder(), FIRST), STARTED_AT),
    ];
    let long = after(long, begun);
    assert_eq!(long.next_deadline(), ms(303_100));
}
