//! Links that are lost, and browsers that are back.

use super::*;

#[test]
fn redelivery_keeps_the_ids_counts_attempts_and_starts_respond_anew() {
    let command = requeued();
    let ids = |command: &Command| (command.spec().id.clone(), command.spec().query_id.clone());
    let before = ids(&command);
    assert_eq!(command.next_deadline(), RESPOND_BY, "respond runs on in the queue");
    let again =
        after(command, [(LifecycleEvent::Deliver(stranger(), Transport::WebSocket), ms(3_500))]);
    assert_eq!(ids(&again), before);
    assert_eq!(
        again.delivery(),
        Some(&Delivery { attempt: SECOND, peer: stranger(), transport: Transport::WebSocket })
    );
    assert_eq!(again.next_deadline(), ms(3_500) + limits::RESPOND, "a delivery starts it anew");
    let mut again = again;
    assert_eq!(again.apply(LifecycleEvent::Claim(holder(), FIRST), ms(3_600)), STALE);
    let step = again.apply(LifecycleEvent::Claim(stranger(), SECOND), ms(3_600));
    assert_eq!(step, moved(CommandPhase::Sent, CommandPhase::Started, EventReply::Go));
}

#[test]
fn back_with_a_result_in_its_outbox_waits_for_the_replay() {
    for peer in [holder(), holder_reborn()] {
        let mut command = away();
        let back = LifecycleEvent::Reconnected(peer.clone(), Some(InFlightState::Done));
        let step = command.apply(back, ms(3_000));
        assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Started, EventReply::Nothing));
        assert_eq!(command.next_deadline(), EXECUTE_BY, "it is not away any more");
        let replay = LifecycleEvent::Report(peer, FIRST, complete("1"));
        assert_eq!(
            command.apply(replay, ms(6_000)),
            moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Ack)
        );
    }
}

#[test]
fn back_and_still_running_goes_on_without_a_second_go() {
    let mut command = away();
    let back = LifecycleEvent::Reconnected(holder(), Some(InFlightState::Running));
    let step = command.apply(back, ms(3_000));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Started, EventReply::Nothing));
    assert_eq!(command.next_deadline(), EXECUTE_BY);
    command = after(command, [(LifecycleEvent::LinkClosed, ms(4_000))]);
    assert_eq!(command.next_deadline(), ms(4_000) + limits::AWAY, "away starts at each loss");
}

#[test]
fn back_with_a_new_life_and_nothing_to_say_ends_it_even_if_the_loss_was_not_seen() {
    let mut command = started();
    let step = command.apply(LifecycleEvent::Reconnected(holder_reborn(), None), ms(2_000));
    assert_eq!(step, moved(CommandPhase::Started, CommandPhase::Ended, EventReply::Nothing));
    assert_ended(&command, &expired(ExpiryReason::ExtensionDisconnected, true), ms(2_000));
}

#[test]
fn back_means_nothing_to_a_command_that_has_not_started_or_is_over() {
    for mut command in [command(), sent(), requeued(), ended_by(complete("1"))] {
        assert_eq!(
            command.apply(LifecycleEvent::Reconnected(holder_reborn(), None), ms(2_500)),
            IGNORED
        );
    }
}

#[test]
fn a_pending_from_a_browser_that_was_away_shows_that_it_is_back() {
    let mut command = away();
    let _ = command.apply(hears(pending()), ms(3_000));
    assert_eq!(command.next_deadline(), EXECUTE_BY);
}

#[test]
fn a_lost_link_means_nothing_to_a_command_that_nobody_has() {
    for mut command in [command(), requeued(), ended_by(complete("1"))] {
        assert_eq!(command.apply(LifecycleEvent::LinkClosed, ms(2_500)), IGNORED);
    }
}

#[test]
fn its_browser_is_reached_once() {
    let mut command = command();
    let step = command.apply(LifecycleEvent::Reachable, ms(5));
    assert_eq!(step, moved(CommandPhase::Queued, CommandPhase::Queued, EventReply::Nothing));
    for mut command in [command, sent(), requeued(), started(), ended_by(complete("1"))] {
        assert_eq!(command.apply(LifecycleEvent::Reachable, ms(2_500)), IGNORED);
    }
}
